package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestExampleImports tests that examples import only the standard library and this module, because
// git archive keeps them (see .gitattributes), and a vendored copy must need no other module.
func TestExampleImports(t *testing.T) {
	examples := 0
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !isExample(name) {
			return err
		}
		examples++
		source, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			first, _, _ := strings.Cut(imported, "/")
			if strings.Contains(first, ".") && !strings.HasPrefix(imported, module) {
				t.Errorf("%s imports %s: use only the standard library and this module, or "+
					"rename the file", name, imported)
			}
		}
		return nil
	})
	assert.NilError(t, err)
	assert.Assert(t, examples > 0)
}

// isExample reports whether git archive keeps a test file: the patterns are those of
// .gitattributes.
func isExample(name string) bool {
	base := path.Base(name)
	more, _ := path.Match("example_*_test.go", base)
	return base == "example_test.go" || more
}
