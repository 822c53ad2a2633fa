//go:build unix

package proc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/proc"
	"github.com/stdwire/stdwire/dispatch"
)

// A shell used as an interpreter: each send is a command, whose output ends with a line that the
// command writes.
func Example() {
	roots, err := fs.OpenRoots([]fs.Root{{Name: "main", Dir: os.TempDir()}})
	if err != nil {
		log.Fatal(err)
	}
	defer roots.Close()
	catalog := dispatch.NewCatalog(dispatch.GateExec)
	service, err := proc.Register(catalog, proc.Options{Roots: roots, Allow: []string{"sh"}})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Shutdown(context.Background())
	dispatcher := dispatch.Options{}.New(catalog)

	call := func(operation, arguments string, into any) {
		result := dispatcher.Dispatch(context.Background(),
			&dispatch.Call{Operation: operation, Arguments: json.RawMessage(arguments)})
		if result.Err != nil {
			log.Fatal(result.Err)
		}
		if err := json.Unmarshal(result.Data, into); err != nil {
			log.Fatal(err)
		}
	}
	var started proc.StartOutput
	call("proc.start", `{"command":"sh","env":["GREETING=hello"]}`, &started)
	for _, command := range []string{`answer=$((6*7))`, `echo "$GREETING, $answer"`} {
		send, _ := json.Marshal(
			map[string]string{"session": started.Session, "text": command + "; echo done"})
		call("proc.send", string(send), new(proc.SendOutput))
		var read proc.ReadOutput
		// there is only one session
		call("proc.read", `{"pattern":"^done\n","wait_ms":10000}`, &read)
		fmt.Printf("%q\n", read.Output)
	}
	var stopped proc.StopOutput
	call("proc.stop", `{}`, &stopped)
	fmt.Println("exit code", *stopped.ExitCode)

	refused := dispatcher.Dispatch(context.Background(),
		&dispatch.Call{Operation: "proc.start", Arguments: json.RawMessage(`{"command":"bash"}`)})
	fmt.Println(refused.Err)
	// Output:
	// "done\n"
	// "hello, 42\ndone\n"
	// exit code 0
	// permission_denied: the command "bash" is not among those that may be started
}
