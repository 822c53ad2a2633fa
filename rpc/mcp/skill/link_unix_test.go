//go:build unix

package skill_test

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp/skill"
)

// The file system of a root does not serve the target of a link that leads outside, even if the
// link was replaced after the directory was read.
func TestLinkThatLeadsOut(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		assert.NilError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	write("secret", "secret")
	write("skills/s/SKILL.md", string(text("s").Data))
	write("skills/s/a.md", "secret")
	root, err := os.OpenRoot(filepath.Join(dir, "skills"))
	assert.NilError(t, err)
	defer root.Close()
	tree, err := skill.Read(root.FS())
	assert.NilError(t, err)
	assert.Equal(t, len(tree.Skills), 1)
	assert.NilError(t, os.Remove(filepath.Join(dir, "skills/s/a.md")))
	if err := os.Symlink("../../secret", filepath.Join(dir, "skills/s/a.md")); err != nil {
		t.Skip("there are no symbolic links: ", err)
	}
	_, err = tree.Files["skill://s/a.md"].Read()
	assert.ErrorContains(t, err, "path escapes")
	tree, err = skill.Read(root.FS())
	assert.NilError(t, err)
	assert.ErrorContains(t, tree.Problems[0], "s/a.md: the link leads to no regular file")
}
