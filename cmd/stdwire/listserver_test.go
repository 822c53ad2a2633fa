package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// serveLists is a legacy server whose tools, prompts, resources and resourceTemplates are the
// arrays in a file, read for each list. Its instructions are a string in it.
func serveLists(args []string) {
	serveLines(func(m message, reply func(string)) {
		if m.ID == nil {
			return
		}
		var stock map[string]json.RawMessage
		if text, err := os.ReadFile(args[0]); err == nil {
			_ = json.Unmarshal(text, &stock)
		}
		member := map[string]string{"tools/list": "tools", "prompts/list": "prompts",
			"resources/list":           "resources",
			"resources/templates/list": "resourceTemplates"}[m.Method]
		switch {
		case m.Method == "initialize":
			reply(fmt.Sprintf(
				`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"stocked","version":"1"},"instructions":%s}}`,
				m.ID, cmp.Or(string(stock["instructions"]), `""`)))
		case member == "":
			reply(fmt.Sprintf(
				`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`,
				m.ID))
		case stock[member] == nil:
			reply(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{%q:[]}}`, m.ID, member))
		default:
			reply(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{%q:%s}}`, m.ID, member,
				stock[member]))
		}
	})
}

// listServer returns the configuration of the server and a function that replaces its file.
func listServer(t *testing.T, stock string) (server obj, relist func(stock string)) {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	file := filepath.Join(t.TempDir(), "stock.json")
	relist = func(stock string) {
		t.Helper()
		assert.NilError(t, os.WriteFile(file, []byte(stock), 0o600))
	}
	relist(stock)
	return obj{"command": self, "args": []string{"fixture:lists", file}}, relist
}
