package client

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// The client has a method for each request that the specification defines: a file names it.
func TestMethodsOfRevisions(t *testing.T) {
	var source strings.Builder
	files, err := filepath.Glob("*.go")
	assert.NilError(t, err)
	for _, name := range files {
		if !strings.HasSuffix(name, "_test.go") {
			text, err := os.ReadFile(name)
			assert.NilError(t, err)
			source.Write(text)
		}
	}
	uses := source.String()
	table, err := os.ReadFile("../rpc/mcp/methods.go")
	assert.NilError(t, err)
	n := 0
	for _, m := range regexp.MustCompile(`\b(Method\w+) += "(.+)"`).FindAllStringSubmatch(
		string(table), -1) {
		n++
		named := strings.Contains(uses, "mcp."+m[1])
		for kind := range mcp.Kinds() { // lists are requested by their kinds
			named = named || kind.Info().ListMethod == m[2]
		}
		assert.Check(t, named, "the client neither sends nor answers %s", m[2])
	}
	assert.Assert(t, n > 20, n)
}
