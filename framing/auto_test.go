package framing_test

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
)

// bom is a UTF-8 byte order mark.
const bom = "\uFEFF"

func TestAutoRead(t *testing.T) {
	const frame = "Content-Length: 2\r\n\r\n{}"
	testReads(t, framing.Auto, []readCase{
		{name: "nothing", in: "", want: []string{"error: EOF"}},
		{name: "nothing but space", in: " \t\r\n\n ", want: []string{"error: EOF"}},
		{name: "object", in: "{}\n[]\n", want: []string{"{}", "[]", "error: EOF"}},
		{name: "array", in: "[]\n{}\n", want: []string{"[]", "{}", "error: EOF"}},
		{name: "space first", in: "\r\n\n  {}\n", want: []string{"{}", "error: EOF"}},
		{name: "header", in: frame + frame, want: []string{"{}", "{}", "error: EOF"}},
		{name: "header in any case", in: "cONTENT-length:2\n\n{}",
			want: []string{"{}", "error: EOF"}},
		{name: "header after space", in: "\r\n \n" + frame, want: []string{"{}", "error: EOF"}},
		{name: "type first", in: "Content-Type: a/b; charset=utf-8\r\n" + frame,
			want: []string{"{}", "error: EOF"}},
		{name: "broken header", in: "Content-Length: x\r\n\r\n{}",
			want: []string{`error: Content-Length "x" is not a number`}},
		{name: "header cut", in: "Content-Length: 2\r\n",
			want: []string{"error: the stream ended inside a header block"}},

		{name: "no header, by its first byte", in: "true\n{}\n",
			want: []string{"true", "{}", "error: EOF"}},
		{name: "no header, by its last", in: "Content\n{}\n",
			want: []string{"Content", "{}", "error: EOF"}},
		{name: "no header, cut", in: "Conten", want: []string{"Conten", "error: EOF"}},
		{name: "log line", in: "info: starting\n{}\n",
			want: []string{"info: starting", "{}", "error: EOF"}},
		{name: "byte order mark", in: bom + "{}\n" + bom + "{}\n",
			want: []string{"{}", bom + "{}", "error: EOF"}},
		{name: "byte order mark before a header", in: bom + frame,
			want: []string{"{}", "error: EOF"}},
		{name: "half a byte order mark", in: bom[:2] + "{}\n",
			want: []string{bom[:2] + "{}", "error: EOF"}},
		{name: "byte order mark, cut", in: bom[:2], want: []string{bom[:2], "error: EOF"}},
		{name: "byte order mark alone", in: bom, want: []string{"error: EOF"}},
		{name: "NUL", in: "\x00\n{}\n", want: []string{"\x00", "{}", "error: EOF"}},

		{name: "no second thoughts: newline", in: "{}\n" + frame,
			want: []string{"{}", "Content-Length: 2", "{}", "error: EOF"}},
		{name: "no second thoughts: header", in: frame + "{}\n",
			want: []string{"{}", `error: "{}" is no header`}},
		{name: "too large first", limits: framing.Limits{MaxFrame: 2}, in: "[1]\n{}\n",
			want: []string{"error: over the limit of 2", "{}", "error: EOF"}},
	})
}

func TestAutoAppend(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "1\n", // not known yet
		"{}\n":                     "1\n",
		"junk\n":                   "1\n",
		"Content-Length: 2\n\n{}":  "Content-Length: 1\r\n\r\n1",
		"Content-Length: 2\n\n{\n": "Content-Length: 1\r\n\r\n1",
		"Content-Length: x\n\n":    "Content-Length: 1\r\n\r\n1", // known, although not read
	} {
		c := framing.Auto(strings.NewReader(in), framing.Limits{})
		got, err := c.AppendFrame(nil, []byte("0"))
		assert.NilError(t, err)
		assert.Equal(t, string(got), "0\n", "before the first read")
		c.ReadFrame(nil)
		got, err = c.AppendFrame(nil, []byte("1"))
		assert.NilError(t, err)
		assert.Equal(t, string(got), want, "%q", in)
	}
}

// A peer that sends one short line and waits must not be kept waiting for more bytes.
func TestAutoDoesNotWait(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go io.WriteString(w, "1\n")
	got, err := framing.Auto(r, framing.Limits{}).ReadFrame(nil)
	assert.NilError(t, err)
	assert.Equal(t, string(got), "1")
}

// Frames are appended while the first frame is read: each frame is complete, in one framing or the
// other.
func TestAutoConcurrent(t *testing.T) {
	r, w := io.Pipe()
	c := framing.Auto(r, framing.Limits{})
	stop := make(chan struct{})
	var appenders sync.WaitGroup
	for range 4 {
		appenders.Go(func() {
			var buf []byte
			for headed := false; ; {
				frame, err := c.AppendFrame(buf[:0], []byte("{}"))
				assert.Check(t, err)
				switch string(frame) {
				case "{}\n":
					assert.Check(t, !headed, "newline again after Content-Length")
				case "Content-Length: 2\r\n\r\n{}":
					headed = true
				default:
					t.Errorf("torn frame %q", frame)
				}
				buf = frame
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	go func() {
		io.WriteString(w, "Content-Length: 2\r\n\r\n[]")
		w.Close()
	}()
	got, err := c.ReadFrame(nil)
	assert.NilError(t, err)
	assert.Equal(t, string(got), "[]")
	_, err = c.ReadFrame(nil)
	assert.Equal(t, err, io.EOF)
	close(stop)
	appenders.Wait()
}

// Only a newline frame can be finished in place.
func TestAutoFinishFrame(t *testing.T) {
	c := framing.Auto(strings.NewReader("Content-Length: 2\r\n\r\n{}"), framing.Limits{})
	frame, err := c.(framing.Finisher).FinishFrame([]byte("{}"))
	assert.NilError(t, err)
	assert.Equal(t, string(frame), "{}\n")
	_, err = c.ReadFrame(nil)
	assert.NilError(t, err)
	frame, err = c.(framing.Finisher).FinishFrame([]byte("{}"))
	assert.ErrorIs(t, err, errors.ErrUnsupported)
	assert.Equal(t, string(frame), "{}")
}
