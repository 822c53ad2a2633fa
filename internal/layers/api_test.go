package layers

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

// publicFolders are the folders whose packages other modules may import.
var publicFolders = []string{"framing", "rpc", "dispatch", "server", "client"}

// TestAPI compares the exported declarations of all public packages with testdata/api.txt, so that
// a review sees each change of the API. Run it with -update to write the file.
func TestAPI(t *testing.T) {
	var out bytes.Buffer
	for _, folder := range publicFolders {
		err := filepath.WalkDir(filepath.Join("../..", folder),
			func(dir string, e os.DirEntry, err error) error {
				if err != nil || !e.IsDir() {
					return err
				}
				if e.Name() == "testdata" || e.Name() == "internal" {
					return filepath.SkipDir
				}
				return appendAPI(&out, dir)
			})
		assert.NilError(t, err)
	}
	golden.Assert(t, out.String(), "api.txt", "the exported API differs from "+
		"testdata/api.txt: if that is intended, run go test ./internal/layers -update")
}

// TestConstructors finds functions that take options of their package, of which they should be
// methods.
func TestConstructors(t *testing.T) {
	text, err := os.ReadFile("testdata/api.txt")
	assert.NilError(t, err)
	for _, f := range regexp.MustCompile(`(?m)^func [A-Z].*$`).FindAllString(string(text), -1) {
		if takesOptions(t, f) {
			t.Errorf("%s: make it a method of the options, see CONTRIBUTING.md, Constructors", f)
		}
	}
	for f, want := range map[string]bool{
		"func New(o Options) *T": true, "func New(o *Options) *T": true, "func New(...Options)": true,
		"func New[T any](t T, o, p TOptions[T])": true, "func New[K, V any](o TOptions[K, V])": true,
		"func Of(t T) Options": false, "func Read(b []byte) (Options, error)": false,
		"func New(o other.Options)": false, "func Each(do func(T) (Options, error))": false,
	} {
		assert.Equal(t, takesOptions(t, f), want, f)
	}
}

// takesOptions reports whether a parameter of a function is the options of its package.
func takesOptions(t *testing.T, function string) bool {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+function,
		parser.SkipObjectResolution)
	assert.NilError(t, err, function)
	for _, parameter := range file.Decls[0].(*ast.FuncDecl).Type.Params.List {
		of := parameter.Type
		if e, ok := of.(*ast.Ellipsis); ok {
			of = e.Elt
		}
		if e, ok := of.(*ast.StarExpr); ok {
			of = e.X
		}
		switch e := of.(type) {
		case *ast.IndexExpr:
			of = e.X
		case *ast.IndexListExpr:
			of = e.X
		}
		if name, ok := of.(*ast.Ident); ok && strings.HasSuffix(name.Name, "Options") {
			return true
		}
	}
	return false
}

// appendAPI appends the exported declarations of the package in a folder, as on Linux.
func appendAPI(out *bytes.Buffer, dir string) error {
	linux := build.Default
	linux.GOOS, linux.GOARCH, linux.CgoEnabled = "linux", "amd64", false
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if match, err := linux.MatchFile(dir, filepath.Base(name)); err != nil || !match {
			if err != nil {
				return err
			}
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil
	}
	path, err := filepath.Rel("../..", dir)
	if err != nil {
		return err
	}
	p, err := doc.NewFromFiles(fset, files, module+filepath.ToSlash(path))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "package %s\n\n", p.ImportPath)
	for _, decl := range declarations(p) {
		config := printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: tabWidth}
		// Without positions: how lines are broken in the source does not matter.
		if err := config.Fprint(out, token.NewFileSet(), decl); err != nil {
			return err
		}
		out.WriteString("\n")
	}
	out.WriteString("\n")
	return nil
}

// declarations returns the exported declarations of a package: constants, variables, functions, and
// each type with what belongs to it.
func declarations(p *doc.Package) []ast.Decl {
	var all []ast.Decl
	values := func(values []*doc.Value) {
		for _, v := range values {
			if v.Decl.Tok == token.VAR { // of which the value is no part of the API
				for _, spec := range v.Decl.Specs {
					spec.(*ast.ValueSpec).Values = nil
				}
			}
			all = append(all, v.Decl)
		}
	}
	functions := func(functions []*doc.Func) {
		for _, f := range functions {
			f.Decl.Body = nil
			all = append(all, f.Decl)
		}
	}
	values(p.Consts)
	values(p.Vars)
	functions(p.Funcs)
	for _, t := range p.Types {
		all = append(all, t.Decl)
		values(t.Consts)
		values(t.Vars)
		functions(t.Funcs)
		functions(t.Methods)
	}
	return all
}
