package fs

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

var moveSpec = dispatch.Spec{
	Name:        "fs.move",
	Title:       "Move file",
	Summary:     "Move or rename a file or directory within a root.",
	Description: "Move or rename a file or directory within a root. What is at the new path is not replaced, unless it is a file, overwrite is set, and that is confirmed.",
	Kind:        dispatch.Write,
	Errors:      []dispatch.Code{dispatch.ConfirmationRequired},
	Timeout:     time.Minute,
	Gate:        dispatch.GateWrite,
	Examples:    []dispatch.Example{{Summary: "Rename", Input: json.RawMessage(`{"from":"a.txt","to":"b.txt"}`)}},
}

// MoveInput are the arguments of fs.move.
type MoveInput struct {
	dispatch.Instance
	From       string `json:"from" doc:"File or directory to move, relative to the root. A symbolic link is moved itself."`
	To         string `json:"to" doc:"Its new path, relative to the root; not a directory to move it into."`
	Overwrite  bool   `json:"overwrite,omitempty" doc:"Replace a file that is there with the file that is moved. Directories are never replaced, and replace nothing."`
	CreateDirs bool   `json:"create_dirs,omitempty" doc:"Create the directories that are missing."`
}

// MoveOutput is the data of fs.move: the state it left.
type MoveOutput struct {
	Path     string `json:"path" doc:"Where it is now."`
	Type     string `json:"type" enum:"file,dir,symlink,other"`
	Replaced bool   `json:"replaced" doc:"Another file was there."`
}

func (rs *Roots) move(ctx context.Context, in MoveInput) (out MoveOutput, err error) {
	r, err := rs.instances.Get(in.Instance.Instance)
	if err != nil {
		return out, err
	}
	from, err := r.entry(ctx, "move", in.From)
	if err != nil {
		return out, err
	}
	to, err := r.entry(ctx, "move to", in.To)
	if err != nil {
		return out, err
	}
	switch {
	case from == to:
		return out, dispatch.Errorf(dispatch.InvalidInput, "from and to are the same path")
	case strings.HasPrefix(to, from+"/"):
		return out, intoItself(from)
	}
	unlock, err := rs.locks.lock(ctx, r, from, to)
	if err != nil {
		return out, err
	}
	defer unlock()
	info, err := r.dir.Lstat(from)
	if err != nil {
		return out, r.fail("move", from, err)
	}
	if r.leadsThrough(to, from, info) {
		return out, intoItself(from)
	}
	there, err := r.dir.Lstat(to)
	err = notFound(r.dir, to, err)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, r.fail("move to", to, err)
	}
	if in.CreateDirs {
		if err := r.dir.MkdirAll(path.Dir(to), 0o777); err != nil {
			return out, r.fail("create the directory of", to, err)
		}
	}
	rename := func() error {
		return retry(ctx, func() error { return r.dir.Rename(from, to) })
	}
	out = MoveOutput{Path: to, Type: typeOf(info.Mode()), Replaced: there != nil}
	switch {
	case there == nil:
		err = renameNew(ctx, r.dir, from, to)
	case os.SameFile(info, there) && r.key(from) == r.key(to):
		// One file, on a file system that does not tell case apart, or with a short name beside
		// its long one: only its name changes.
		out.Replaced = false
		err = rename()
	case there.IsDir():
		err = dispatch.Errorf(dispatch.StateError, "%q is a directory, which is never replaced; give the whole new path in to", to)
	case info.IsDir():
		err = dispatch.Errorf(dispatch.StateError, "%q exists already, and a directory replaces nothing", to)
	case !in.Overwrite:
		err = dispatch.Errorf(dispatch.StateError, "%q exists already; set overwrite to replace it", to)
	case os.SameFile(info, there):
		// Two links to one file, which rename would leave both.
		err = retry(ctx, func() error { return r.dir.Remove(from) })
	case keepsReadOnly && there.Mode().Perm()&0o222 == 0:
		err = markedReadOnly(to)
	default:
		if err = dispatch.Confirm(ctx, "This replaces %q and what is in it with %q.", to, from); err == nil {
			err = rename()
		}
	}
	if errors.Is(err, fs.ErrNotExist) && !in.CreateDirs {
		return out, dispatch.Errorf(dispatch.NotFound, "cannot move to %q: its directory does not exist; set create_dirs", to)
	}
	return out, r.fail("move to", to, err)
}

func intoItself(name string) error {
	return dispatch.Errorf(dispatch.InvalidInput, "cannot move %q into itself", name)
}

// leadsThrough reports whether a path goes on in a directory, which it may name in another way.
func (r *root) leadsThrough(name, dir string, info fs.FileInfo) bool {
	elements, depth := strings.Split(name, "/"), 1+strings.Count(dir, "/")
	if len(elements) <= depth {
		return false
	}
	around := strings.Join(elements[:depth], "/")
	if r.key(around) != r.key(dir) {
		return false
	}
	other, err := r.dir.Lstat(around)
	return err == nil && os.SameFile(info, other)
}

// entry checks a path whose last element is to be renamed or removed, and resolves what is before that. The root itself is refused.
func (r *root) entry(ctx context.Context, verb, asked string) (string, error) {
	name, err := r.clean(asked)
	if err != nil {
		return "", err
	}
	if name == "." {
		return "", dispatch.Errorf(dispatch.PermissionDenied, "cannot %s %q: it is the root itself", verb, asked)
	}
	resolved, err := r.resolveParent(ctx, name)
	return resolved, r.fail(verb, name, err)
}
