package fs

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/glob"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/rootdir"
	"github.com/stdwire/stdwire/dispatch"
)

var listSpec = dispatch.Spec{
	Name:        "fs.list",
	Title:       "List directory",
	Summary:     "List what is in a directory, or in the whole tree below it.",
	Description: "List what is in a directory: path, type, size and time of the last change. With recursive, what is below it too.",
	Type:        dispatch.Read,
	Idempotent:  true,
	Timeout:     time.Minute,
	Examples: []dispatch.Example{
		{Summary: "The root", Input: json.RawMessage(`{}`)},
		{Summary: "All TypeScript files",
			Input: json.RawMessage(
				`{"recursive":true,"glob":"*.{ts,tsx}","exclude":["node_modules"]}`)},
	},
}

// ListInput are the arguments of fs.list.
type ListInput struct {
	dispatch.Instance
	Path      string   `json:"path,omitempty" doc:"Directory to list, relative to the root." default:"."`
	Recursive bool     `json:"recursive,omitempty" doc:"List what is in its directories too. Links are not followed, .git is not entered."`
	Glob      string   `json:"glob,omitempty" doc:"List only what matches: *.go by name at any depth, or src/**/*.{ts,tsx} by path from the directory listed." maxLength:"1024"`
	Exclude   []string `json:"exclude,omitempty" doc:"Globs of what to leave out, and not to enter: node_modules." maxItems:"32"`
	Limit     int      `json:"limit,omitempty" doc:"How many entries to return at most." default:"1000" min:"1" max:"10000"`
}

// ListOutput is the data of fs.list.
type ListOutput struct {
	Entries   []Entry `json:"entries" doc:"In the order of their names; what is in a directory follows it."`
	Truncated bool    `json:"truncated" doc:"There is more; ask for a directory below, use glob or exclude, or raise limit."`
	Skipped   int     `json:"skipped,omitempty" doc:"How many more entries could not be read."`
}

// An Entry is an entry of a directory.
type Entry struct {
	Path     string    `json:"path" doc:"Relative to the root."`
	Type     string    `json:"type" enum:"file,dir,symlink,other"`
	Size     int64     `json:"size" doc:"In bytes."`
	Modified time.Time `json:"modified"`
}

func (rs *Roots) list(ctx context.Context, in ListInput) (out ListOutput, err error) {
	r, name, err := rs.locate(in.Instance.Instance, in.Path)
	if err != nil {
		return out, err
	}
	match, exclude, err := glob.Compile(in.Glob, in.Exclude)
	if err != nil {
		return out, err
	}
	if info, err := r.Dir.Stat(name); err != nil {
		return out, r.Fail("list", name, err)
	} else if !info.IsDir() {
		return out, dispatch.Errorf(dispatch.StateError, "%q is not a directory", name)
	}
	out.Entries = []Entry{}
	w := walk{root: r, limits: defaultWalkLimits, recursive: in.Recursive, exclude: exclude}
	w.visit = func(name, relative string, _ fs.DirEntry) error {
		if !match.Match(relative) {
			return nil
		}
		if len(out.Entries) == in.Limit {
			out.Truncated = true
			return fs.SkipAll
		}
		info, err := r.Dir.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil {
			w.skipped++
			return nil
		}
		out.Entries = append(out.Entries,
			Entry{name, rootdir.TypeOf(info.Mode()), info.Size(), rootdir.ModTime(info)})
		return nil
	}
	err = w.from(ctx, name)
	out.Truncated = out.Truncated || w.truncated
	out.Skipped = w.skipped
	return out, r.Fail("list", name, err)
}
