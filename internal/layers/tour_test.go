package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const tour = "internal/TOUR.md"

var (
	tourCode = regexp.MustCompile("`([a-z][a-z_/]*(?:\\.go|/[a-z]+|))(?::([A-Za-z.]+))?`")
	tourRow  = regexp.MustCompile("^\\| (`[^|]*) \\| ([\\d,]+) \\|")
	inCode   = regexp.MustCompile("`([a-z/]+)`")
)

// TestTour tests that every file, folder and declaration that the tour names exists, and that the
// sizes on its map are right. A failure names the line of the page to mend and, for a declaration
// that has moved, where it is now.
func TestTour(t *testing.T) {
	text, err := os.ReadFile("../../" + tour)
	assert.NilError(t, err)
	sizes, declared := sourceFiles(t)
	names := 0
	for i, line := range strings.Split(string(text), "\n") {
		at := fmt.Sprintf("%s:%d", tour, i+1)
		row := tourRow.FindStringSubmatch(line)
		for _, m := range tourCode.FindAllStringSubmatch(line, -1) {
			file, name := m[1], m[2]
			if row != nil && !strings.Contains(file, "/") && strings.HasSuffix(file, ".go") {
				file = path.Join(inCode.FindStringSubmatch(row[1])[1], file)
			}
			if !strings.ContainsAny(file, "/") {
				continue // a word such as `Write`, or a package at the top
			}
			names++
			if _, err := os.Stat(filepath.Join("../..", file)); err != nil {
				t.Errorf("%s: there is no %s%s", at, file, elsewhere(declared, name))
			} else if name != "" && !slices.Contains(declared[name], file) {
				t.Errorf("%s: %s does not declare %s%s", at, file, name, elsewhere(declared, name))
			}
		}
		if row != nil {
			stated, err := strconv.Atoi(strings.ReplaceAll(row[2], ",", ""))
			assert.NilError(t, err)
			lines := 0
			for _, dir := range inCode.FindAllStringSubmatch(row[1], -1) {
				lines += sizeOf(sizes, dir[1], strings.Contains(row[1], "and below"))
			}
			if stated < lines*3/4 || stated > lines*5/4 {
				t.Errorf("%s: %s has %d lines, and the page says %d", at, row[1], lines, stated)
			}
		}
	}
	assert.Assert(t, names > 60, "the page names only %d places", names)
}

func elsewhere(declared map[string][]string, name string) string {
	if files := declared[name]; len(files) > 0 {
		return "; " + name + " is in " + strings.Join(files, " and ")
	}
	if name == "" {
		return ""
	}
	return "; " + name + " is nowhere"
}

func sizeOf(sizes map[string]int, dir string, below bool) (lines int) {
	for file, n := range sizes {
		in := path.Dir(file)
		if in == dir || below && strings.HasPrefix(in, dir+"/") {
			lines += n
		}
	}
	return lines
}

// sourceFiles returns the number of lines of each Go file that is no test, and the files that
// declare each name: a function, a type, a variable, a constant, or Type.Method.
func sourceFiles(t *testing.T) (sizes map[string]int, declared map[string][]string) {
	sizes, declared = map[string]int{}, map[string][]string{}
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == "testdata" || name != "." && e.Name()[0] == '.') {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		sizes[name] = strings.Count(string(source), "\n")
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			for _, n := range declaredBy(d) {
				declared[n] = append(declared[n], name)
			}
		}
		return nil
	})
	assert.NilError(t, err)
	return sizes, declared
}

func declaredBy(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		receiver := d.Recv.List[0].Type
		if star, ok := receiver.(*ast.StarExpr); ok {
			receiver = star.X
		}
		if generic, ok := receiver.(*ast.IndexExpr); ok {
			receiver = generic.X
		}
		if named, ok := receiver.(*ast.Ident); ok {
			return []string{named.Name + "." + d.Name.Name}
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}
