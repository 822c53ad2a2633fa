package fs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/grep"
	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

// shown formats matches as "path:line:column:text".
func shown(matches []grep.Match) string {
	var lines []string
	for _, m := range matches {
		lines = append(lines, fmt.Sprintf("%s:%d:%d:%s", m.Path, m.Line, m.Column, m.Text))
	}
	return strings.Join(lines, "\n")
}

const (
	sniffLength   = 8 << 10   // bytes that distinguish text from binary
	maxLine       = 256 << 10 // bytes of a line that are searched
	maxLineText   = 400       // bytes of a line in a result
	maxResultText = 1 << 20   // bytes of text in a result
)

func TestSearch(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{
		"a.go":   "package a\n\nfunc Open() {}\nfunc open() {}\n",
		"b/c.go": "// Open (a.b)\r\nOpen\r\n", "b/d.txt": "no end: Open",
		"bin": "Open\n\x00", "late": strings.Repeat("x\n", sniffLength) + "Open\x00\n",
		"latin1": "caf\xe9 Open\n",
		".git/x": "Open", "empty": "",
	})
	for _, test := range []struct {
		args, want string
	}{
		{`{"pattern":"Open"}`,
			"a.go:3:6:func Open() {}\nb/c.go:1:4:// Open (a.b)\nb/c.go:2:1:Open\nb/d.txt:1:9:no end: Open\nlate:8193:1:Open\x00\nlatin1:1:6:caf\ufffd Open"},
		{`{"pattern":"^open|end","case_insensitive":true,"path":"b"}`,
			"b/c.go:2:1:Open\nb/d.txt:1:4:no end: Open"},
		// the line end is not part of the line
		{`{"pattern":"n$","glob":"*.go"}`, "b/c.go:2:4:Open"},
		{`{"pattern":"^func (Open|close)","path":"a.go"}`, "a.go:3:1:func Open() {}"},
		{`{"pattern":"(a.b)","literal":true}`, "b/c.go:1:9:// Open (a.b)"},
		{`{"pattern":"PACKAGE A","literal":true,"case_insensitive":true}`, "a.go:1:1:package a"},
		{`{"pattern":"Open","glob":"b/*","exclude":["*.go"]}`, "b/d.txt:1:9:no end: Open"},
		{`{"pattern":"Open","path":".git"}`, ".git/x:1:1:Open"},
		{`{"pattern":"Open\\n"}`, ""},
		{`{"pattern":"^$","path":"a.go"}`, "a.go:2:1:"},
		{`{"pattern":"nowhere"}`, ""},
	} {
		t.Run(test.args, func(t *testing.T) {
			out := run[grep.Output](t, s, "fs.search", test.args)
			assert.Equal(t, shown(out.Matches), test.want)
			assert.Equal(t, out.Truncated, false)
			assert.Equal(t, out.Skipped, 0)
		})
	}
	assert.Equal(t, run[grep.Output](t, s, "fs.search", `{"pattern":"nowhere"}`).Searched, 6,
		"all but the binary one")

	fails(t, s, "fs.search", `{"pattern":"("}`, dispatch.InvalidInput, "missing closing )")
	fails(t, s, "fs.search", `{"pattern":"a)(b","case_insensitive":true}`, dispatch.InvalidInput,
		"unexpected )")
	fails(t, s, "fs.search", `{"pattern":"(x{1000}){1000}"}`, dispatch.InvalidInput, "pattern")
	fails(t, s, "fs.search", `{"pattern":""}`, dispatch.InvalidInput, "pattern")
	fails(t, s, "fs.search", `{"pattern":"a","context":11}`, dispatch.InvalidInput, "context")
	fails(t, s, "fs.search", `{"pattern":"a","path":"gone"}`, dispatch.NotFound, "does not exist")
	fails(t, s, "fs.search", `{"pattern":"a","glob":"["}`, dispatch.InvalidInput, "glob")
}

// A link is searched only if it is the path.
func TestSearchLinks(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"a.go": "Open", "link": "-> a.go", "out": "-> /etc"})
	out := run[grep.Output](t, s, "fs.search", `{"pattern":"Open"}`)
	assert.Equal(t, shown(out.Matches), "a.go:1:1:Open")
	assert.Equal(t, out.Skipped, 0)
	out = run[grep.Output](t, s, "fs.search", `{"pattern":"Open","path":"link"}`)
	assert.Equal(t, shown(out.Matches), "link:1:1:Open")
}

func TestSearchContext(t *testing.T) {
	t.Parallel()
	s := newService(t,
		map[string]string{"f": "1\n2\nX3\n4\nX5\n6\n7\n8\nX9", "first": "X\n",
			"long": strings.Repeat("b", 500) + "\nX\n" + strings.Repeat("a", 500)})
	out := run[grep.Output](t, s, "fs.search", `{"pattern":"X","context":2,"path":"f"}`)
	assert.DeepEqual(t, out.Matches, []grep.Match{
		{Path: "f", Line: 3, Column: 1, Text: "X3", Before: []string{"1", "2"},
			After: []string{"4", "X5"}},
		{Path: "f", Line: 5, Column: 1, Text: "X5", Before: []string{"X3", "4"},
			After: []string{"6", "7"}},
		{Path: "f", Line: 9, Column: 1, Text: "X9", Before: []string{"7", "8"}},
	})
	assert.DeepEqual(t,
		run[grep.Output](t, s, "fs.search", `{"pattern":"X","context":1,"path":"first"}`).Matches,
		[]grep.Match{{Path: "first", Line: 1, Column: 1, Text: "X"}})
	assert.DeepEqual(t,
		run[grep.Output](t, s, "fs.search", `{"pattern":"X","context":1,"path":"long"}`).Matches,
		[]grep.Match{{Path: "long", Line: 2, Column: 1, Text: "X",
			Before: []string{strings.Repeat("b", maxLineText) + "…"},
			After:  []string{strings.Repeat("a", maxLineText) + "…"}}})
	// The lines after the last match are returned too.
	out = run[grep.Output](t, s, "fs.search",
		`{"pattern":"X","context":2,"path":"f","max_results":2}`)
	assert.Equal(t, out.Truncated, true)
	assert.DeepEqual(t, out.Matches[1].After, []string{"6", "7"})
}

func TestSearchLongLines(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{
		"minified": strings.Repeat("€", 80_000) + "needle" + strings.Repeat("ü", 100_000) +
			"\nneedle\n",
		"endless": strings.Repeat("x", maxLine+10) + "needle\nneedle\n",
		"edge":    strings.Repeat("x", maxLine-1) + "\nneedle\n",
		"exact":   strings.Repeat("x", maxLine) + "\nneedle\n",
		"binary":  strings.Repeat("\xff", 1000) + "needle" + strings.Repeat("\x80", 1000),
	})
	out := run[grep.Output](t, s, "fs.search", `{"pattern":"needle"}`)
	var where []string
	for _, m := range out.Matches {
		assert.Assert(t, strings.Contains(m.Text, "needle") &&
			len(m.Text) <= 3*maxLineText+10, m.Text)
		where = append(where, fmt.Sprintf("%s:%d:%d", m.Path, m.Line, m.Column))
	}
	assert.Equal(t, strings.Join(where, " "),
		"binary:1:1001 edge:2:1 endless:2:1 exact:2:1 minified:1:240001 minified:2:1")
	assert.Assert(t, strings.HasPrefix(out.Matches[4].Text, "…€") &&
		strings.HasSuffix(out.Matches[4].Text, "ü…"), out.Matches[4].Text)
}

func TestSearchBounds(t *testing.T) {
	t.Parallel()
	s := newService(t, nil)
	const files, lines = 60, 50
	for i := range files {
		var text strings.Builder
		for j := range lines {
			fmt.Fprintf(&text, "hit %d %d %s\n", i, j, strings.Repeat("y", 350))
		}
		s.put(t, fmt.Sprintf("%03d", i), text.String())
	}
	// The order does not depend on which worker was first.
	first := run[grep.Output](t, s, "fs.search", `{"pattern":"hit"}`)
	assert.Equal(t, len(first.Matches), 200)
	assert.Equal(t, first.Truncated, true)
	assert.Equal(t, first.Matches[199].Path, "003")
	for range 20 {
		assert.DeepEqual(t, run[grep.Output](t, s, "fs.search", `{"pattern":"hit"}`), first)
	}
	exact := run[grep.Output](t, s, "fs.search", `{"pattern":"hit \\d+ 7 ","max_results":60}`)
	assert.Equal(t, len(exact.Matches), 60)
	assert.Equal(t, exact.Truncated, false)
	// The limit on text applies for any max_results: 2000 matches with 20 lines around each would
	// be 16 MB.
	much := run[grep.Output](t, s, "fs.search",
		`{"pattern":"hit","max_results":2000,"context":10}`)
	assert.Equal(t, much.Truncated, true)
	encoded, err := json.Marshal(much)
	assert.NilError(t, err)
	assert.Assert(t, len(encoded) < 2*maxResultText, "%d bytes", len(encoded))
	// The same within one file.
	s.put(t, "big", strings.Repeat("hit "+strings.Repeat("z", 350)+"\n", 1900))
	big := run[grep.Output](t, s, "fs.search",
		`{"pattern":"hit","path":"big","max_results":2000,"context":10}`)
	assert.Equal(t, big.Truncated, true)
}

func TestSearchCancelled(t *testing.T) {
	t.Parallel()
	s := newService(t, nil)
	for i := range 2000 {
		assert.NilError(t,
			os.WriteFile(filepath.Join(s.dir, fmt.Sprint(i)), []byte("line\n"), 0o666))
	}
	ctx, cancel := context.WithCancel(t.Context())
	reported := 0
	envelope := s.dispatcher.Dispatch(ctx, &dispatch.Call{
		Operation: "fs.search", Arguments: json.RawMessage(`{"pattern":"nothing"}`),
		Progress: func(float64, float64, string) { reported++; cancel() },
	})
	assert.ErrorIs(t, envelope.Err, dispatch.Cancelled)
	assert.Equal(t, reported, 1)
}

// A hookContext is a context that calls a hook at each call of Err, so that a test can intervene
// between the steps of an operation.
type hookContext struct {
	context.Context
	hook func() error
}

func (c hookContext) Err() error { return c.hook() }

// after returns a hook that calls fn at its n-th call, and returns the error of fn from then on.
func after(n int, fn func() error) func() error {
	var ended error
	return func() error {
		if n--; n == 0 {
			ended = fn()
		}
		return ended
	}
}

func cancelled() error { return context.Canceled }

func BenchmarkSearch(b *testing.B) {
	s := newService(b, nil)
	line := "	for name, value := range values { total += weigh(name, value) } // as the table says\n"
	size := 0
	for i := range 200 {
		text := strings.Repeat(line, 100+i) + "	needle()\n"
		size += len(text)
		s.put(b, fmt.Sprintf("%d/f.go", i), text)
	}
	for _, args := range []string{`{"pattern":"needle","literal":true}`,
		`{"pattern":"\\bneedle\\(\\)$"}`, `{"pattern":"NEEDLE","case_insensitive":true}`} {
		b.Run(args, func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if out := run[grep.Output](b, s, "fs.search", args); len(out.Matches) != 200 {
					b.Fatal(len(out.Matches))
				}
			}
		})
	}
}
