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

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/replace"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/rootdir"
	"github.com/stdwire/stdwire/dispatch"
)

var moveSpec = dispatch.Spec{
	Name:        "fs.move",
	Title:       "Move file",
	Summary:     "Move or rename a file or directory within a root.",
	Description: "Move or rename a file or directory within a root. What is at the new path is not replaced, unless it is a file, overwrite is set, and that is confirmed.",
	Type:        dispatch.Write,
	Errors:      []dispatch.Code{dispatch.ConfirmationRequired},
	Timeout:     time.Minute,
	Gate:        dispatch.GateWrite,
	Examples: []dispatch.Example{
		{Summary: "Rename", Input: json.RawMessage(`{"from":"a.txt","to":"b.txt"}`)}},
}

// MoveInput are the arguments of fs.move.
type MoveInput struct {
	dispatch.Instance
	From       string `json:"from" doc:"File or directory to move, relative to the root. If it is a symbolic link, the link itself is moved."`
	To         string `json:"to" doc:"Its new path, relative to the root; not a directory to move it into."`
	Overwrite  bool   `json:"overwrite,omitempty" doc:"Replace a file that is there with the file that is moved. Directories are never replaced, and replace nothing."`
	CreateDirs bool   `json:"create_dirs,omitempty" doc:"Create the directories that are missing."`
}

// MoveOutput is the data of fs.move.
type MoveOutput struct {
	Path     string `json:"path" doc:"The new path."`
	Type     string `json:"type" enum:"file,dir,symlink,other"`
	Replaced bool   `json:"replaced" doc:"Another file was there."`
}

func (rs *Roots) move(ctx context.Context, in MoveInput) (out MoveOutput, err error) {
	r, err := rs.instances.Get(in.Instance.Instance)
	if err != nil {
		return out, err
	}
	from, err := r.Entry(ctx, "move", in.From)
	if err != nil {
		return out, err
	}
	to, err := r.Entry(ctx, "move to", in.To)
	if err != nil {
		return out, err
	}
	switch {
	case from == to:
		return out, dispatch.Errorf(dispatch.InvalidInput, "from and to are the same path")
	case strings.HasPrefix(to, from+"/"):
		return out, intoItself(from)
	}
	unlock, err := rs.locks.Lock(ctx, r, from, to)
	if err != nil {
		return out, err
	}
	defer unlock()
	info, err := r.Dir.Lstat(from)
	if err != nil {
		return out, r.Fail("move", from, err)
	}
	if r.IsInside(to, from, info) {
		return out, intoItself(from)
	}
	existing, err := r.Dir.Lstat(to)
	err = rootdir.MissingError(r.Dir, to, err)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, r.Fail("move to", to, err)
	}
	if in.CreateDirs {
		if err := r.Dir.MkdirAll(path.Dir(to), 0o777); err != nil {
			return out, r.Fail("create the directory of", to, err)
		}
	}
	rename := func() error {
		return replace.Retry(ctx, func() error { return r.Dir.Rename(from, to) })
	}
	out = MoveOutput{Path: to, Type: rootdir.TypeOf(info.Mode()), Replaced: existing != nil}
	switch {
	case existing == nil:
		err = replace.RenameNew(ctx, r.Dir, from, to)
	case os.SameFile(info, existing) && r.Key(from) == r.Key(to):
		// Both names are of one file, on a case-insensitive file system or with a short name: only
		// the name changes.
		out.Replaced = false
		err = rename()
	case existing.IsDir():
		err = dispatch.Errorf(dispatch.StateError,
			"%q is a directory, which is never replaced; give the whole new path in to", to)
	case info.IsDir():
		err = dispatch.Errorf(dispatch.StateError,
			"%q exists already, and a directory replaces nothing", to)
	case !in.Overwrite:
		err = dispatch.Errorf(dispatch.StateError, "%q exists already; set overwrite to replace it",
			to)
	case os.SameFile(info, existing):
		// Two hard links to one file; rename would do nothing.
		err = replace.Retry(ctx, func() error { return r.Dir.Remove(from) })
	case replace.ReadOnlyBlocksReplace && existing.Mode().Perm()&0o222 == 0:
		err = replace.MarkedReadOnly(to)
	default:
		if err = dispatch.Confirm(ctx, "This replaces %q and what is in it with %q.", to,
			from); err == nil {
			err = rename()
		}
	}
	if errors.Is(err, fs.ErrNotExist) && !in.CreateDirs {
		return out, dispatch.Errorf(dispatch.NotFound,
			"cannot move to %q: its directory does not exist; set create_dirs", to)
	}
	return out, r.Fail("move to", to, err)
}

func intoItself(name string) error {
	return dispatch.Errorf(dispatch.InvalidInput, "cannot move %q into itself", name)
}
