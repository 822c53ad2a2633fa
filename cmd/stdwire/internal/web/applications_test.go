package web

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// The page offers the servers of the user's files, and none of a file of the working directory,
// which came with a repository.
func TestFoundFilesAreTheUsers(t *testing.T) {
	e := edit(t, twoServers, false)
	for _, dir := range []string{filepath.Dir(e.path), filepath.Join(filepath.Dir(e.path), "home")} {
		path := filepath.Join(dir, ".cursor", "mcp.json")
		assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.NilError(t, os.WriteFile(path, []byte(`{"mcpServers": {"of-`+filepath.Base(dir)+
			`": {"command": "x"}, "one": {"command": "y"}}}`), 0o600))
	}
	found := e.site.configuration.found()
	assert.Equal(t, len(found), 1, "%v", found)
	assert.DeepEqual(t, found[0].Servers, []string{"of-home"})
}
