package fs

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/rootdir"
	"github.com/stdwire/stdwire/dispatch"
)

var statSpec = dispatch.Spec{
	Name:        "fs.stat",
	Title:       "Look at file",
	Summary:     "Tell the type, size, mode and time of a file or directory.",
	Description: "Tell what a path is: type, size, mode, time of the last change and, of a symbolic link, where it leads. It fails with not_found if there is nothing.",
	Type:        dispatch.Read,
	Idempotent:  true,
	Timeout:     time.Minute,
	Examples: []dispatch.Example{
		{Summary: "A file", Input: json.RawMessage(`{"path":"go.mod"}`)}},
}

// StatInput are the arguments of fs.stat.
type StatInput struct {
	dispatch.Instance
	Path string `json:"path" doc:"What to look at, relative to the root."`
}

// StatOutput is the data of fs.stat.
type StatOutput struct {
	Path     string    `json:"path"`
	Type     string    `json:"type" enum:"file,dir,symlink,other"`
	Size     int64     `json:"size" doc:"In bytes."`
	Mode     string    `json:"mode" doc:"Unix permission bits, in octal."`
	Modified time.Time `json:"modified"`
	Target   string    `json:"target,omitempty" doc:"The target of a symbolic link, which need not exist."`
}

func (rs *Roots) stat(_ context.Context, in StatInput) (out StatOutput, err error) {
	r, name, err := rs.locate(in.Instance.Instance, in.Path)
	if err != nil {
		return out, err
	}
	info, err := r.Dir.Lstat(name)
	if err != nil {
		return out, r.Fail("look at", name, err)
	}
	out = StatOutput{
		Path: name, Type: rootdir.TypeOf(info.Mode()), Size: info.Size(),
		Mode: fmt.Sprintf("%04o", info.Mode().Perm()), Modified: rootdir.ModTime(info),
	}
	if info.Mode().Type() == fs.ModeSymlink {
		out.Target, err = r.Dir.Readlink(name)
	}
	return out, r.Fail("look at", name, err)
}
