package framing_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
)

// A readCase is a stream and the results of ReadFrame: a payload, or "error: " and a part of its
// text. The last one ends the stream.
type readCase struct {
	name   string
	limits framing.Limits
	in     string
	want   []string
}

// Ways to split a stream into reads.
var deliveries = map[string]func(io.Reader) io.Reader{
	"at once":    func(r io.Reader) io.Reader { return r },
	"by byte":    iotest.OneByteReader,
	"by half":    iotest.HalfReader,
	"with error": iotest.DataErrReader,
}

func testReads(t *testing.T, framed framing.Framing, cases []readCase) {
	for _, tc := range cases {
		for how, deliver := range deliveries {
			t.Run(tc.name+"/"+how, func(t *testing.T) {
				c := framed(deliver(strings.NewReader(tc.in)), tc.limits)
				got := readAll(t, c)
				assert.Equal(t, len(got), len(tc.want), "%q", got)
				for i, want := range tc.want {
					if text, ok := strings.CutPrefix(want, "error: "); ok {
						assert.Assert(t, strings.HasPrefix(got[i], "error: ") &&
							strings.Contains(got[i], text), "got %q, want %q", got[i], want)
						continue
					}
					assert.Equal(t, got[i], want)
				}
			})
		}
	}
}

// readAll reads until an error that is not about one frame, in one buffer.
func readAll(t testing.TB, c framing.Codec) []string {
	t.Helper()
	var got []string
	buf := []byte("left over from the caller")
	for {
		var err error
		buf, err = c.ReadFrame(buf)
		if err == nil {
			got = append(got, string(buf))
			continue
		}
		assert.Equal(t, len(buf), 0, "an error came with %q", buf)
		got = append(got, "error: "+err.Error())
		if _, ok := errors.AsType[*framing.FrameError](err); ok {
			continue
		}
		_, again := c.ReadFrame(buf)
		assert.Equal(t, again, err, "what ends a stream is not said again")
		return got
	}
}

// An appendCase is the parts of a payload and the frame they make, or the error.
type appendCase struct {
	name   string
	limits framing.Limits
	parts  []string
	want   string
	err    error
}

func testAppends(t *testing.T, framed framing.Framing, cases []appendCase) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := framed(strings.NewReader(""), tc.limits)
			var parts [][]byte
			for _, p := range tc.parts {
				parts = append(parts, []byte(p))
			}
			before := append(make([]byte, 0, 64), "before|"...)
			got, err := c.AppendFrame(before, parts...)
			assert.Assert(t, errors.Is(err, tc.err), "%v", err)
			assert.Equal(t, string(got), "before|"+tc.want, "%q", got)
			if tc.err != nil {
				_, ok := errors.AsType[*framing.FrameError](err)
				assert.Assert(t, ok, "%T", err)
				assert.Equal(t, string(before[:cap(before)][len(before):]),
					strings.Repeat("\x00", 64-len(before)), "spare room was written to")
			}
			if c, ok := c.(framing.Finisher); ok {
				payload := strings.Join(tc.parts, "")
				frame, finishErr := c.FinishFrame([]byte(payload))
				if err == nil {
					payload = tc.want
				}
				assert.Equal(t, string(frame), payload)
				assert.Equal(t, fmt.Sprint(finishErr), fmt.Sprint(err))
			}
		})
	}
}

func TestDefaultLimits(t *testing.T) {
	for _, l := range []framing.Limits{{}, {MaxFrame: -1, MaxHeader: -1}} {
		c := framing.ContentLength(
			strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n", framing.DefaultMaxFrame+1)),
			l)
		_, err := c.ReadFrame(nil)
		assert.Assert(t, errors.Is(err, io.ErrUnexpectedEOF)) // it was being skipped

		c = framing.ContentLength(
			strings.NewReader("X: "+strings.Repeat("x", framing.DefaultMaxHeader)), l)
		_, err = c.ReadFrame(nil)
		assert.ErrorContains(t, err, "more than 4096 bytes")
	}
}

func TestNoLimit(t *testing.T) {
	for name, framed := range framings {
		t.Run(name, func(t *testing.T) {
			c := framed(nil, framing.Limits{MaxFrame: math.MaxInt})
			in, err := c.AppendFrame(nil, bytes.Repeat([]byte("x"), 300_000))
			assert.NilError(t, err)
			got, err := framed(bytes.NewReader(in),
				framing.Limits{MaxFrame: math.MaxInt}).ReadFrame(nil)
			assert.NilError(t, err)
			assert.Equal(t, len(got), 300_000)
		})
	}
}

// framings are those of the table, and resync.
var framings = func() map[string]framing.Framing {
	m := map[string]framing.Framing{"resync": resync}
	for _, f := range framing.Formats() {
		m[f.Name] = f.Framing
	}
	return m
}()

// resync takes every frame for a message, and no line.
var resync = framing.Resync(func(_ []byte, framed bool) bool { return framed }, nil)

// Sizes around every internal boundary: the read buffer, its multiples, and the growth step.
func TestRoundTrip(t *testing.T) {
	var sizes []int
	for _, edge := range []int{1, 4096, 64 << 10, 128 << 10, 1 << 20, 2 << 20} {
		for d := -2; d <= 2; d++ {
			sizes = append(sizes, max(1, edge+d))
		}
	}
	for name, framed := range framings {
		t.Run(name, func(t *testing.T) {
			var wire []byte
			var err error
			c := framed(nil, framing.Limits{})
			for _, n := range sizes {
				wire, err = c.AppendFrame(wire, payload(n/2), payload(n-n/2))
				assert.NilError(t, err)
			}
			for how, deliver := range deliveries {
				if how == "by byte" {
					continue // it would take minutes, and the tables test it
				}
				c := framed(deliver(bytes.NewReader(wire)), framing.Limits{})
				auto := framing.Auto(deliver(bytes.NewReader(wire)), framing.Limits{})
				var buf, buf2 []byte
				for _, n := range sizes {
					want := append(payload(n/2), payload(n-n/2)...)
					buf, err = c.ReadFrame(buf)
					assert.NilError(t, err)
					assert.Assert(t, bytes.Equal(buf, want), "%d bytes", n)
					buf2, err = auto.ReadFrame(buf2)
					assert.NilError(t, err)
					assert.Assert(t, bytes.Equal(buf2, want), "%d bytes", n)
				}
				_, err = c.ReadFrame(buf)
				assert.Equal(t, err, io.EOF)
			}
		})
	}
}

// payload makes n bytes that differ from their neighbours and contain no line break.
func payload(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('!' + i%89)
	}
	return b
}

// The error of the reader is returned unchanged, by every later read.
func TestReaderError(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		framed framing.Framing
		in     string
	}{
		"newline, between":        {framing.Newline, "{}\n"},
		"newline, inside":         {framing.Newline, "{}\n{"},
		"newline, long":           {framing.Newline, "{}\n" + strings.Repeat("x", 100_000)},
		"content length, between": {framing.ContentLength, "Content-Length: 2\n\n{}"},
		"content length, header":  {framing.ContentLength, "Content-Length: 2\n\n{}Cont"},
		"content length, body": {framing.ContentLength,
			"Content-Length: 2\n\n{}Content-Length: 2\n\n{"},
		"content length, skip": {framing.ContentLength,
			"Content-Length: 2\n\n{}Content-Length: 2000\n\n{"},
		"auto, inside":    {framing.Auto, "{}\n{"},
		"resync, between": {resync, "log\nContent-Length: 2\n\n{}"},
		"resync, line":    {resync, "Content-Length: 2\n\n{}log"},
		"resync, header":  {resync, "Content-Length: 2\n\n{}Content-Length: 2\nCont"},
		"resync, body":    {resync, "Content-Length: 2\n\n{}Content-Length: 2\n\n"},
		"resync, skip":    {resync, "Content-Length: 2\n\n{}Content-Length: 2000\n\n{"},
	} {
		t.Run(name, func(t *testing.T) {
			// The reader fails once only: the codec must remember.
			r := io.MultiReader(strings.NewReader(tc.in), &failOnce{err: broken},
				strings.NewReader("{}\n{}\n"))
			c := tc.framed(r, framing.Limits{MaxFrame: 1000})
			if name == "newline, long" {
				c = tc.framed(r, framing.Limits{})
			}
			got, err := c.ReadFrame(nil)
			assert.NilError(t, err)
			assert.Equal(t, string(got), "{}")
			for range 3 {
				got, err = c.ReadFrame(got)
				assert.Equal(t, err, broken)
				assert.Equal(t, len(got), 0)
			}
		})
	}
	c := framing.Auto(&failOnce{err: broken}, framing.Limits{})
	for range 3 {
		_, err := c.ReadFrame(nil)
		assert.Equal(t, err, broken, "before anything was read")
	}
}

// EOF is final, even if the reader returns more data after it, as a terminal does.
func TestErrorIsFinal(t *testing.T) {
	all := maps.Clone(framings)
	all["auto"] = framing.Auto
	for name, framed := range all {
		t.Run(name, func(t *testing.T) {
			r := &afterEnd{r: strings.NewReader("{}\n")}
			c := framed(r, framing.Limits{})
			for range 3 {
				_, err := c.ReadFrame(nil)
				assert.Equal(t, err, io.EOF)
			}
			assert.Assert(t, r.ended)
		})
	}
}

// afterEnd ends once and then reads from r.
type afterEnd struct {
	ended bool
	r     io.Reader
}

func (a *afterEnd) Read(p []byte) (int, error) {
	if !a.ended {
		a.ended = true
		return 0, io.EOF
	}
	return a.r.Read(p)
}

type failOnce struct{ err error }

func (f *failOnce) Read([]byte) (int, error) {
	err := f.err
	if err == nil {
		err = io.EOF
	}
	f.err = nil
	return 0, err
}

func TestCallerKeepsBuffer(t *testing.T) {
	for name, tc := range map[string]struct {
		framed framing.Framing
		in     string
	}{
		"newline": {framing.Newline, "{}\ntoo large\n[]\n"},
		"content length": {framing.ContentLength,
			"Content-Length: 2\n\n{}Content-Length: 9\n\ntoo largeContent-Length: 2\n\n[]"},
		"resync": {resync,
			"log\nContent-Length: 2\n\n{}Content-Length: 9\n\ntoo largeContent-Length: 2\n\n[]"},
	} {
		t.Run(name, func(t *testing.T) {
			buf := make([]byte, 1, 100)
			start := &buf[0]
			c := tc.framed(strings.NewReader(tc.in), framing.Limits{MaxFrame: 4})
			for _, want := range []string{"{}", "", "[]", ""} {
				buf, _ = c.ReadFrame(buf)
				assert.Equal(t, string(buf), want)
				assert.Equal(t, cap(buf), 100)
				assert.Equal(t, &buf[:1][0], start)
			}
		})
	}
}

// loop reads the same bytes over and over, and counts them.
type loop struct {
	data []byte
	read int
}

func (l *loop) Read(p []byte) (int, error) {
	n := copy(p, l.data[l.read%len(l.data):])
	l.read += n
	return n, nil
}

// allocated returns the bytes that f allocates, garbage included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
