package mcptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
)

// Golden compares the instructions, tools, resources, resource templates and prompts of the server
// of c with a JSON file, usually below testdata. The test fails if they differ, or if a list cannot
// be read. If the environment variable MCPTEST_UPDATE is 1, Golden writes the file, and makes its
// directory.
func Golden(t testing.TB, c *client.Client, file string) {
	t.Helper()
	ctx := t.Context()
	var offered bytes.Buffer
	encoder := json.NewEncoder(&offered)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(map[string]any{
		"instructions":      c.Instructions(),
		"tools":             all(t, c.Tools(ctx)),
		"resources":         all(t, c.Resources(ctx)),
		"resourceTemplates": all(t, c.ResourceTemplates(ctx)),
		"prompts":           all(t, c.Prompts(ctx)),
	})
	if err != nil {
		t.Fatalf("mcptest: %v", err)
	}
	if os.Getenv("MCPTEST_UPDATE") == "1" {
		err := os.MkdirAll(filepath.Dir(file), 0o777)
		if err == nil {
			err = os.WriteFile(file, offered.Bytes(), 0o666)
		}
		if err != nil {
			t.Fatalf("mcptest: %v", err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("mcptest: %v; MCPTEST_UPDATE=1 go test writes it", err)
	}
	got := bytes.Split(offered.Bytes(), []byte("\n"))
	for i, line := range bytes.Split(want, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r")) // a checkout on Windows has CRLF
		if i >= len(got) || !bytes.Equal(line, got[i]) {
			var instead []byte
			if i < len(got) {
				instead = got[i]
			}
			shown, wanted := printable.Difference(string(instead), string(line), 0)
			t.Errorf("mcptest: %s:%d: the server offers\n%s\ninstead of\n%s\n"+
				"MCPTEST_UPDATE=1 go test writes the file", file, i+1, shown, wanted)
			return
		}
	}
	if n := bytes.Count(want, []byte("\n")) + 1; len(got) > n {
		t.Errorf("mcptest: %s:%d: the server offers more\n%s", file, n, got[n])
	}
}

// all returns the items of a list. It returns none if the server does not have the list.
func all[T any](t testing.TB, items iter.Seq2[*T, error]) []*T {
	t.Helper()
	list := []*T{}
	for item, err := range items {
		if errors.Is(err, rpc.ErrMethodNotFound) {
			return list
		}
		if err != nil {
			t.Fatalf("mcptest: %v", err)
		}
		list = append(list, item)
	}
	return list
}
