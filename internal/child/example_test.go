//go:build unix

package child_test

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/stdwire/stdwire/internal/child"
)

func Example() {
	p, err := child.Start(context.Background(), child.Config{Command: "cat"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()

	io.WriteString(p.Stdin(), "hello\n")
	line, _ := bufio.NewReader(p.Stdout()).ReadString('\n')
	p.MarkReady()
	fmt.Print(line)

	exit, err := p.Stop(context.Background())
	fmt.Println(exit, err)
	// Output:
	// hello
	// exited with status 0 <nil>
}

// A child that exits at once is reported at once, with its reason.
func ExampleProcess_Wait() {
	p, err := child.Start(context.Background(), child.Config{
		Command: "sh",
		Args:    []string{"-c", "echo 'boom: missing API key' >&2; exit 3"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	exit := p.Wait()
	fmt.Println(exit)
	fmt.Println("before it was ready:", exit.BeforeReady)
	// Output:
	// exited with status 3: "boom: missing API key"
	// before it was ready: true
}
