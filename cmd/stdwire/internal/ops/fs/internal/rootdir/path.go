package rootdir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/stdwire/stdwire/dispatch"
)

const (
	maxPath  = 4096 // bytes of a path in an input
	maxLinks = 40   // symbolic links to follow for one path
)

// Clean checks a path of an input and returns its shortest form, slash-separated and relative. It
// resolves "." and ".." lexically, before any link is followed.
func (r *Root) Clean(name string) (string, error) {
	switch {
	case name == "":
		return "", dispatch.Errorf(dispatch.InvalidInput,
			"the path is empty; the root itself is %q", ".")
	case len(name) > maxPath:
		return "", dispatch.Errorf(dispatch.InvalidInput,
			"the path has %d bytes; at most %d are allowed", len(name), maxPath)
	case strings.ContainsRune(name, 0):
		return "", dispatch.Errorf(dispatch.InvalidInput, "the path holds a NUL character")
	}
	if absolute(name) {
		return "", dispatch.Errorf(dispatch.PermissionDenied,
			"%q is absolute; paths are relative to the root %q", name, r.name)
	}
	cleaned := path.Clean(filepath.ToSlash(name))
	if cleaned == ".." || strings.HasPrefix(cleaned, "../") {
		return "", r.outside(name)
	}
	return cleaned, checkName(cleaned)
}

// absolute reports whether a path is not relative to a directory.
func absolute(name string) bool {
	return name != "" && os.IsPathSeparator(name[0]) || filepath.VolumeName(name) != ""
}

func (r *Root) outside(name string) error {
	return dispatch.Errorf(dispatch.PermissionDenied, "%q leads outside the root %q", name, r.name)
}

// Resolve follows all symbolic links in name, including the last element, and returns a path
// without links, as far as it exists. So all paths of a file resolve to one name. Safety does not
// depend on resolve, because links can change at any time: the result is used through an os.Root.
func (r *Root) Resolve(ctx context.Context, name string) (string, error) {
	at := cursor{root: r.Dir}
	defer at.close()
	rest := strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		element := rest[0]
		rest = rest[1:]
		switch element {
		case "", ".":
			continue
		case "..":
			if !at.up() {
				return "", r.errEscapes
			}
			continue
		}
		dir, err := at.dir()
		var info fs.FileInfo
		if err == nil {
			info, err = dir.Lstat(element)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			name := path.Join(at.String(), element)
			if err := MissingError(r.Dir, name, err); !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
			return path.Join(name, path.Join(rest...)), nil
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			at.down(element)
			continue
		}
		if links++; links > maxLinks {
			return "", syscall.ELOOP
		}
		target, err := dir.Readlink(element)
		if errors.Is(err, syscall.EINVAL) {
			target, err = element, nil // no longer a link: check again
		}
		if err != nil {
			return "", err
		}
		if absolute(target) {
			return "", r.errEscapes
		}
		if err := checkName(path.Clean(filepath.ToSlash(target))); err != nil {
			return "", err
		}
		rest = slices.Concat(strings.Split(filepath.ToSlash(target), "/"), rest)
	}
	return at.String(), nil
}

// resolveParent is like resolve, but does not follow the last element.
func (r *Root) resolveParent(ctx context.Context, name string) (string, error) {
	dir, err := r.Resolve(ctx, path.Dir(name))
	return path.Join(dir, path.Base(name)), err
}

// Parent opens the parent directory of name, so that all later steps use the same directory even if
// its path changes. The caller closes it.
func (r *Root) Parent(name string, create bool) (*os.Root, error) {
	dir := path.Dir(name)
	if create {
		if err := r.Dir.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
	}
	return r.Dir.OpenRoot(AsDir(dir))
}

// AsDir spells the path of a directory so that opening it fails for any other file. Otherwise a
// named pipe in its place would block the open.
func AsDir(name string) string { return name + "/." }

// IsInside reports whether a path is inside a directory, which the path may spell differently.
func (r *Root) IsInside(name, dir string, info fs.FileInfo) bool {
	elements, depth := strings.Split(name, "/"), 1+strings.Count(dir, "/")
	if len(elements) <= depth {
		return false
	}
	ancestor := strings.Join(elements[:depth], "/")
	if r.Key(ancestor) != r.Key(dir) {
		return false
	}
	other, err := r.Dir.Lstat(ancestor)
	return err == nil && os.SameFile(info, other)
}

// Entry checks a path whose last element will be renamed or removed, and resolves its parent. It
// refuses the root itself.
func (r *Root) Entry(ctx context.Context, verb, asked string) (string, error) {
	name, err := r.Clean(asked)
	if err != nil {
		return "", err
	}
	if name == "." {
		return "", dispatch.Errorf(dispatch.PermissionDenied, "cannot %s %q: it is the root itself",
			verb, asked)
	}
	resolved, err := r.resolveParent(ctx, name)
	return resolved, r.Fail(verb, name, err)
}
