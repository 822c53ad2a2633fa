package framing_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
)

// A chunked reader delivers at most n bytes a call.
type chunked struct {
	r io.Reader
	n int
}

func (c chunked) Read(p []byte) (int, error) { return c.r.Read(p[:min(len(p), c.n)]) }

// fuzzReads reads all of in, split into chunks, and returns the result of readAll. It checks the
// rules for every framing: the limit, the memory, that the chunks do not change the result, and
// that a payload that is framed again is read unchanged.
func fuzzReads(
	t *testing.T, framed framing.Framing, in []byte, limits framing.Limits, chunk int,
) []string {
	got := readAll(t, framed(bytes.NewReader(in), limits))
	cut := readAll(t, framed(chunked{bytes.NewReader(in), max(1, chunk)}, limits))
	assert.Assert(t, slices.Equal(cut, got), "%q cut into %d", in, chunk)

	c := framed(bytes.NewReader(in), limits)
	var buf, wire []byte
	for {
		var err error
		buf, err = c.ReadFrame(buf)
		assert.Assert(t, cap(buf) <= 3*len(in)+(1<<20), "%d bytes of memory for %d", cap(buf),
			len(in))
		if _, skipped := errors.AsType[*framing.FrameError](err); skipped {
			continue
		}
		if err != nil {
			return got
		}
		assert.Assert(t, 0 < len(buf) &&
			len(buf) <= limits.MaxFrame, "%d bytes within %d", len(buf), limits.MaxFrame)
		// After another frame, because the first one is special to Auto.
		wire, err = c.AppendFrame(wire[:0], []byte("0"))
		assert.NilError(t, err)
		wire, err = c.AppendFrame(wire, buf)
		if errors.Is(err, framing.ErrLineBreak) {
			// A CR inside a line is read as it is, but not written.
			assert.Assert(t, bytes.IndexByte(buf, '\r') >= 0 &&
				bytes.IndexByte(buf, '\n') < 0, "%q", buf)
			continue
		}
		assert.NilError(t, err)
		again := readAll(t, framed(bytes.NewReader(wire), limits))
		assert.Assert(t, slices.Equal(again, []string{"0", string(buf), "error: EOF"}), "%q", wire)
	}
}

func FuzzNewline(f *testing.F) {
	f.Add([]byte("{}\n[]\r\n \n\n1"), 1<<20, 1)
	f.Add([]byte("{\r}\r\r\n\xef\xbb\xbf\x00\xff\n"), 3, 3)
	f.Add([]byte("123456789\n12\n"+strings.Repeat("x", 100)+"\n"), 4, 7)
	f.Add([]byte("~~\r\n{}\n~1~\n~~~~"), 60_000, 4096)
	f.Add([]byte("~~~~~~\n~\n"), 10_000, 4096)
	f.Add([]byte("\uFEFF{}\n\uFEFF{}\n"), 3, 3)
	f.Fuzz(func(t *testing.T, in []byte, limit, chunk int) {
		limit = 1 + limit&0x1ffff
		// Short to mutate, long to read: lines that do not fit into the read buffer.
		if bytes.IndexByte(in, '~') >= 0 {
			in = bytes.Replace(in, []byte("~"), bytes.Repeat([]byte("~"), 30_000), 8)
			chunk = max(chunk, 1000)
		}
		got := fuzzReads(t, framing.Newline, in, framing.Limits{MaxFrame: limit}, chunk)

		// The simplest implementation, which uses much memory.
		var want []string
		for line := range bytes.Lines(bytes.TrimPrefix(in, []byte("\uFEFF"))) {
			payload := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
			switch {
			case len(line)/16 >= limit:
				want = append(want, "lost")
			case len(payload) > limit:
				want = append(want, "too large")
			case len(bytes.Trim(payload, " \t\r")) > 0:
				want = append(want, string(payload))
			}
			if len(line)/16 >= limit {
				break
			}
		}
		if len(want) == 0 || want[len(want)-1] != "lost" {
			want = append(want, "error: EOF")
		}
		assert.Equal(t, len(got), len(want), "%q, want %q", got, want)
		for i := range got {
			switch want[i] {
			case "lost":
				assert.Assert(t,
					strings.HasPrefix(got[i], "error: framing: lost the frame boundary"), got[i])
			case "too large":
				assert.Assert(t, strings.Contains(got[i], "over the limit of"), got[i])
			default:
				assert.Equal(t, got[i], want[i])
			}
		}
	})
}

func FuzzContentLength(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}content-length:1\n\n1"), 1<<20, 1)
	f.Add([]byte("Content-Type: a; charset=\"utf8\"\r\nContent-Length: 9\r\n\r\n123456789Content-Length: 0\n\n"),
		4, 3)
	f.Add([]byte("Content-Length: 1099511627776\r\n\r\n{}"), 1<<20, 5)
	f.Add([]byte("Content-Length: 1000000\r\n\r\n{}"), 1<<20, 5)
	f.Add([]byte("Content-Length: 1\nContent-Length: 2\n\n{}"), 100, 5)
	f.Fuzz(func(t *testing.T, in []byte, limit, chunk int) {
		limits := framing.Limits{MaxFrame: 1 + limit&0xfffff, MaxHeader: 128}
		fuzzReads(t, framing.ContentLength, in, limits, chunk)

		// Any bytes can be a payload, whatever follows.
		if len(in) == 0 || len(in) > limits.MaxFrame {
			return
		}
		wire, err := framing.ContentLength(nil, limits).AppendFrame(nil, in)
		assert.NilError(t, err)
		got, err := framing.ContentLength(bytes.NewReader(append(wire, in...)),
			limits).ReadFrame(nil)
		assert.NilError(t, err)
		assert.Assert(t, bytes.Equal(got, in))
	})
}

func FuzzAuto(f *testing.F) {
	f.Add([]byte("\n {}\n[]\n"), 1<<20, 1)
	f.Add([]byte("\r\nContent-Length: 2\r\n\r\n{}"), 1<<20, 3)
	f.Add([]byte("contenT-Length: 9\r\n\r\n123456789"), 4, 3)
	f.Add([]byte("Content: {}\n"), 100, 5)
	f.Fuzz(func(t *testing.T, in []byte, limit, chunk int) {
		limits := framing.Limits{MaxFrame: 1 + limit&0xfffff, MaxHeader: 128}
		got := fuzzReads(t, framing.Auto, in, limits, chunk)

		in = bytes.TrimLeft(in, " \t\r\n")
		c := framing.Auto(bytes.NewReader(in), limits)
		c.ReadFrame(nil)
		f := framing.FormatOf(c)
		if len(in) >= 8 && strings.EqualFold(string(in[:8]), "content-") {
			assert.Equal(t, f.Name, "content-length")
		}
		want := readAll(t, f.Framing(bytes.NewReader(in), limits))
		assert.Assert(t, slices.Equal(got, want), "%q: got %q, want %q", in, got, want)
	})
}

// FuzzFormats checks the rules of fuzzReads for every framing of the table.
func FuzzFormats(f *testing.F) {
	for i, format := range framing.Formats() {
		c := format.Framing(nil, framing.Limits{})
		frames, _ := c.AppendFrame(nil, []byte("{}"))
		frames, _ = c.AppendFrame(frames, []byte("123456789"))
		f.Add(frames, i, 1<<20, 1)
		f.Add(frames, i, 4, 3)
		f.Add(frames[:len(frames)-1], i, 1<<20, 5)
	}
	f.Fuzz(func(t *testing.T, in []byte, i, limit, chunk int) {
		formats := framing.Formats()
		fuzzReads(t, formats[uint(i)%uint(len(formats))].Framing, in,
			framing.Limits{MaxFrame: 1 + limit&0xfffff, MaxHeader: 128}, chunk)
	})
}
