package commandtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// SetHome sets the user's home directory, until the test ends.
func SetHome(t *testing.T, home string) {
	t.Helper()
	for name, value := range HomeVariables(home) {
		t.Setenv(name, value)
	}
}

// Project creates a working directory with these files, for a user without configuration, until the
// test ends. The user's home is beside it. The path has no symbolic links.
func Project(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	SetHome(t, filepath.Join(dir, "home"))
	t.Setenv("STDWIRE_CONFIG", "")
	dir = filepath.Join(dir, "project")
	must(t, os.Mkdir(dir, 0o700))
	for name, content := range files {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(content), 0o600))
	}
	t.Chdir(dir)
	return dir
}

// InDir makes the paths in a text relative to the project's parent, with slashes, also in JSON.
func InDir(dir, text string) string {
	if separator := string(filepath.Separator); separator == `\` {
		text = strings.ReplaceAll(text, `\\`, separator)
	}
	return filepath.ToSlash(strings.ReplaceAll(text, filepath.Dir(dir), ""))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
