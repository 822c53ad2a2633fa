package fs

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/replace"
	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		file, old, new string
		all            bool
		want           string
		lines          []int
	}{
		{"a b c", "b", "x", false, "a x c", []int{1}},
		{"one\ntwo\nthree\n", "two\n", "", false, "one\nthree\n", []int{2}},
		{"one\ntwo\n", "one\ntwo\n", "", false, "", []int{1}},
		{"a\na\na", "a", "bb\n", true, "bb\n\nbb\n\nbb\n", []int{1, 3, 5}},
		{"aaa", "aa", "b", true, "ba", []int{1}},
		{"x$1\\n", "$1\\n", "$0", false, "x$0", []int{1}}, // no character is special
		{"a\r\nb\r\n", "a\r\nb", "c", false, "c\r\n", []int{1}},
		{"\xff\x00b", "b", "c", false, "\xff\x00c", []int{1}}, // other bytes are unchanged
		{"a ab", "a", "aa", true, "aa aab", []int{1, 1}},
	} {
		t.Run(fmt.Sprintf("%q %q", test.file, test.old), func(t *testing.T) {
			t.Parallel()
			s := newService(t, map[string]string{"f": test.file})
			out := run[EditOutput](t, s, "fs.edit",
				map[string]any{"path": "f", "old": test.old, "new": test.new, "all": test.all})
			assert.DeepEqual(t, out, EditOutput{
				Path: "f", Size: int64(len(test.want)), SHA256: replace.HexSum([]byte(test.want)),
				Replacements: len(test.lines), Lines: test.lines,
			})
			assert.Equal(t, s.content(t, "f"), test.want)
			assert.DeepEqual(t, s.names(t), []string{"f"})
		})
	}
}

func TestEditRefused(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"go":   "package a\n\nfunc f() {\n\tone()\n\ttwo()\n}\n\nfunc g() {\n\tone()\n\tthree()\n}\n",
		"crlf": "a\r\nb\r\n", "d/": "", "overlap": "aaa", "big": strings.Repeat("x", maxEditSize+1),
		"empty": "",
		"grow":  strings.Repeat("x", 1000),
	}
	s := newService(t, files)
	for _, test := range []struct {
		path, old, new string
		all            bool
		code           dispatch.Code
		text           string
	}{
		{"go", "one()", "x", false, dispatch.StateError, "2 times"},
		{"overlap", "aa", "x", false, dispatch.StateError, "2 times"},
		{"go", "nothing", "x", false, dispatch.StateError, "no line of it is like the first"},
		{"go", "nothing", "x", true, dispatch.StateError, "no line of it is like the first"},
		{"go", "func f() {\n    one()\n    two()\n", "x", false, dispatch.StateError,
			"line 3 and what follows differ from it in white space"},
		{"go", "\tone()\n\tthree()\n\tfour()\n", "x", false, dispatch.StateError,
			"line 9 is like its first line, but line 11 differs from its line 3"},
		{"go", "func f() {\n\ttwo()", "x", false, dispatch.StateError,
			"line 3 is like its first line, but line 4 differs from its line 2"},
		{"go", "\t\t\t", "x", false, dispatch.StateError, "white space"},
		{"crlf", "a\nb", "x", false, dispatch.StateError, `end with \r\n`},
		{"go", "package a\r\n\r\nfunc", "x", false, dispatch.StateError, `those of old with \r\n`},
		{"empty", "a", "x", false, dispatch.StateError, "not in"},
		{"go", "a", "a", false, dispatch.InvalidInput, "the same"},
		{"go", "", "a", false, dispatch.InvalidInput, "old"},
		{"gone", "a", "b", false, dispatch.NotFound, "does not exist"},
		{"gone/f", "a", "b", false, dispatch.NotFound, "does not exist"},
		{"d", "a", "b", false, dispatch.StateError, "is a directory"},
		{"big", "a", "b", false, dispatch.StateError, "too many to edit"},
		{"grow", "x", strings.Repeat("y", 20_000), true, dispatch.StateError, "would have over"},
	} {
		t.Run(fmt.Sprintf("%s %.40q", test.path, test.old), func(t *testing.T) {
			args := map[string]any{"path": test.path, "old": test.old, "new": test.new,
				"all": test.all}
			fails(t, s, "fs.edit", args, test.code, test.text)
			if content, ok := files[test.path]; ok && test.path != "d/" {
				assert.Equal(t, s.content(t, test.path), content)
			}
		})
	}
	err := fails(t, s, "fs.edit", `{"path":"go","old":"one()","new":""}`, dispatch.StateError, "")
	assert.Equal(t, details[int](t, err, "occurrences"), 2)
	assert.DeepEqual(t, details[[]int](t, err, "lines"), []int{4, 9})

	err = fails(t, s, "fs.edit",
		map[string]any{"path": "go", "old": "two", "new": "", "if_sha256": replace.HexSum(nil)},
		dispatch.StateError, "read it again")
	assert.Equal(t, details[string](t, err, "sha256"), replace.HexSum([]byte(files["go"])))
	run[EditOutput](t, s, "fs.edit",
		map[string]any{"path": "go", "old": "two", "new": "2",
			"if_sha256": replace.HexSum([]byte(files["go"]))})
}

// Concurrent edits of one file all take effect.
func TestEditTogether(t *testing.T) {
	t.Parallel()
	var text, want strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "<%d>\n", i)
		fmt.Fprintf(&want, "[%d]\n", i)
	}
	s := newService(t, map[string]string{"f": text.String()})
	names := []string{"f", s.alias(t, "l", "f")}
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			args := map[string]any{"path": names[i%2], "old": fmt.Sprintf("<%d>", i),
				"new": fmt.Sprintf("[%d]", i)}
			if envelope := s.dispatch(t.Context(), "fs.edit", args); envelope.Err != nil {
				t.Error(envelope.Err)
			}
		})
	}
	all.Wait()
	assert.Equal(t, s.content(t, "f"), want.String())
}

// Only a bounded number of lines is compared, so that the time is linear in the file.
func TestSameLines(t *testing.T) {
	t.Parallel()
	lines := bytes.Split([]byte(strings.Repeat("a \n", 1000)), []byte("\n"))
	assert.Equal(t, sameLines([]byte(strings.Repeat(" a\n", 1000)), lines), maxCompared-1)
	assert.Equal(t, sameLines([]byte("a\na"), lines), 2)
	assert.Equal(t, sameLines([]byte("a\nb"), lines), 1)
	assert.Equal(t, sameLines(nil, lines), 0)
	whole := strings.Repeat("a\n", 200)
	assert.Assert(t,
		strings.Contains(explainNoMatch([]byte(whole), []byte(strings.Repeat("a \n", 100)+"b")),
			"line 1 and what follows differ"))
}
