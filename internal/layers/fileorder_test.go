package layers

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// together lists, for packages whose files refer only to files below them, those that may reach
// each other all the same, because their types or functions need one another. All other files of
// such a package can be read from the bottom up.
var together = map[string][]string{
	"server": {"changes.go", "conn.go", "item.go", "mrtr.go", "request.go", "result.go", "server.go",
		"toolview.go", "upstreams.go"},
	"server/streamable":  {"session.go", "sessiontable.go"},
	"server/auth":        {"challenge.go", "dpop.go", "metadata.go", "resource.go", "scopes.go"},
	"client":             {"callinput.go", "pages.go", "send.go", "taskwait.go"},
	"client/host/config": {"environment.go", "environment_other.go"},
	"client/host/gateway": {"gateway.go", "itemlist.go", "items.go", "operation.go", "read.go",
		"upstream.go", "userfetch.go"},
	"dispatch/cli": {"arguments.go", "cli.go", "complete.go", "completion.go", "confirm.go",
		"help.go", "line.go", "names.go", "script.go"},
	"framing": {"auto.go", "contentlength.go", "format.go", "newline.go", "source.go"},
	"rpc": {"batch.go", "call.go", "lane.go", "options.go", "outbox.go", "peer.go", "read.go",
		"router.go", "serve.go"},
	"rpc/mcp": {"codec.go", "common.go", "content.go", "inputrequired.go", "meta.go",
		"resources.go"},
}

func TestFileOrder(t *testing.T) {
	for dir, allowed := range together {
		references := fileReferences(t, dir)
		assert.Assert(t, len(references) > len(allowed), "%s: few files refer to others", dir)
		for from := range references {
			for _, cycle := range reaching(references, from) {
				if !slices.Contains(allowed, from) {
					t.Errorf("%s: %s is part of a cycle of files, by %s: move what one of them needs "+
						"of the other to a file below both", dir, from, cycle)
				}
			}
		}
		for _, file := range allowed {
			assert.Assert(t, len(reaching(references, file)) > 0,
				"%s/%s is no longer part of a cycle: remove it from the list", dir, file)
		}
	}
}

// reaching returns the references of a file to those from which it is reached.
func reaching(references map[string]map[string]string, file string) (found []string) {
	for to, example := range references[file] {
		seen := map[string]bool{}
		var visit func(string)
		visit = func(at string) {
			if !seen[at] {
				seen[at] = true
				for next := range references[at] {
					visit(next)
				}
			}
		}
		if visit(to); seen[file] {
			found = append(found, to+" ("+example+")")
		}
	}
	return found
}

// fileReferences returns the files to which each file of a package refers, with a name that it
// uses. Other packages are not loaded, so that a method which is found only by their types is
// overlooked.
func fileReferences(t *testing.T, dir string) map[string]map[string]string {
	fset := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join("../..", filepath.FromSlash(dir), "*.go"))
	assert.NilError(t, err)
	var files []*ast.File
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			assert.NilError(t, err)
			files = append(files, file)
		}
	}
	config := types.Config{Importer: noImporter{}, Error: func(error) {}}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, _ := config.Check(dir, fset, files, &info) // fails, because nothing is imported
	references := map[string]map[string]string{}
	for use, object := range info.Uses {
		if object.Pkg() != pkg || !object.Pos().IsValid() {
			continue
		}
		from := filepath.Base(fset.Position(use.Pos()).Filename)
		to := filepath.Base(fset.Position(object.Pos()).Filename)
		if from == to {
			continue
		}
		if references[from] == nil {
			references[from] = map[string]string{}
		}
		references[from][to] = use.Name
	}
	return references
}

type noImporter struct{}

func (noImporter) Import(string) (*types.Package, error) { return nil, errors.New("left out") }
