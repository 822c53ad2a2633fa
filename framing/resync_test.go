package framing_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
)

// isObject takes frames and lines that are JSON objects for messages.
func isObject(text []byte, _ bool) bool { return json.Valid(text) && text[0] == '{' }

func TestResyncRead(t *testing.T) {
	const frame = "Content-Length: 2\r\n\r\n{}"
	small := framing.Limits{MaxFrame: 4, MaxHeader: 64}
	x := strings.Repeat
	testReads(t, framing.Resync(isObject), []readCase{
		{name: "nothing", in: "", want: []string{"error: EOF"}},
		{name: "frames", in: frame + "\r\n\r\n" + frame + "content-type: a\n" + frame + "\n",
			want: []string{"{}", "{}", "{}", "error: EOF"}},
		{name: "a banner", in: "Server v1.0\n\n" + frame, want: []string{"{}", "error: EOF"}},
		{name: "lines between", in: frame + "hello world\r\n" + frame + "a: b\n" + frame +
			"last words", want: []string{"{}", "{}", "{}", "error: EOF"}},
		{name: "text before a header", in: "Loading… " + frame, want: []string{"{}", "error: EOF"}},
		{name: "a text about headers", in: "the Content-Length: 5 is wrong\nContent-Length: x\n" +
			frame, want: []string{"{}", "error: EOF"}},
		{name: "a line inside a block", in: "Content-Length: 9\nwarning!\n" + frame,
			want: []string{"{}", "error: EOF"}},
		{name: "a line inside a payload", in: "Content-Length: 13\r\n\r\n" + `{"a":` +
			"oops\n1}" + "\n" + frame + frame, want: []string{"{}", "{}", "error: EOF"}},
		{name: "lines that are messages", in: `{"a":1}` + "\n" + frame + `{"b":2}` + "\r\n",
			want: []string{`{"a":1}`, "{}", `{"b":2}`, "error: EOF"}},
		{name: "no frame of ours", limits: small, in: "Content-Length: 999999999\r\n\r\n" + frame,
			want: []string{"{}", "error: EOF"}},
		{name: "over the limit", limits: small, in: "Content-Length: 5\r\n\r\n12345" + frame,
			want: []string{"error: frame of 5 bytes is over the limit of 4", "{}", "error: EOF"}},
		{name: "a long block", limits: framing.Limits{MaxHeader: 64},
			in:   "Content-Type: a\nX: " + x("x", 64) + "\n" + frame,
			want: []string{"{}", "error: EOF"}},
		{name: "cut", in: frame + "Content-Length: 9\n\n{", want: []string{"{}",
			"error: the stream ended after 1 of 9 bytes"}},
	})
}

// What is not a message is passed to the callback once, and in order.
func TestResyncNoise(t *testing.T) {
	var noise []string
	c := framing.Resync(func(text []byte, framed bool) bool {
		if framed && isObject(text, framed) {
			return true
		}
		noise = append(noise, string(text))
		return false
	})(strings.NewReader("a\nb Content-Length: 2\n\n{}{}\nContent-Length: 3\n\n}{}"),
		framing.Limits{})
	assert.DeepEqual(t, readAll(t, c), []string{"{}", "error: EOF"})
	assert.DeepEqual(t, noise, []string{"a", "b ", "{}", "}{}"})
}

func TestResyncAppends(t *testing.T) {
	frame, err := framing.Resync(isObject)(nil, framing.Limits{}).AppendFrame(nil, []byte("{}"))
	assert.NilError(t, err)
	assert.Equal(t, string(frame), "Content-Length: 2\r\n\r\n{}")
}

func FuzzResync(f *testing.F) {
	f.Add([]byte("log\nContent-Length: 2\r\n\r\n{}x Content-Length: 1\n\n1"), 1<<20, 1)
	f.Add([]byte("Content-Length: 30\n\n{Content-Length: 2\n\n{}Content-Length: 2\n\n{}"), 100, 3)
	f.Fuzz(func(t *testing.T, in []byte, limit, chunk int) {
		limits := framing.Limits{MaxFrame: 1 + limit&0xfffff, MaxHeader: 128}
		fuzzReads(t, framing.Resync(func(text []byte, framed bool) bool {
			return framed || json.Valid(text)
		}), in, limits, chunk)
	})
}
