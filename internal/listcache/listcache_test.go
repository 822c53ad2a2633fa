package listcache_test

import (
	"os"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/listcache"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestTools(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		assert.NilError(t, os.WriteFile(listcache.Path(dir, "files"), []byte(text), 0o600))
	}
	assert.Equal(t, len(listcache.Tools(dir, "files", "d")), 0, "there is no file")
	write(`{"digest":"d","name":"n","tools":[{"name":"read","inputSchema":{"type":"object"}}]}`)
	tools := listcache.Tools(dir, "files", "d")
	assert.Equal(t, len(tools), 1)
	assert.Equal(t, tools[0].Name, "read")
	assert.Equal(t, len(listcache.Tools(dir, "files", "other")), 0)
	assert.Equal(t, len(listcache.Tools(dir, "files", "")), 0)
	lists, _, ok := listcache.Read(listcache.Path(dir, "files"))
	assert.Assert(t, ok && *lists.Of(mcp.KindPrompt) == nil && len(*lists.Of(mcp.KindTool)) == 1)
	for _, invalid := range []string{`{`, `{"digest":"d","tools":[{"name":1}]}`,
		`{"digest":"d","digest":"d"}`} {
		write(invalid)
		assert.Equal(t, len(listcache.Tools(dir, "files", "d")), 0, invalid)
	}
}
