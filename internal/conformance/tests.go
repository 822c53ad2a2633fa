package conformance

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// A Claim is something that is to hold, in few words, and the names of the tests that prove it. Those of other packages are called by the package: client.TestNoise. What begins
// with a dash is why there is no test, or what the tests before it leave open.
type Claim [2]string

// CheckClaims fails t unless the tests that claims name are there: in the directory, by the name that claims have for its package, which is "" for the one of t. It returns
// which of them prove something.
func CheckClaims(t testing.TB, claims map[string][]Claim, dirs map[string]string) (proving map[string]bool) {
	t.Helper()
	tests := make(map[string]bool)
	for name, dir := range dirs {
		own, err := testsOf(dir)
		if err != nil {
			t.Fatal(err)
		}
		for test := range own {
			tests[strings.TrimPrefix(name+"."+test, ".")] = true
		}
	}
	proving = make(map[string]bool)
	for page, rows := range claims {
		for _, c := range rows {
			proof, open, _ := strings.Cut(c[1]+" ", "- ")
			if strings.TrimSpace(proof+open) == "" {
				t.Errorf("%s: %s: neither a test nor a reason", page, c[0])
			}
			for _, test := range strings.Fields(proof) {
				if !tests[test] {
					t.Errorf("%s: %s: there is no test %s", page, c[0], test)
				}
				proving[test] = true
			}
		}
	}
	return proving
}

// CheckMusts is [CheckClaims], and fails t too if a test with Must in its name proves nothing: one of the package of t, or of those that are named.
func CheckMusts(t testing.TB, claims map[string][]Claim, dirs map[string]string, whole ...string) {
	t.Helper()
	proving := CheckClaims(t, claims, dirs)
	for _, name := range append(whole, "") {
		own, err := testsOf(dirs[name])
		if err != nil {
			t.Fatal(err)
		}
		for test := range own {
			if strings.Contains(test, "Must") && test != "TestMusts" && !proving[strings.TrimPrefix(name+"."+test, ".")] {
				t.Errorf("%s is in no row", test)
			}
		}
	}
}

// testsOf returns the names of the tests of the package in a directory.
func testsOf(dir string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*_test.go"))
	if err == nil && files == nil {
		err = errors.New("there is no test in " + dir)
	}
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
	}
	return names, nil
}
