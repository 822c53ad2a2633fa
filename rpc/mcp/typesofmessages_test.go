package mcp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestTypesOfMessages finds the params, results and types with a field Extra that no table of
// suites_test.go has, so that no other test sees them.
func TestTypesOfMessages(t *testing.T) {
	tested := map[string]bool{"Params": true, "Result": true} // as parts of others
	for _, typ := range types() {
		tested[typ.Name()] = true
	}
	files, err := filepath.Glob("*.go")
	assert.NilError(t, err)
	n := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		assert.NilError(t, err)
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			structure, ok := spec.Type.(*ast.StructType)
			if !ok || !slices.ContainsFunc(structure.Fields.List, isOfMessage) {
				return false
			}
			n++
			assert.Check(t, tested[spec.Name.Name],
				"%s: %s is in none of paramsOf, definitions and others", name, spec.Name)
			return false
		})
	}
	assert.Assert(t, n > 60, n)
}

// isOfMessage reports whether a field is Extra, or Params or Result, which have it.
func isOfMessage(f *ast.Field) bool {
	typ, ok := f.Type.(*ast.Ident)
	return ok && (typ.Name == "Extra" ||
		f.Names == nil && (typ.Name == "Params" || typ.Name == "Result"))
}
