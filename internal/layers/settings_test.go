package layers

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// settings are the types of which configuration files set fields, and those of which these set
// fields in turn, by package.
var settings = map[string][]string{
	"client/host/config": {"Server", "Endpoint", "TLS", "OAuth", "Credentials", "Input", "Discovery",
		"Limits", "Rate", "RateCost"},
	"client/host":         {"Override", "ArgumentOverride", "Filter", "Server"},
	"client/host/gateway": {"Upstream"},
}

// Each setting is read where it has an effect: a member of a configuration file that is only
// parsed, described and encoded does nothing.
func TestSettingsAreUsed(t *testing.T) {
	exports := map[string]string{}
	for _, p := range list(t, "-export", "-deps", "./client/...", "./cmd/...") {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	used := map[string]bool{}
	var all []string
	for path, names := range settings {
		p, err := imports.Import(module + path)
		assert.NilError(t, err)
		for _, name := range fieldsOf(p, names) {
			all = append(all, path+"."+name)
		}
	}
	for _, p := range list(t, "./client/...", "./cmd/...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		if _, own := settings[name]; !own && !slices.ContainsFunc(p.Imports, isSettings) {
			continue
		}
		files := map[string]*ast.File{}
		for _, file := range p.GoFiles {
			parsed, err := parser.ParseFile(fset, filepath.Join("../..", name, file), nil,
				parser.SkipObjectResolution)
			assert.NilError(t, err)
			files[file] = parsed
		}
		for field := range fieldsRead(t, fset, imports, p.ImportPath, files) {
			used[field] = true
		}
	}
	slices.Sort(all)
	for _, field := range all {
		if !used[field] {
			t.Errorf("nothing reads %s, so that it has no effect", field)
		}
	}
}

// isSettings reports whether a package has settings.
func isSettings(path string) bool {
	name, ours := strings.CutPrefix(path, module)
	return ours && settings[name] != nil
}

// fieldsOf returns the exported fields of structs of a package as "Type.Field".
func fieldsOf(p *types.Package, structs []string) map[*types.Var]string {
	all := map[*types.Var]string{}
	for _, name := range structs {
		s := p.Scope().Lookup(name).Type().Underlying().(*types.Struct)
		for f := range s.Fields() {
			if f.Exported() {
				all[f] = name + "." + f.Name()
			}
		}
	}
	return all
}

// fieldsRead returns the settings, as "package.Type.Field", that a package reads. In the package of
// configurations, only what resolves a definition, or makes options of it, counts.
func fieldsRead(t *testing.T, fset *token.FileSet, imports types.Importer, path string,
	files map[string]*ast.File) map[string]bool {
	t.Helper()
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	var parsed []*ast.File
	for _, f := range files {
		parsed = append(parsed, f)
	}
	p, err := (&types.Config{Importer: imports}).Check(path, fset, parsed, info)
	assert.NilError(t, err)
	names := map[types.Object]string{}
	for other, structs := range settings {
		from := p
		if module+other != path {
			from, err = imports.Import(module + other)
			assert.NilError(t, err)
		}
		for f, name := range fieldsOf(from, structs) {
			names[f] = other + "." + name
		}
	}
	read := map[string]bool{}
	for file, f := range files {
		if path == module+"client/host/config" && file != "expand.go" && file != "server.go" {
			continue
		}
		written := map[ast.Expr]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, to := range n.Lhs {
					written[to] = n.Tok == token.ASSIGN
				}
			case *ast.SelectorExpr:
				if name, is := names[info.Uses[n.Sel]]; is && !written[n] {
					read[name] = true
				}
			}
			return true
		})
	}
	return read
}
