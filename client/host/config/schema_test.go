package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonedit"
)

var compiledSchema = sync.OnceValues(func() (*schema.Schema, error) {
	return schema.Compile(Schema())
})

// inexpressible are parts of the errors that a schema cannot find.
var inexpressible = []string{"is already defined", "its URL is invalid", "are the same header",
	"is not a pattern", "the file has more than 256 servers", "the file has more than 100 inputs",
	"fix these first", "would have the same name", "only your own file", "would never allow",
	"too slowly", "must be at most 1m"}

// checkSchema compares the schema and the parser on a file.
func checkSchema(t *testing.T, text string, f *File) {
	t.Helper()
	parsed, _ := jsonedit.ParseJSON("", []byte(text))
	data := parsed.Data
	if len(strings.TrimSpace(string(data))) == 0 {
		return // no JSON
	}
	s, err := compiledSchema()
	assert.NilError(t, err)
	err = s.Validate(data)
	for _, d := range f.Diagnostics {
		if d.Severity == SeverityError {
			if !slices.ContainsFunc(inexpressible,
				func(part string) bool { return strings.Contains(d.Message, part) }) {
				assert.Check(t, err != nil, "the schema accepts %s\n%v", text, d)
			}
			return
		}
	}
	assert.Check(t, err == nil, "the schema refuses %s\n%v", text, err)
}

// The schema is valid, and its texts are sentences.
func TestSchema(t *testing.T) {
	_, err := compiledSchema()
	assert.NilError(t, err)
	for _, f := range Fields() {
		assert.Check(t, strings.HasSuffix(f.Help, ".") && f.Type != "", "%+v", f)
	}
	for _, text := range []string{
		`{"mcpServers": {"a": {"command": "x", "oauth": {"clientId": "a", "client_id": "b"}}}}`,
		`{"mcpServers": {"a": {"command": ["", "x"]}}}`,
		`{"mcpServers": {"a": {"command": [1, "x"], "idleStop": "-5m"}}}`,
		`{"mcpServers": {"a": {"command": "x", "tools": ["a"], "options": {"toolFilter": {"mode": "allow", "list": []}}}}}`,
		`{"mcpServers": {"a": {"command": "x", "timeout": 2592000001}}}`,
		`{"mcpServers": {"a": {"command": "x"}}, "mcpProxy": {}, "profiles": 1}`,
		`{"context_servers": {"a": {"command": "x"}}, "profiles": 1}`,
		`{"mcpServers": {}, "servers": {"a": 1}, "mcp": 7}`, `{"servers": {}, "mcp": {"a": {}}}`,
		`{"mcp": {"servers": {"a": {}}}}`, `{"mcp": {"servers": {"command": "x"}}}`,
		`{"a": {"command": "x", "args": 1}}`, `{"a": {"command": "x"}, "b": 1}`,
		`{"$schema": "x", "a": {"command": "x"}}`, `{"a": {"command": "x"}, "b c": {"url": "http://x"}}`,
		`{"inputs": 1, "mcpServers": {}}`, `{"inputs": [1, {"id": 2}], "mcpServers": {}}`,
	} {
		f := parse(text)
		if strings.Contains(text, "2592000001") {
			assert.Assert(t, f.Servers[0].Err != nil)
			continue // the unit depends on the format, so the schema has the largest number
		}
		checkSchema(t, text, f)
	}
}

// Each member that the parser reads is in the table, and the parser reads each that is in it.
func TestFieldsAreRead(t *testing.T) {
	known := map[string]bool{}
	for _, f := range Fields() {
		for _, name := range f.Names {
			known[name] = true
		}
	}
	// members of toolFilter, whose type names them, of an element of env_vars, and of policy
	read := map[string]bool{"mode": true, "list": true, "name": true, "rules": true}
	fset := token.NewFileSet()
	files, err := filepath.Glob("*.go")
	assert.NilError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		assert.NilError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			function := ""
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				function = f.Sel.Name
			case *ast.Ident:
				function = f.Name
			}
			literal, ok := call.Args[0].(*ast.BasicLit)
			if ok && (function == "Member" || function == "memberNamed") {
				member, err := strconv.Unquote(literal.Value)
				assert.NilError(t, err)
				assert.Check(t, known[member] || read[member],
					"the parser reads %q, which is in no table of fields: see fileFields", member)
				read[member] = true
			}
			return true
		})
	}
	for _, f := range Fields() {
		// The others have functions that read them.
		if f.Object == "file" || f.Object == "input" {
			assert.Check(t, read[f.Names[0]], "nothing reads %q", f.Names[0])
		}
	}
	for _, f := range slices.Concat(serverFields(), toolsFields(), optionsFields()) {
		assert.Check(t, f.read != nil || f.at != nil, f.names)
	}
	for _, f := range oauthFields() {
		assert.Check(t, f.read != nil || f.at != nil, f.names)
	}
}
