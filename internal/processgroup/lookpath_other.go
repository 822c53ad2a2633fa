//go:build !windows

package processgroup

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

func sameName(a, b string) bool { return a == b }

// LookPath finds a program: a name on the PATH in env, but never in the working directory. A path
// is returned unchanged; if relative, it starts at dir. The error wraps [exec.ErrNotFound], or
// [fs.ErrPermission] if the file found is not executable.
func LookPath(name, dir string, env []string) (string, error) {
	if filepath.Base(name) != name {
		return name, nil
	}
	err := error(exec.ErrNotFound)
	for _, dir := range filepath.SplitList(Getenv(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue // "." would run files of the working directory
		}
		file := filepath.Join(dir, name)
		info, statErr := os.Stat(file)
		switch {
		case statErr != nil || info.IsDir():
		case info.Mode()&0o111 == 0:
			err = fmt.Errorf("%s is not executable: %w", file, fs.ErrPermission)
		default:
			return file, nil
		}
	}
	return "", err
}
