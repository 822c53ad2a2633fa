package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Each operation of the binary is in a Register, and each command in a table: a declaration that
// its package, or the binary if it is exported, does not mention again has no row.
func TestOperationsAndCommandsHaveRows(t *testing.T) {
	type declaration struct{ dir, name string }
	var declared []declaration
	mentions := map[declaration]int{} // with dir "": in any package
	binary := os.DirFS("../../cmd/stdwire")
	assert.NilError(t, fs.WalkDir(binary, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		source, err := fs.ReadFile(binary, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source,
			parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		for _, decl := range file.Decls {
			if row := rowOf(decl); row != "" {
				declared = append(declared, declaration{dir, row})
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				mentions[declaration{dir, id.Name}]++
				mentions[declaration{"", id.Name}]++
			}
			return true
		})
		return nil
	}))
	assert.Assert(t, len(declared) > 50, "%d", len(declared))
	for _, d := range declared {
		where := d
		if ast.IsExported(d.name) {
			where.dir = ""
		}
		if mentions[where] < 2 {
			t.Errorf("cmd/stdwire/%s: nothing mentions %s: add its row", d.dir, d.name)
		}
	}
}

// rowOf returns the name of a declaration that belongs into a table: a function that returns a
// command, or the spec of an operation.
func rowOf(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		results := d.Type.Results
		if d.Recv == nil && results.NumFields() == 1 &&
			strings.TrimPrefix(types.ExprString(results.List[0].Type), "command.") == "Command" {
			return d.Name.Name
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				continue
			}
			value, ok := v.Values[0].(*ast.CompositeLit)
			if ok && types.ExprString(value.Type) == "dispatch.Spec" {
				return v.Names[0].Name
			}
		}
	}
	return ""
}
