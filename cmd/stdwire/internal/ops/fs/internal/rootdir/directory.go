// Package rootdir confines callers to a directory: it checks and resolves the paths that they name,
// locks and opens files, and makes the errors of the system fit to be shown.
package rootdir

import (
	"errors"
	"os"
	"path/filepath"
)

// A Root is an open directory. All access goes through dir, which no path leaves.
type Root struct {
	name string
	Dir  *os.Root
	host string // the real path of dir, for the keys of locks; never in results

	// errEscapes is dir's error for a path that leads out of it. Package os does not export it.
	errEscapes error
}

// Open opens the directory at a path of the host.
func Open(name, at string) (*Root, error) {
	abs, err := filepath.Abs(at)
	if err != nil {
		return nil, err
	}
	host, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(host)
	if err != nil {
		return nil, err
	}
	_, errEscapes := dir.Lstat("..")
	return &Root{name: name, Dir: dir, host: host, errEscapes: errors.Unwrap(errEscapes)}, nil
}

func (r *Root) Close() error { return r.Dir.Close() }
