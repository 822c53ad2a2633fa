package fs

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/replace"
	"github.com/stdwire/stdwire/dispatch"
)

var writeSpec = dispatch.Spec{
	Name:    "fs.write",
	Title:   "Write file",
	Summary: "Create a file, or replace all of its content.",
	Description: "Create a file, or replace all of its content, in one step: it is never seen half written, and a failure leaves it as it was. " +
		"Pass if_sha256 with the sha256 that fs.read returned to be sure that nobody else changed it since; if somebody did, it fails with state_error and the present sha256 in details. " +
		"Without it, replacing a file has to be confirmed.",
	Type:       dispatch.Write,
	Errors:     []dispatch.Code{dispatch.ConfirmationRequired},
	Idempotent: true,
	Timeout:    time.Minute,
	Gate:       dispatch.GateWrite,
	Examples: []dispatch.Example{
		{Summary: "A new file, in directories that may be missing",
			Input: json.RawMessage(
				`{"path":"docs/notes.md","content":"# Notes\n","if_sha256":"absent","create_dirs":true}`)},
	},
}

// WriteInput are the arguments of fs.write.
type WriteInput struct {
	dispatch.Instance
	Path       string `json:"path" doc:"File to write, relative to the root. If it is a symbolic link, what it leads to is written."`
	Content    string `json:"content" doc:"All of the new content."`
	Encoding   string `json:"encoding,omitempty" doc:"Form of content." enum:"text,base64" default:"text"`
	IfSHA256   string `json:"if_sha256,omitempty" doc:"Write only if this is the SHA-256 of the file now; absent: only if there is no such file." pattern:"^(absent|[0-9A-Fa-f]{64})$"`
	CreateDirs bool   `json:"create_dirs,omitempty" doc:"Create the directories that are missing."`
}

// WriteOutput is the data of fs.write: the new state of the file.
type WriteOutput struct {
	Path    string `json:"path" doc:"The file written, links resolved."`
	Size    int64  `json:"size" doc:"In bytes."`
	SHA256  string `json:"sha256"`
	Created bool   `json:"created" doc:"There was no such file before."`
}

func (rs *Roots) write(ctx context.Context, in WriteInput) (out WriteOutput, err error) {
	data, err := decode(in.Content, in.Encoding)
	if err != nil {
		return out, err
	}
	err = rs.change(ctx, in.Instance, in.Path, in.CreateDirs, func(p *replace.Replacement) error {
		if p.Want = in.IfSHA256; p.Want == "" {
			if err := confirmReplacement(ctx, p); err != nil {
				return err
			}
		}
		created, err := p.Do(ctx, data)
		out = WriteOutput{Path: p.Shown, Size: int64(len(data)), SHA256: replace.HexSum(data),
			Created: created}
		return err
	})
	return out, err
}

// confirmReplacement asks for confirmation if the file exists, because the caller has not proved
// that it knows its content.
func confirmReplacement(ctx context.Context, p *replace.Replacement) error {
	old, err := p.Check(ctx)
	if err != nil || old == nil {
		return err
	}
	return dispatch.Confirm(ctx, "This replaces %q and what is in it.", p.Shown)
}

// change locks a file and calls fn to replace it.
func (rs *Roots) change(ctx context.Context, on dispatch.Instance, asked string, createDirs bool,
	fn func(*replace.Replacement) error) error {
	r, asked, err := rs.locate(on.Instance, asked)
	if err != nil {
		return err
	}
	name, err := r.Resolve(ctx, asked)
	if err != nil {
		return r.Fail("write", asked, err)
	}
	if name == "." {
		return dispatch.Errorf(dispatch.StateError, "%q is a directory", asked)
	}
	unlock, err := rs.locks.Lock(ctx, r, name)
	if err != nil {
		return err
	}
	defer unlock()
	dir, err := r.Parent(name, createDirs)
	if errors.Is(err, fs.ErrNotExist) {
		return dispatch.Errorf(dispatch.NotFound,
			"cannot write %q: its directory does not exist; create_dirs of fs.write creates it",
			asked)
	}
	if err != nil {
		return r.Fail("write", asked, err)
	}
	defer dir.Close()
	base := r.StoredName(dir, name)
	p := &replace.Replacement{Dir: dir, Base: base, Shown: path.Join(path.Dir(name), base)}
	return r.Fail("write", asked, fn(p))
}
