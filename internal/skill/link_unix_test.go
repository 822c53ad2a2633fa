//go:build unix

package skill_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/skill"
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

// A file that becomes a pipe after the directory was read is an error, whichever file system the
// application has given, and nobody waits for a writer.
func TestFileBecomesPipe(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "SKILL.md"), text("s").Data, 0o600))
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "a.md"), []byte("a"), 0o600))
	tree, err := skill.Read(os.DirFS(dir))
	assert.NilError(t, err)
	assert.NilError(t, os.Remove(filepath.Join(dir, "a.md")))
	assert.NilError(t, syscall.Mkfifo(filepath.Join(dir, "a.md"), 0o600))
	_, err = tree.Files["skill://s/a.md"].Read()
	assert.ErrorContains(t, err, "a.md: this is not a regular file")
	entries, err := skill.Entries(os.DirFS(dir))
	assert.NilError(t, err)
	assert.ErrorContains(t, entries["a.md"].Err, "it is no regular file")
}

// Only the files of skills are entries.
func TestEntries(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"s/SKILL.md", "s/sub/a.md", "other/large", "s/.hidden"} {
		path := filepath.Join(dir, name)
		assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.NilError(t, os.WriteFile(path, []byte("a"), 0o600))
	}
	assert.NilError(t, os.Symlink("sub/a.md", filepath.Join(dir, "s/link")))
	assert.NilError(t, os.Symlink("/dev/zero", filepath.Join(dir, "zero")))
	assert.NilError(t, os.Symlink("/dev/zero", filepath.Join(dir, "s/zero")))
	entries, err := skill.Entries(os.DirFS(dir))
	assert.NilError(t, err)
	paths := map[string]string{}
	for name, e := range entries {
		paths[name] = e.Path
		assert.Equal(t, e.Err != nil, name == "s/zero")
	}
	assert.DeepEqual(t, paths, map[string]string{"s/SKILL.md": "s/SKILL.md",
		"s/sub/a.md": "s/sub/a.md", "s/link": "s/sub/a.md", "s/zero": ""})
}
