package cli_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/cli"
)

type Greeting struct {
	Name  string `json:"name" doc:"Whom to greet."`
	Times int    `json:"times,omitempty" doc:"How often." default:"1"`
}

func greet(_ context.Context, g Greeting) ([]string, error) {
	lines := make([]string, g.Times)
	for i := range lines {
		lines[i] = "Hello, " + g.Name + "!"
	}
	return lines, nil
}

// A whole program: an operation, and a command line for it. The arguments would be os.Args[1:].
func Example() {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "greet", Summary: "Greet somebody.", Type: dispatch.Read}, greet)
	dispatcher := dispatch.Options{}.New(catalog)

	code := cli.Run(context.Background(), dispatcher,
		[]string{"greet", "--name", "Ann", "--times=2"}, cli.Stdio("hello"))
	fmt.Println("exit code", code)
	// Output:
	// Hello, Ann!
	// Hello, Ann!
	// exit code 0
}

// Failures go to Err, here to standard output to be seen.
func ExampleRun() {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "greet", Summary: "Greet somebody.", Type: dispatch.Read}, greet)
	dispatcher := dispatch.Options{}.New(catalog)
	std := cli.IO{Program: "hello", In: os.Stdin, Out: os.Stdout, Err: os.Stdout}

	for _, args := range [][]string{{"greet"}, {"greet", "--nam", "Ann"},
		{"greet", "--times", "often", "--name", "Ann", "-o", "json"}} {
		fmt.Println("exit code", cli.Run(context.Background(), dispatcher, args, std))
	}
	// Output:
	// hello: greet: missing_param: --name is missing
	// exit code 2
	// hello: greet: invalid_input: unknown flag --nam; did you mean --name?
	// exit code 2
	// {"success":false,"data":null,"error":{"code":"invalid_input","message":"invalid arguments: times must be an integer, not \"often\"","details":{"errors":[{"path":"/times","reason":"must be an integer, not \"often\""}]},"recoverable":true}}
	// exit code 2
}

// With the word - the command lines come from standard input, and what could lose something for
// good wants to be confirmed.
func ExampleRun_script() {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "greet", Summary: "Greet somebody.", Type: dispatch.Read}, greet)
	dispatch.Add(catalog,
		dispatch.Spec{Name: "forget", Summary: "Forget everybody.", Type: dispatch.Destructive},
		func(context.Context, struct{}) (string, error) { return "Who are you?", nil })
	dispatcher := dispatch.Options{}.New(catalog)
	script := strings.NewReader(`
		greet --name 'Ann and Bob'   # two words, and a comment
		forget --yes
		forget
		greet --name Ann`)

	code := cli.Run(context.Background(), dispatcher, []string{"-"},
		cli.IO{Program: "hello", In: script, Out: os.Stdout, Err: os.Stdout})
	fmt.Println("exit code", code)
	// Output:
	// Hello, Ann and Bob!
	// Who are you?
	// hello: line 4: forget: confirmation_required: Forget everybody. This cannot be undone. Give --yes to confirm it.
	// exit code 7
}
