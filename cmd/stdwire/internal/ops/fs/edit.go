package fs

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/replace"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/rootdir"
	"github.com/stdwire/stdwire/dispatch"
)

const (
	maxEditSize    = 10 << 20 // bytes of a file, before and after the edit
	maxListedLines = 20       // maximum number of lines in a result
)

var editSpec = dispatch.Spec{
	Name:    "fs.edit",
	Title:   "Edit file",
	Summary: "Replace a piece of text in a file with another.",
	Description: "Replace old with new in a file, in one step. If old is missing, or occurs more than once and all is not set, nothing is changed and the error is state_error, " +
		"which says what is similar, or on which lines old is.",
	Type:    dispatch.Write,
	Timeout: time.Minute,
	Gate:    dispatch.GateWrite,
	Examples: []dispatch.Example{
		{Summary: "One line",
			Input: json.RawMessage(
				`{"path":"main.go","old":"const limit = 10\n","new":"const limit = 20\n"}`)}},
}

// EditInput are the arguments of fs.edit.
type EditInput struct {
	dispatch.Instance
	Path     string `json:"path" doc:"File to edit, relative to the root, at most 10 MiB."`
	Old      string `json:"old" doc:"Text to replace, exactly as in the file, white space and line ends included. It must be there once, unless all is set; add lines around it to make it unique." minLength:"1"`
	New      string `json:"new" doc:"Text to put in its place."`
	All      bool   `json:"all,omitempty" doc:"Replace every occurrence, from the start of the file on."`
	IfSHA256 string `json:"if_sha256,omitempty" doc:"Edit only if this is the SHA-256 of the file now." pattern:"^[0-9A-Fa-f]{64}$"`
}

// EditOutput is the data of fs.edit: the new state of the file.
type EditOutput struct {
	Path         string `json:"path" doc:"The file edited, links resolved."`
	Size         int64  `json:"size" doc:"In bytes."`
	SHA256       string `json:"sha256"`
	Replacements int    `json:"replacements"`
	Lines        []int  `json:"lines" doc:"Where the new text starts, for the first 20 replacements."`
}

func (rs *Roots) edit(ctx context.Context, in EditInput) (out EditOutput, err error) {
	if in.Old == in.New {
		return out, dispatch.Errorf(dispatch.InvalidInput, "old and new are the same")
	}
	err = rs.change(ctx, in.Instance, in.Path, false, func(p *replace.Replacement) error {
		data, err := content(ctx, p)
		if err != nil {
			return err
		}
		p.Want = replace.HexSum(data) // the file must not change between reading and replacing
		if in.IfSHA256 != "" && !strings.EqualFold(in.IfSHA256, p.Want) {
			return p.Mismatch(p.Want)
		}
		old, replacement := []byte(in.Old), []byte(in.New)
		at, err := occurrences(p, data, old, len(replacement), in.All)
		if err != nil {
			return err
		}
		edited := substitute(data, at, len(old), replacement)
		if _, err := p.Do(ctx, edited); err != nil {
			return err
		}
		out = EditOutput{Path: p.Shown, Size: int64(len(edited)), SHA256: replace.HexSum(edited),
			Replacements: len(at)}
		for i, offset := range at[:min(len(at), maxListedLines)] {
			out.Lines = append(out.Lines, lineAt(edited, offset+i*(len(replacement)-len(old))))
		}
		return nil
	})
	return out, err
}

// content reads the whole file.
func content(ctx context.Context, p *replace.Replacement) ([]byte, error) {
	f, info, err := rootdir.OpenFile(p.Dir, p.Base, p.Shown)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if n := min(info.Size(), maxEditSize); n > reserveAbove {
		if err := dispatch.Reserve(ctx, 3*n); err != nil {
			// the content, its buffer that grows, and the new content
			return nil, err
		}
	}
	data, err := io.ReadAll(io.LimitReader(rootdir.WithContext(ctx, f), maxEditSize+1))
	if err == nil && len(data) > maxEditSize {
		return nil, dispatch.Errorf(dispatch.StateError, "%q has over %d bytes, too many to edit",
			p.Shown, maxEditSize)
	}
	return data, err
}

// occurrences returns the offsets at which to replace old by newSize bytes: a unique one, or, if
// all is set, all that do not overlap.
func occurrences(p *replace.Replacement, data, old []byte, newSize int, all bool) ([]int, error) {
	var at []int
	size := len(data)
	for from := 0; ; {
		i := bytes.Index(data[from:], old)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		if size += newSize - len(old); size > maxEditSize && newSize > len(old) {
			return nil, dispatch.Errorf(dispatch.StateError, "%q would have over %d bytes", p.Shown,
				maxEditSize)
		}
		if from += i + len(old); !all {
			from = at[len(at)-1] + 1 // overlapping occurrences are not unique either
		}
	}
	switch {
	case len(at) == 0:
		return nil, dispatch.Errorf(dispatch.StateError, "old is not in %q: %s", p.Shown,
			explainNoMatch(data, old))
	case len(at) > 1 && !all:
		var lines []int
		for _, offset := range at[:min(len(at), maxListedLines)] {
			lines = append(lines, lineAt(data, offset))
		}
		return nil, dispatch.Errorf(dispatch.StateError,
			"old is %d times in %q; add text around it to make it unique, or set all", len(at),
			p.Shown).
			With(map[string]any{"occurrences": len(at), "lines": lines})
	}
	return at, nil
}

func substitute(data []byte, at []int, oldSize int, replacement []byte) []byte {
	out := make([]byte, 0, len(data)+len(at)*(len(replacement)-oldSize))
	from := 0
	for _, offset := range at {
		out = append(append(out, data[from:offset]...), replacement...)
		from = offset + oldSize
	}
	return append(out, data[from:]...)
}

// lineAt returns the number of the line at an offset, counted from 1.
func lineAt(data []byte, offset int) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }
