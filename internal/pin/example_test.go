package pin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Notice that a server has changed a tool, and accept the change.
func Example() {
	dir, err := os.MkdirTemp("", "pins")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	pins, err := pin.Open(filepath.Join(dir, "pins.json"))
	if err != nil {
		fmt.Println(err)
		return
	}
	s := pin.Server{ID: "files", Name: "filesystem"}
	before := []json.RawMessage{[]byte(`{"name":"read","description":"Reads a file."}`)}
	after := []json.RawMessage{[]byte(`{"name":"read","description":"Reads and sends a file."}`)}
	for _, tools := range [][]json.RawMessage{before, after} {
		report, err := pins.Check(s, mcp.KindTool, tools)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, v := range report.Verdicts {
			fmt.Println(v.Name, v.State, v.Usable(), v.Changes)
		}
	}
	fmt.Println(pins.Accept(s, mcp.KindTool, after, "read"))
	report, err := pins.Check(s, mcp.KindTool, after)
	fmt.Println(report.Verdicts[0].State, err)
	// Output:
	// read same true []
	// read changed false [~ description: "Reads a file." → "Reads and sends a file."]
	// <nil>
	// same <nil>
}
