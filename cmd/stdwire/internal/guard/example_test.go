//go:build unix

package guard_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
)

// A daemon that holds stdout, such as a server in the background, blocks neither the reader nor
// Done after the command is killed.
func Example() {
	// guard.Main() has been called first thing in main.
	p, err := guard.Start(context.Background(), guard.Command{
		Name: "sh",
		Args: []string{"-c", "(sleep 1000 &); echo started; exec cat"},
		Env:  os.Environ(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	go io.Copy(io.Discard, p.Stderr())
	io.WriteString(p.Stdin(), "hello\n")
	io.ReadFull(p.Stdout(), make([]byte, len("started\nhello\n")))

	p.Kill()
	rest, err := io.ReadAll(p.Stdout())
	fmt.Printf("%q, %v\n", rest, err)
	fmt.Println(p.Exit())
	// Output:
	// "", <nil>
	// ended by signal: killed
}
