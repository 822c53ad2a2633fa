package appfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
)

// drive begins the absolute paths of the tests.
var drive = map[bool]string{true: "C:"}[runtime.GOOS == "windows"]

// world is an environment in which there are only these files. Names are written as on Unix; a path
// of this system is one of [slashed].
func world(files map[string]string) *config.Environment {
	return &config.Environment{
		Dir: native("/project"), Home: native("/home/ada"),
		LookupEnv: func(string) (string, bool) { return "", false },
		ReadFile: func(path string) ([]byte, error) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		},
		Exists: func(path string) bool { _, ok := files[slashed(path)]; return ok },
	}
}

// native is a path of this system for one of Unix that begins with /. Any other text is left alone.
func native(path string) string {
	if !strings.HasPrefix(path, "/") {
		return path
	}
	return drive + filepath.FromSlash(path)
}

// slashed is a text with the paths of Unix in the place of those of this system.
func slashed(text string) string { return filepath.ToSlash(strings.ReplaceAll(text, drive, "")) }

func parse(text string) *File {
	return Parse(world(nil), config.Source{Path: "f.json", Workspace: native("/project")},
		[]byte(text))
}

// codexFile is a config.toml of Codex.
func codexFile() string {
	data, err := os.ReadFile("../../../../client/host/config/testdata/codex.toml")
	if err != nil {
		panic(err)
	}
	return string(data)
}
