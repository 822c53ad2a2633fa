package fs

import (
	"context"
	"encoding/json"
	"io/fs"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/glob"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/grep"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/rootdir"
	"github.com/stdwire/stdwire/dispatch"
)

var searchSpec = dispatch.Spec{
	Name:    "fs.search",
	Title:   "Search files",
	Summary: "Find the lines that match a regular expression, in a file or in all files below a directory.",
	Description: "Find the lines that match a regular expression (RE2) or, with literal, hold a text, in one file or all files below a directory. " +
		"Binary files, symbolic links and .git directories are left out. Of a line, the first 256 KiB are searched.",
	Type:       dispatch.Read,
	Idempotent: true,
	Timeout:    2 * time.Minute,
	Examples: []dispatch.Example{
		{Summary: "Go functions named Open…",
			Input: json.RawMessage(`{"pattern":"^func (\\(.*\\) )?Open","glob":"*.go"}`)},
		{Summary: "A text, with the lines around it",
			Input: json.RawMessage(`{"pattern":"TODO(","literal":true,"context":2}`)},
	},
}

// SearchInput are the arguments of fs.search.
type SearchInput struct {
	dispatch.Instance
	Pattern         string   `json:"pattern" doc:"Regular expression (RE2), matched against one line at a time." minLength:"1" maxLength:"4096"`
	Literal         bool     `json:"literal,omitempty" doc:"Take pattern as plain text."`
	CaseInsensitive bool     `json:"case_insensitive,omitempty" doc:"Do not tell upper from lower case."`
	Path            string   `json:"path,omitempty" doc:"Directory or file to search, relative to the root." default:"."`
	Glob            string   `json:"glob,omitempty" doc:"Search only files that match: *.go by name at any depth, or src/**/*.{ts,tsx} by path from the directory searched." maxLength:"1024"`
	Exclude         []string `json:"exclude,omitempty" doc:"Globs of files to leave out, and directories not to enter: node_modules." maxItems:"32"`
	Context         int      `json:"context,omitempty" doc:"How many lines to return before and after each match." min:"0" max:"10"`
	MaxResults      int      `json:"max_results,omitempty" doc:"How many matching lines to return at most." default:"200" min:"1" max:"2000"`
}

func (rs *Roots) search(ctx context.Context, in SearchInput) (out grep.Output, err error) {
	r, name, err := rs.locate(in.Instance.Instance, in.Path)
	if err != nil {
		return out, err
	}
	match, exclude, err := glob.Compile(in.Glob, in.Exclude)
	if err != nil {
		return out, err
	}
	re, err := grep.Compile(in.Pattern, in.Literal, in.CaseInsensitive)
	if err != nil {
		return out, err
	}
	info, err := r.Dir.Stat(name)
	if err != nil {
		return out, r.Fail("search", name, err)
	}
	if err := dispatch.Reserve(ctx, rs.slots.Memory()); err != nil {
		return out, err
	}
	s := rs.slots.Search(ctx, r.Dir, re, in.Context, in.MaxResults)
	defer s.Stop()
	if !info.IsDir() {
		if err := rootdir.CheckRegular(name, info.Mode()); err != nil {
			return out, err
		}
		if err := s.Add(name); err != nil {
			return out, r.Fail("search", name, err)
		}
		return s.Finish()
	}
	w := walk{root: r, limits: defaultWalkLimits, recursive: true, exclude: exclude}
	w.visit = func(name, relative string, entry fs.DirEntry) error {
		if !entry.Type().IsRegular() || !match.Match(relative) {
			return nil
		}
		return s.Add(name)
	}
	if err := w.from(ctx, name); err != nil {
		return out, r.Fail("search", name, err)
	}
	out, err = s.Finish()
	out.Skipped += w.skipped
	out.Truncated = out.Truncated || w.truncated
	return out, err
}
