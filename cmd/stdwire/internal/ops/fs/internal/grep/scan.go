package grep

import (
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/rootdir"
)

const (
	maxLineText = 400     // bytes of a line in a result
	sniffLength = 8 << 10 // bytes at the start of a file that distinguish text from binary
)

// maxResultText is the maximum text of a result in bytes; the last match of the last file may
// exceed it.
const maxResultText = 1 << 20

// A scanner finds matching lines in files. It is safe for concurrent use.
type scanner struct {
	root    *os.Root
	re      *regexp.Regexp
	context int // lines before and after
	limit   int // matches in a file
}

// scanResult is the result of scanning a file.
type scanResult struct {
	matches   []Match
	binary    bool // the file was not searched
	truncated bool // the file was not searched to its end
}

func (sc *scanner) scan(ctx context.Context, name string, slot *slot) (scanResult, error) {
	var result scanResult
	f, _, err := rootdir.OpenFile(sc.root, name, name)
	if err != nil {
		return result, err
	}
	defer f.Close()
	b := slot.from(f)
	head, err := b.Peek(sniffLength)
	if err != nil && err != io.EOF {
		return result, err
	}
	if result.binary = bytes.IndexByte(head, 0) >= 0; result.binary {
		return result, nil
	}

	before := ring{lines: make([][]byte, sc.context)}
	complete, size := 0, 0 // matches[complete:] still need lines after them
	for number := 1; ; number++ {
		result.truncated = len(result.matches) == sc.limit || size > maxResultText
		if result.truncated && complete == len(result.matches) {
			return result, nil
		}
		line, err := b.line()
		if err == io.EOF {
			return result, nil
		}
		if err != nil {
			return result, err
		}
		for i := complete; i < len(result.matches); i++ {
			m := &result.matches[i]
			m.After = append(m.After, crop(line, 0))
			size += len(m.After[len(m.After)-1])
			if len(m.After) == sc.context {
				complete++
			}
		}
		if result.truncated {
			continue
		}
		if at := findMatch(ctx, sc.re, line); at >= 0 {
			m := Match{Path: name, Line: number, Column: at + 1, Text: crop(line, at),
				Before: before.strings()}
			result.matches = append(result.matches, m)
			size += m.size()
			if sc.context == 0 {
				complete++
			}
		}
		before.push(line)
	}
}

// crop returns line, or the part of a long line around offset at, with … for omitted text.
func crop(line []byte, at int) string {
	if len(line) <= maxLineText {
		return strings.ToValidUTF8(string(line), string(utf8.RuneError))
	}
	start := max(0, min(at-maxLineText/4, len(line)-maxLineText))
	end := start + maxLineText
	for range utf8.UTFMax - 1 { // do not split a character
		if start > 0 && start < at && !utf8.RuneStart(line[start]) {
			start++
		}
		if end < len(line) && !utf8.RuneStart(line[end]) {
			end--
		}
	}
	text := strings.ToValidUTF8(string(line[start:end]), string(utf8.RuneError))
	if start > 0 {
		text = "…" + text
	}
	if end < len(line) {
		text += "…"
	}
	return text
}

// A ring holds copies of the starts of the last len(lines) lines.
type ring struct {
	lines [][]byte
	n     int // lines pushed so far
}

func (r *ring) push(line []byte) {
	if len(r.lines) > 0 {
		slot := &r.lines[r.n%len(r.lines)]
		// One more byte than crop returns, so that it sees that the line continues.
		*slot = append((*slot)[:0], line[:min(len(line), maxLineText+1)]...)
		r.n++
	}
}

// strings returns the lines, oldest first.
func (r *ring) strings() []string {
	var lines []string
	for i := max(0, r.n-len(r.lines)); i < r.n; i++ {
		lines = append(lines, crop(r.lines[i%len(r.lines)], 0))
	}
	return lines
}
