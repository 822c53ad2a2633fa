package fs

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/replace"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/rootdir"
	"github.com/stdwire/stdwire/dispatch"
)

var deleteSpec = dispatch.Spec{
	Name:        "fs.delete",
	Title:       "Delete file",
	Summary:     "Delete a file, a symbolic link or a directory.",
	Description: "Delete a file, a symbolic link, an empty directory or, with recursive, a directory and all that is in it. This cannot be undone. The root itself is not deleted.",
	Type:        dispatch.Destructive,
	Idempotent:  true,
	Timeout:     time.Minute,
	Gate:        dispatch.GateWrite,
	Examples: []dispatch.Example{
		{Summary: "A directory and all that is in it",
			Input: json.RawMessage(`{"path":"build","recursive":true}`)}},
}

// DeleteInput are the arguments of fs.delete.
type DeleteInput struct {
	dispatch.Instance
	Path      string `json:"path" doc:"File or empty directory to delete, relative to the root. If it is a symbolic link, the link itself is deleted."`
	Recursive bool   `json:"recursive,omitempty" doc:"Delete a directory with all that is in it. Once begun, this cannot be cancelled."`
}

// DeleteOutput is the data of fs.delete.
type DeleteOutput struct {
	Path string `json:"path" doc:"The path deleted."`
	Type string `json:"type" enum:"file,dir,symlink,other"`
}

func (rs *Roots) delete(ctx context.Context, in DeleteInput) (out DeleteOutput, err error) {
	r, err := rs.instances.Get(in.Instance.Instance)
	if err != nil {
		return out, err
	}
	name, err := r.Entry(ctx, "delete", in.Path)
	if err != nil {
		return out, err
	}
	unlock, err := rs.locks.Lock(ctx, r, name)
	if err != nil {
		return out, err
	}
	defer unlock()
	info, err := r.Dir.Lstat(name)
	if err != nil {
		return out, r.Fail("delete", name, err)
	}
	remove := r.Dir.Remove
	if info.IsDir() && in.Recursive {
		remove = r.Dir.RemoveAll
	}
	err = replace.Retry(ctx, func() error { return remove(name) })
	if errors.Is(err, rootdir.ErrNotEmpty) && !in.Recursive {
		err = dispatch.Errorf(dispatch.StateError,
			"the directory %q is not empty; set recursive to delete all that is in it", name)
	}
	return DeleteOutput{name, rootdir.TypeOf(info.Mode())}, r.Fail("delete", name, err)
}
