package fs

import (
	"cmp"
	"os"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/rootdir"
	"github.com/stdwire/stdwire/dispatch"
)

// OpenDir opens a directory inside a root as the working directory of a program. instance is the
// root, or "" for the default; an empty path is the root itself. The open directory stays the same
// even if its path changes. The caller closes it.
//
// No path and no link leads out of the root. The errors are those of the operations:
// [dispatch.UnknownInstance], [dispatch.InvalidInput], [dispatch.PermissionDenied],
// [dispatch.NotFound], and [dispatch.StateError] for a file that is not a directory.
func (rs *Roots) OpenDir(instance, path string) (*os.File, error) {
	r, name, err := rs.locate(instance, cmp.Or(path, "."))
	if err != nil {
		return nil, err
	}
	info, err := r.Dir.Stat(name)
	if err == nil && !info.IsDir() {
		err = dispatch.Errorf(dispatch.StateError, "%q is not a directory", name)
	}
	var dir *os.File
	if err == nil {
		dir, err = openDir(r.Dir, name)
	}
	if err != nil {
		return nil, r.Fail("open", name, err)
	}
	return dir, nil
}

func openDir(root *os.Root, name string) (*os.File, error) {
	dir, err := root.OpenRoot(rootdir.AsDir(name))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Open(".")
}
