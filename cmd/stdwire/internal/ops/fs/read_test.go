package fs

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/replace"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/quota"
	"gotest.tools/v3/assert"
)

func TestRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 20_000) // one line, longer than any buffer
	files := map[string]string{
		"empty": "", "five": "one\ntwo\nthree\nfour\nfive\n", "noend": "one\ntwo",
		"crlf":   "a\r\nb\r\n",
		"latin1": "caf\xe9\nx\n", "zero": "a\x00b", "euro": "a€€€€", "long": long + "\nend\n",
		"dir/in": "inside", "bom": "\ufefftext",
	}
	s := newService(t, files)
	for _, test := range []struct {
		args string
		want ReadOutput // without path, size, modified, sha256
	}{
		{`{"path":"empty"}`, ReadOutput{Content: ""}},
		{`{"path":"five"}`, ReadOutput{Content: files["five"]}},
		{`{"path":"./dir/../five"}`, ReadOutput{Content: files["five"]}},
		{`{"path":"dir/in"}`, ReadOutput{Content: "inside"}},
		{`{"path":"bom"}`, ReadOutput{Content: "\ufefftext"}},
		{`{"path":"crlf","lines":1}`,
			ReadOutput{Content: "a\r\n", Truncated: true, NextLine: 2, NextOffset: 3}},
		{`{"path":"five","start_line":2,"lines":2}`,
			ReadOutput{Content: "two\nthree\n", Truncated: true, NextLine: 4, NextOffset: 14}},
		{`{"path":"five","start_line":4,"lines":2}`, ReadOutput{Content: "four\nfive\n"}},
		{`{"path":"five","start_line":4,"lines":100}`, ReadOutput{Content: "four\nfive\n"}},
		{`{"path":"five","start_line":6}`, ReadOutput{Content: ""}},
		{`{"path":"five","start_line":600}`, ReadOutput{Content: ""}},
		{`{"path":"noend","start_line":2}`, ReadOutput{Content: "two"}},
		{`{"path":"noend","lines":2}`, ReadOutput{Content: "one\ntwo"}},
		{`{"path":"five","offset":4}`, ReadOutput{Content: "two\nthree\nfour\nfive\n"}},
		{`{"path":"five","offset":5,"lines":1}`,
			ReadOutput{Content: "wo\n", Truncated: true, NextOffset: 8}},
		{`{"path":"five","offset":24}`, ReadOutput{Content: ""}},
		{`{"path":"five","offset":24000}`, ReadOutput{Content: ""}},
		// The limit ends content at the end of a line if possible, and always at the end of a
		// character.
		{`{"path":"five","max_bytes":10}`,
			ReadOutput{Content: "one\ntwo\n", Truncated: true, NextLine: 3, NextOffset: 8}},
		{`{"path":"five","max_bytes":24}`, ReadOutput{Content: files["five"]}},
		{`{"path":"five","offset":1,"max_bytes":10}`,
			ReadOutput{Content: "ne\ntwo\nthr", Truncated: true, NextOffset: 11}},
		{`{"path":"euro","max_bytes":6}`,
			ReadOutput{Content: "a€", Truncated: true, NextOffset: 4}},
		{`{"path":"euro","offset":4,"max_bytes":4}`,
			ReadOutput{Content: "€", Truncated: true, NextOffset: 7}},
		{`{"path":"euro","offset":7}`, ReadOutput{Content: "€€"}},
		{`{"path":"euro","offset":5}`, ReadOutput{Encoding: "base64", Content: "\x82\xac€€"}},
		{`{"path":"long","max_bytes":1000}`,
			ReadOutput{Content: long[:1000], Truncated: true, NextOffset: 1000}},
		{`{"path":"long","start_line":2}`, ReadOutput{Content: "end\n"}},
		{`{"path":"long","offset":199998}`, ReadOutput{Content: "89\nend\n"}},
		{`{"path":"long","lines":1}`,
			ReadOutput{Content: long + "\n", Truncated: true, NextLine: 2, NextOffset: 200_001}},
		// Other data is base64, in the same ranges.
		{`{"path":"latin1"}`, ReadOutput{Encoding: "base64", Content: files["latin1"]}},
		{`{"path":"latin1","start_line":2}`, ReadOutput{Content: "x\n"}},
		{`{"path":"latin1","max_bytes":6}`,
			ReadOutput{Encoding: "base64", Content: "caf\xe9\nx", Truncated: true, NextOffset: 6}},
		{`{"path":"zero"}`, ReadOutput{Encoding: "base64", Content: "a\x00b"}},
		{`{"path":"five","encoding":"base64","lines":1}`,
			ReadOutput{Encoding: "base64", Content: "one\n", Truncated: true, NextLine: 2,
				NextOffset: 4}},
		{`{"path":"five","encoding":"text","lines":1}`,
			ReadOutput{Content: "one\n", Truncated: true, NextLine: 2, NextOffset: 4}},
	} {
		t.Run(test.args, func(t *testing.T) {
			got := run[ReadOutput](t, s, "fs.read", test.args)
			if test.want.Encoding == "" {
				test.want.Encoding = "text"
			} else {
				test.want.Content = base64.StdEncoding.EncodeToString([]byte(test.want.Content))
			}
			content := s.content(t, got.Path)
			test.want.Path, test.want.Modified = got.Path, got.Modified
			test.want.Size, test.want.SHA256 = int64(len(content)), replace.HexSum([]byte(content))
			assert.DeepEqual(t, got, test.want)
		})
	}
}

// Following next_line or next_offset from the start yields the whole file.
func TestReadOn(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a line of text\n", 100) + strings.Repeat("ä", 500) + "\nlast"
	s := newService(t, map[string]string{"f": text})
	for _, byLine := range []bool{true, false} {
		got, args := "", map[string]any{"path": "f", "max_bytes": 101}
		for {
			out := run[ReadOutput](t, s, "fs.read", args)
			assert.Assert(t, out.Content != "")
			got += out.Content
			if !out.Truncated {
				break
			}
			args = map[string]any{"path": "f", "max_bytes": 101, "offset": out.NextOffset}
			if byLine && out.NextLine > 0 {
				args = map[string]any{"path": "f", "max_bytes": 101, "start_line": out.NextLine}
			}
		}
		assert.Equal(t, got, text)
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"f": "x", "dir/": "", "zero": "\x00"})
	for _, test := range []struct {
		args string
		code dispatch.Code
		text string
	}{
		{`{"path":"gone"}`, dispatch.NotFound, "does not exist"},
		{`{"path":"gone/f"}`, dispatch.NotFound, "does not exist"},
		{`{"path":"f/g"}`, dispatch.NotFound, "is not a directory"},
		{`{"path":"dir"}`, dispatch.StateError, "is a directory"},
		{`{"path":"."}`, dispatch.StateError, "is a directory"},
		{`{"path":"zero","encoding":"text"}`, dispatch.StateError, "base64"},
		{`{"path":""}`, dispatch.InvalidInput, "empty"},
		{`{"path":"a\u0000b"}`, dispatch.InvalidInput, "NUL"},
		{`{"path":"f","start_line":1,"offset":1}`, dispatch.InvalidInput, "one of them"},
		{`{"path":"f","start_line":0}`, dispatch.InvalidInput, "start_line"},
		{`{"path":"f","offset":-1}`, dispatch.InvalidInput, "offset"},
		{`{"path":"f","max_bytes":10485761}`, dispatch.InvalidInput, "max_bytes"},
		{`{"path":"f","encoding":"utf-16"}`, dispatch.InvalidInput, "encoding"},
		{`{"path":"f","instance":"other"}`, dispatch.UnknownInstance, "main"},
		{`{}`, dispatch.MissingParam, "path"},
	} {
		t.Run(test.args, func(t *testing.T) {
			fails(t, s, "fs.read", test.args, test.code, test.text)
		})
	}
	fails(t, s, "fs.read", map[string]string{"path": strings.Repeat("x", 300)},
		dispatch.InvalidInput, "too long")
	fails(t, s, "fs.read", map[string]string{"path": strings.Repeat("x/", 3000)},
		dispatch.InvalidInput, "4096")
}

// Reading a link reads its target.
func TestReadLinks(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{
		"dir/in": "inside", "link": "-> dir/in", "dangling": "-> gone", "a": "-> b", "b": "-> a",
	})
	out := run[ReadOutput](t, s, "fs.read", `{"path":"link"}`)
	assert.Equal(t, out.Content, "inside")
	assert.Equal(t, out.SHA256, replace.HexSum([]byte("inside")))
	fails(t, s, "fs.read", `{"path":"dangling"}`, dispatch.NotFound, "does not exist")
	fails(t, s, "fs.read", `{"path":"a"}`, dispatch.StateError, "circle")
}

// A file too large to hash can still be read at any offset.
func TestReadHuge(t *testing.T) {
	t.Parallel()
	s := newService(t, nil)
	f, err := os.Create(filepath.Join(s.dir, "huge"))
	assert.NilError(t, err)
	_, err = f.WriteAt([]byte("end"), 1<<32) // sparse
	assert.NilError(t, err)
	assert.NilError(t, f.Close())
	out := run[ReadOutput](t, s, "fs.read", `{"path":"huge","offset":4294967296}`)
	assert.Equal(t, out.Content, "end")
	assert.Equal(t, out.SHA256, "")
	assert.Equal(t, out.Size, int64(1<<32+3))
	assert.Equal(t, out.Truncated, false)
}

// Large reads wait for one another, so that they stay within the memory limit.
func TestLargeReadsReserveMemory(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"large": strings.Repeat("x", 2<<20), "small": "x"})
	read := func(ctx context.Context, path string) dispatch.Envelope {
		return s.dispatcher.Dispatch(ctx,
			&dispatch.Call{Operation: "fs.read",
				Arguments: []byte(`{"path":"` + path + `","max_bytes":10485760}`)})
	}
	pool := quota.NewPool(10 << 20)
	first := pool.Open("")
	assert.Assert(t, read(quota.NewContext(t.Context(), first), "large").Err == nil)
	assert.Equal(t, pool.Used(), int64(8<<20))

	second := pool.Open("")
	defer second.Close()
	done := make(chan dispatch.Envelope)
	go func() { done <- read(quota.NewContext(t.Context(), second), "large") }()
	assert.Assert(t, read(quota.NewContext(t.Context(), second), "small").Err == nil,
		"a small one reserves nothing")
	first.Close()
	assert.Assert(t, (<-done).Err == nil)

	third := pool.Open("")
	second.Close()
	assert.Assert(t, s.dispatcher.Dispatch(quota.NewContext(t.Context(), third), &dispatch.Call{
		Operation: "fs.edit",
		Arguments: []byte(`{"path":"large","old":"` + strings.Repeat("x", 2<<20) + `","new":"y"}`),
	}).Err == nil)
	assert.Equal(t, pool.Used(), int64(6<<20))
	third.Close()
	s.put(t, "large", strings.Repeat("x", 2<<20))

	refused := read(quota.NewContext(t.Context(), quota.NewPool(1<<20).Open("")), "large")
	assert.ErrorIs(t, refused.Err, dispatch.InvalidInput)
}

// A model gets the content of a text file as it is, and JSON for all that is more than text.
func TestReadText(t *testing.T) {
	t.Parallel()
	s := newService(t, map[string]string{"five": "one\n\"two\"\nthree\n", "zero": "a\x00b",
		"empty": "", "long": "0123456789"})
	for args, want := range map[string]string{
		`{"path":"five"}`:                  "one\n\"two\"\nthree\n",
		`{"path":"five","lines":1}`:        "one\n[truncated: go on with start_line = 2]",
		`{"path":"long","max_bytes":4}`:    "0123\n[truncated: go on with offset = 4]",
		`{"path":"zero"}`:                  "",
		`{"path":"empty"}`:                 "",
		`{"path":"five","start_line":600}`: "",
	} {
		envelope := s.dispatch(t.Context(), "fs.read", args)
		assert.Assert(t, envelope.Err == nil, "%v", envelope.Err)
		assert.Equal(t, envelope.Text, want, args)
	}
}
