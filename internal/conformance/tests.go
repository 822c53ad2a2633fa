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

// A Claim is a statement and the names of the tests that prove it. Tests of other packages are
// named with the package: client.TestStats. Text after a dash says why there is no test, or what
// the tests do not cover.
type Claim [2]string

// CheckClaims fails t unless every test that claims name exists. dirs maps the package names used
// in claims to directories, "" being the package of t. It returns the tests that prove a claim.
func CheckClaims(t testing.TB, claims map[string][]Claim,
	dirs map[string]string) (proving map[string]bool) {
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
					t.Errorf("%s: %s: test %s does not exist", page, c[0], test)
				}
				proving[test] = true
			}
		}
	}
	return proving
}

// CheckMusts is like [CheckClaims], and also fails t if a test with Must in its name proves no
// claim, in the package of t or one of the packages in whole.
func CheckMusts(t testing.TB, claims map[string][]Claim, dirs map[string]string, whole ...string) {
	t.Helper()
	proving := CheckClaims(t, claims, dirs)
	for _, name := range append(whole, "") {
		own, err := testsOf(dirs[name])
		if err != nil {
			t.Fatal(err)
		}
		for test := range own {
			if strings.Contains(test, "Must") && test != "TestMusts" &&
				!proving[strings.TrimPrefix(name+"."+test, ".")] {
				t.Errorf("%s proves no claim", test)
			}
		}
	}
}

// testsOf returns the names of the tests in a directory.
func testsOf(dir string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*_test.go"))
	if err == nil && files == nil {
		err = errors.New("no tests in " + dir)
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
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil &&
				strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
	}
	return names, nil
}
