package processgroup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// sameName compares names of variables as Windows does: PATH is usually spelled Path.
func sameName(a, b string) bool { return strings.EqualFold(a, b) }

// LookPath finds a program: a name on the PATH in env, but never in the working directory, or a
// path, which if relative starts at dir. It tries the extensions of PATHEXT in env. The path
// returned is absolute and has its extension. For a name, the error wraps [exec.ErrNotFound], and
// [exec.ErrDot] too if only a relative directory in PATH has the program; for a path it wraps
// [fs.ErrNotExist] or another cause.
func LookPath(name, dir string, env []string) (string, error) {
	extensions := strings.Split(cmp.Or(Getenv(env, "PATHEXT"), ".COM;.EXE;.BAT;.CMD"), ";")
	if filepath.Base(name) != name {
		if filepath.VolumeName(name) == "" && !os.IsPathSeparator(name[0]) {
			name = filepath.Join(dir, name)
		}
		return find(name, extensions)
	}
	err := error(exec.ErrNotFound)
	for _, dir := range filepath.SplitList(Getenv(env, "PATH")) {
		file, findErr := find(filepath.Join(dir, name), extensions)
		switch {
		case findErr != nil:
		case !filepath.IsAbs(dir):
			err = fmt.Errorf("%w (%w)", exec.ErrNotFound, exec.ErrDot)
		default:
			return file, nil
		}
	}
	return "", err
}

// find returns the absolute path of a program's file, with the extension that was left out.
func find(file string, extensions []string) (string, error) {
	// Abs drops dots and spaces at the end, as CreateProcess does.
	file, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	if filepath.Ext(file) != "" {
		extensions = append([]string{""}, extensions...)
	}
	err = syscall.ERROR_FILE_NOT_FOUND
	for _, extension := range extensions {
		info, statErr := os.Stat(file + extension)
		switch {
		case statErr == nil && info.IsDir():
			err = fmt.Errorf("it is a directory: %w", fs.ErrPermission)
		case statErr == nil && filepath.Ext(file+extension) != "":
			return file + extension, nil
		case statErr != nil && !errors.Is(statErr, fs.ErrNotExist):
			err = statErr
		}
	}
	return "", err
}
