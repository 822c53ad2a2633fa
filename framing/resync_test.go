package framing_test

import (
	"encoding/json"
	"errors"
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
	testReads(t, framing.Resync(isObject, nil), []readCase{
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
		{name: "a message in a block", in: "Content-Length: 9\n" + `{"a":1}` + "\n" + frame,
			want: []string{`{"a":1}`, "{}", "error: EOF"}},
		{name: "a long first header", limits: framing.Limits{MaxHeader: 64}, in: "Content-Type: " + x("x", 64) + "\n" +
			frame, want: []string{"{}", "error: EOF"}},
		{name: "a message in a cut frame", in: "Content-Length: 9\n\n{}", want: []string{"{}",
			"error: the stream ended after 2 of 9 bytes"}},
		{name: "cut in a block", in: frame + "Content-Length: 9\nX", want: []string{"{}",
			"error: the stream ended inside a header block"}},
		{name: "cut", in: frame + "Content-Length: 9\n\n{", want: []string{"{}",
			"error: the stream ended after 1 of 9 bytes"}},
	})
}

// What is not a message is passed to the callback once, and in order.
func TestResyncNoise(t *testing.T) {
	for in, want := range map[string][]string{
		"a\nb Content-Length: 2\n\n{}{}\nContent-Length: 3\n\n}{}": {"a", "b ", "{}", "}{}"},
		"Content-Length: 9\nX: y\nwarning!\n":                      {"Content-Length: 9\nX: y", "warning!"},
		"Content-Length: 0\r\n\r\nContent-Type: x\n\n":             {"Content-Length: 0\n", "Content-Type: x\n"},
		"Content-Length: 9\nX":                                     {"Content-Length: 9\nX"},
		"Content-Length: 9\n\n":                                    {"Content-Length: 9\n"},
		"Content-Length: 9\n\n[":                                   {"["},
		"Content-Length: -1\nx: 1\n":                               {"Content-Length: -1", "x: 1"},
		"Content-Length: 8000000000000\n\nx\n":                     {"Content-Length: 8000000000000\n", "x"},
	} {
		for _, deliver := range deliveries {
			var noise []string
			c := framing.Resync(func(text []byte, framed bool) bool {
				if framed && isObject(text, framed) {
					return true
				}
				noise = append(noise, string(text))
				return false
			}, nil)(deliver(strings.NewReader(in)), framing.Limits{})
			readAll(t, c)
			assert.DeepEqual(t, noise, want)
		}
	}
}

// A frame or line over the limit is passed to the second callback as it arrives, whatever its size.
func TestResyncSkipped(t *testing.T) {
	large := strings.Repeat("0123456789", 20_000)
	for in, want := range map[string]string{
		"x\n" + large + "\r\n{}\n": "line " + large + "\r|",
		large:                      "line " + large + "|",
		"Content-Length: 200000\n\n" + large + "x\n":                "frame " + large + "|",
		"Content-Length: 800000000000\n\n" + large:                  "frame " + large,
		large[:101] + "\nContent-Length: 101\r\n\r\n" + large[:101]: "line " + large[:101] + "|frame " + large[:101] + "|",
	} {
		for how, deliver := range deliveries {
			var got strings.Builder
			begun := false
			c := framing.Resync(func([]byte, bool) bool { return true },
				func(part []byte, framed bool) {
					if what := "line "; !begun {
						if framed {
							what = "frame "
						}
						got.WriteString(what)
					}
					begun = true
					got.Write(part)
				})(deliver(strings.NewReader(in)), framing.Limits{MaxFrame: 100, MaxHeader: 100})
			for {
				_, err := c.ReadFrame(nil)
				if _, skipped := errors.AsType[*framing.FrameError](err); skipped {
					begun = false
					got.WriteByte('|')
				} else if err != nil {
					break
				}
			}
			assert.Assert(t, got.String() == want, "%s: %.300q", how, got.String())
		}
	}
}

// After a frame or a line over the limit, SkippedHead returns its beginning and not that of another
// one: the peer answers under the id in it.
func TestResyncSkippedHead(t *testing.T) {
	frame := `{"id":7}` + strings.Repeat("f", 192)
	line := `{"id":8}` + strings.Repeat("l", 192)
	withinHeader := `{"id":9}` + strings.Repeat("h", 100)
	c := framing.Resync(func([]byte, bool) bool { return true }, nil)(strings.NewReader(
		"Content-Length: 200\r\n\r\n"+frame+"\n"+line+"\n"+withinHeader+"\n"),
		framing.Limits{MaxFrame: 100, MaxHeader: 150})
	for _, skipped := range []string{frame, line, withinHeader} {
		_, err := c.ReadFrame(nil)
		assert.ErrorIs(t, err, framing.ErrTooLarge)
		head := c.(interface{ SkippedHead() []byte }).SkippedHead()
		assert.Assert(t, strings.HasPrefix(string(head), skipped[:50]), "%q", head)
	}
}

func TestResyncAppends(t *testing.T) {
	frame, err := framing.Resync(isObject, nil)(nil, framing.Limits{}).AppendFrame(nil, []byte("{}"))
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
		}, nil), in, limits, chunk)
	})
}
