package fs

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/rootdir"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/printable"
)

// maxHashed is the maximum size of a file for which reading any part also returns the hash of the
// whole.
const maxHashed = 64 << 20

// reserveAbove is the size of a response, in bytes, above which memory is reserved for it.
const reserveAbove = 1 << 20

var readSpec = dispatch.Spec{
	Name:    "fs.read",
	Title:   "Read file",
	Summary: "Read a file, or a range of its lines or bytes, as text or base64.",
	Description: "Read a file, as text or, if it is not UTF-8, as base64. Without a range the start of the file is returned, up to max_bytes. " +
		"If truncated is set, go on with start_line = next_line or offset = next_offset. Only regular files are read.",
	Type:       dispatch.Read,
	Idempotent: true,
	Timeout:    time.Minute,
	Examples: []dispatch.Example{
		{Summary: "The start of a file", Input: json.RawMessage(`{"path":"README.md"}`)},
		{Summary: "Lines 100 to 119",
			Input: json.RawMessage(`{"path":"main.go","start_line":100,"lines":20}`)},
	},
	Text: readText,
}

// ReadInput are the arguments of fs.read.
type ReadInput struct {
	dispatch.Instance
	Path      string `json:"path" doc:"File to read, relative to the root."`
	StartLine int64  `json:"start_line,omitempty" doc:"First line to return, counted from 1. Not together with offset." min:"1"`
	Offset    int64  `json:"offset,omitempty" doc:"First byte to return, counted from 0. Not together with start_line." min:"0"`
	Lines     int64  `json:"lines,omitempty" doc:"How many lines to return. All if left out." min:"1"`
	MaxBytes  int    `json:"max_bytes,omitempty" doc:"How many bytes of the file to return at most." default:"262144" min:"4" max:"10485760"`
	Encoding  string `json:"encoding,omitempty" doc:"Form of content. auto: text if it is UTF-8 without NUL, else base64." enum:"auto,text,base64" default:"auto"`
}

// ReadOutput is the data of fs.read.
type ReadOutput struct {
	Path       string    `json:"path"`
	Size       int64     `json:"size" doc:"Of the whole file, in bytes."`
	Modified   time.Time `json:"modified"`
	SHA256     string    `json:"sha256,omitempty" doc:"Of the whole file, for if_sha256. Left out if the file is over 64 MiB."`
	Encoding   string    `json:"encoding" enum:"text,base64"`
	Truncated  bool      `json:"truncated" doc:"The file continues after content."`
	NextLine   int64     `json:"next_line,omitempty" doc:"If truncated at the end of a line: start_line of what follows."`
	NextOffset int64     `json:"next_offset,omitempty" doc:"If truncated: offset of what follows."`
	Content    string    `json:"content"`
}

// readText returns the content of a text file as it is, so that a model gets it without escapes. It
// returns "" for base64 and for no content: the JSON of the data then says more.
func readText(out ReadOutput) string {
	switch {
	case out.Encoding != "text":
		return ""
	case out.Truncated && out.NextLine > 0:
		return fmt.Sprintf("%s[truncated: go on with start_line = %d]", out.Content, out.NextLine)
	case out.Truncated:
		return fmt.Sprintf("%s\n[truncated: go on with offset = %d]", out.Content, out.NextOffset)
	}
	return out.Content
}

func (rs *Roots) read(ctx context.Context, in ReadInput) (out ReadOutput, err error) {
	if in.StartLine > 0 && in.Offset > 0 {
		return out, dispatch.Errorf(dispatch.InvalidInput,
			"start_line and offset both say where to start; give one of them")
	}
	r, name, err := rs.locate(in.Instance.Instance, in.Path)
	if err != nil {
		return out, err
	}
	f, info, err := rootdir.OpenFile(r.Dir, name, name)
	if err != nil {
		return out, r.Fail("read", name, err)
	}
	defer f.Close()
	out = ReadOutput{Path: name, Size: info.Size(), Modified: rootdir.ModTime(info)}

	if n := min(info.Size()-in.Offset, int64(in.MaxBytes)); n > reserveAbove {
		if err := dispatch.Reserve(ctx, 4*n); err != nil {
			// the bytes, their text, its JSON, and the response
			return out, err
		}
	}
	var source io.Reader = rootdir.WithContext(ctx, f)
	hash := sha256.New()
	hashed := info.Size() <= maxHashed
	if hashed {
		source = io.TeeReader(source, hash)
	} else if in.Offset > 0 {
		if _, err := f.Seek(in.Offset, io.SeekStart); err != nil {
			return out, r.Fail("read", name, err)
		}
	}
	p := fileRange{Reader: bufio.NewReaderSize(source, 64<<10), start: in.Offset}
	switch {
	case in.StartLine > 1:
		err = p.skipLines(in.StartLine - 1)
	case in.Offset > 0 && hashed:
		_, err = io.CopyN(io.Discard, p, in.Offset)
	}
	if err == nil {
		err = p.take(in.Lines, in.MaxBytes)
	}
	if err != nil && err != io.EOF {
		return out, r.Fail("read", name, err)
	}
	if hashed {
		// The limit ends the copy of a file that keeps growing.
		rest, err := io.Copy(io.Discard, io.LimitReader(p, maxHashed))
		if err != nil {
			return out, r.Fail("read", name, err)
		}
		if rest < maxHashed {
			out.SHA256 = hex.EncodeToString(hash.Sum(nil))
		}
	}
	return out, p.fill(&out, in)
}

// A fileRange is the requested range of a file.
type fileRange struct {
	*bufio.Reader
	start int64 // offset of data in the file
	data  []byte
	full  bool // data ends at the limit of bytes
	more  bool // the file continues after data
}

func (p *fileRange) skipLines(n int64) error {
	for n > 0 {
		line, err := p.ReadSlice('\n')
		p.start += int64(len(line))
		switch err {
		case nil:
			n--
		case bufio.ErrBufferFull:
		default:
			return err
		}
	}
	return nil
}

// take reads a number of lines, or all for 0, up to limit bytes.
func (p *fileRange) take(lines int64, limit int) error {
	var err error
	for err == nil && len(p.data) <= limit {
		var line []byte
		line, err = p.ReadSlice('\n')
		p.data = append(p.data, line...)
		if err == nil {
			if lines--; lines == 0 {
				break
			}
		} else if err == bufio.ErrBufferFull {
			err = nil
		}
	}
	if len(p.data) > limit {
		p.data, p.full, p.more = p.data[:limit], true, true
	}
	if err == nil && !p.more {
		_, err = p.Peek(1)
		p.more = err == nil
	}
	return err
}

// fill sets the fields of out that describe the range.
func (p *fileRange) fill(out *ReadOutput, in ReadInput) error {
	data := p.data
	whole := data // without a character truncated by the limit
	if p.full {
		whole = printable.TrimPartialRune(data)
	}
	text := utf8.Valid(whole) && bytes.IndexByte(whole, 0) < 0
	if in.Encoding == "text" && !text {
		return dispatch.Errorf(dispatch.StateError,
			"the requested part of %q is not UTF-8 text; read it with encoding base64", out.Path)
	}
	byLine := in.Offset == 0
	if in.Encoding == "base64" || !text {
		out.Encoding, out.Content = "base64", base64.StdEncoding.EncodeToString(data)
	} else {
		data = whole
		if end := bytes.LastIndexByte(data, '\n') + 1; p.full && byLine && end > 0 {
			data = data[:end]
		}
		out.Encoding, out.Content = "text", string(data)
	}
	if out.Truncated = p.more; p.more {
		out.NextOffset = p.start + int64(len(data))
		if byLine && bytes.HasSuffix(data, []byte("\n")) {
			out.NextLine = max(in.StartLine, 1) + int64(bytes.Count(data, []byte("\n")))
		}
	}
	return nil
}

// decode decodes the content of an input, which is text or base64.
func decode(content, encoding string) ([]byte, error) {
	if encoding != "base64" {
		return []byte(content), nil
	}
	data, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		return nil, dispatch.Errorf(dispatch.InvalidInput, "content is not base64: %w", err)
	}
	return data, nil
}
