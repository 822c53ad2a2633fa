package framing_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
)

func TestContentLengthRead(t *testing.T) {
	small := framing.Limits{MaxFrame: 4, MaxHeader: 64}
	const frame = "Content-Length: 2\r\n\r\n{}" // a good one, to show that the stream is aligned
	x := strings.Repeat
	testReads(t, framing.ContentLength, []readCase{
		{name: "nothing", in: "", want: []string{"error: EOF"}},
		{name: "one", in: frame, want: []string{"{}", "error: EOF"}},
		{name: "two", in: frame + "Content-Length: 3\r\n\r\n[1]",
			want: []string{"{}", "[1]", "error: EOF"}},
		{name: "LF", in: "Content-Length: 2\n\n{}" + frame,
			want: []string{"{}", "{}", "error: EOF"}},
		{name: "mixed line ends", in: "Content-Length: 2\n\r\n{}" + frame,
			want: []string{"{}", "{}", "error: EOF"}},
		{name: "any case", in: "content-LENGTH: 2\r\n\r\n{}", want: []string{"{}", "error: EOF"}},
		{name: "no space", in: "Content-Length:2\r\n\r\n{}", want: []string{"{}", "error: EOF"}},
		{name: "much space", in: "Content-Length: \t 2 \t\r\n\r\n{}",
			want: []string{"{}", "error: EOF"}},
		{name: "unknown headers", in: "X-A: b\r\nX_1!:\r\nContent-Length: 2\r\nX-C: d: e\r\n\r\n{}",
			want: []string{"{}", "error: EOF"}},
		{name: "leading zeros", in: "Content-Length: 0000000000000000000000002\r\n\r\n{}",
			want: []string{"{}", "error: EOF"}},
		{name: "same length twice", in: "Content-Length: 2\r\ncontent-length: 02\r\n\r\n{}",
			want: []string{"{}", "error: EOF"}},
		{name: "line breaks in the payload", in: "Content-Length: 6\r\n\r\n{\r\n\n}\n" + frame,
			want: []string{"{\r\n\n}\n", "{}", "error: EOF"}},
		{name: "any bytes", in: "Content-Length: 5\r\n\r\n\xef\xbb\xbf\x00\xff",
			want: []string{"\xef\xbb\xbf\x00\xff", "error: EOF"}},

		{name: "two lengths", in: "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
			want: []string{"error: Content-Length is both 2 and 3"}},
		{name: "plus", in: "Content-Length: +2\r\n\r\n{}",
			want: []string{`error: Content-Length "+2" is not a number`}},
		{name: "minus", in: "Content-Length: -2\r\n\r\n{}",
			want: []string{`error: Content-Length "-2" is not a number`}},
		{name: "inner space", in: "Content-Length: 1 2\r\n\r\n{}",
			want: []string{`error: "1 2" is not a number`}},
		{name: "list", in: "Content-Length: 2, 2\r\n\r\n{}",
			want: []string{"error: is not a number"}},
		{name: "hex", in: "Content-Length: 0x2\r\n\r\n{}",
			want: []string{"error: is not a number"}},
		{name: "fraction", in: "Content-Length: 2.0\r\n\r\n{}",
			want: []string{"error: is not a number"}},
		{name: "other digits", in: "Content-Length: ٢\r\n\r\n{}",
			want: []string{"error: is not a number"}},
		{name: "no digits", in: "Content-Length:\r\n\r\n{}",
			want: []string{`error: "" is not a number`}},
		{name: "over int64", in: "Content-Length: 18446744073709551618\r\n\r\n{}",
			want: []string{"error: is not a number"}},
		{name: "CR inside", in: "Content-Length: 2\r\r\n\r\n{}",
			want: []string{"error: is not a number"}},

		{name: "no length", in: "X: y\r\n\r\n{}",
			want: []string{"error: a header block without Content-Length"}},
		{name: "line ends between frames", in: "\r\n" + frame + x("\n", 100) + frame + "\r\n",
			want: []string{"{}", "{}", "error: EOF"}},
		{name: "newline framing", in: "{}\n", want: []string{
			`error: "{}" is no header, but JSON: the other side sends each message as a line, see Newline`}},
		{name: "newline framing, a batch", in: "[]\n", want: []string{`error: "[]" is no header, but`}},
		{name: "no colon", in: "hello world\r\n\r\n",
			want: []string{`error: "hello world" is no header`}},
		{name: "no name", in: ": 2\r\n\r\n{}", want: []string{`error: ": 2" is no header`}},
		{name: "space before the colon", in: "Content-Length : 2\r\n\r\n{}",
			want: []string{"error: is no header"}},
		{name: "folded", in: "Content-Length: 2\r\n x: 3\r\n\r\n{}",
			want: []string{`error: " x: 3" is no header`}},
		{name: "byte order mark", in: "\xef\xbb\xbfContent-Length: 2\r\n\r\n{}",
			want: []string{"error: is no header"}},
		{name: "long garbage is not quoted whole", in: x("\x01", 200) + "\n",
			want: []string{`error: "` + x(`\x01`, 64) + `"... is no header`}},
		{name: "body longer than said", in: "Content-Length: 1\r\n\r\n{}\n",
			want: []string{"{", `error: "}" is no header`}},

		{name: "empty", in: "Content-Length: 0\r\n\r\n" + frame,
			want: []string{"error: frame is empty", "{}", "error: EOF"}},
		{name: "at the limit", limits: small, in: "Content-Length: 4\r\n\r\n1234",
			want: []string{"1234", "error: EOF"}},
		{name: "over the limit", limits: small, in: "Content-Length: 5\r\n\r\n12345" + frame,
			want: []string{"error: frame of 5 bytes is over the limit of 4", "{}", "error: EOF"}},
		{name: "just under 16 times", limits: small, in: "Content-Length: 63\r\n\r\n" + x("x", 63) +
			frame, want: []string{"error: frame of 63 bytes", "{}", "error: EOF"}},
		{name: "16 times", limits: small, in: "Content-Length: 64\r\n\r\n" + x("x", 64) + frame,
			want: []string{"error: lost the frame boundary: a frame of 64 bytes, with a limit of 4"}},
		{name: "header at the limit", limits: small, in: "X: " + x("x", 64-24-4) +
			"\nContent-Length:    2\r\n\r\n{}", want: []string{"{}", "error: EOF"}},
		{name: "header over the limit", limits: small, in: "X: " + x("x", 64-24-4+1) +
			"\nContent-Length:    2\r\n\r\n{}",
			want: []string{"error: a header block of more than 64 bytes"}},
		{name: "header lines to the limit", limits: small, in: x("X:\n", 64),
			want: []string{"error: a header block of more than 64 bytes"}},
		{name: "header over the buffer", limits: framing.Limits{MaxHeader: 80_000}, in: "X: " +
			x("x", 70_000) + "\n" + frame, want: []string{"{}", "error: EOF"}},

		{name: "cut in a header", in: "Content-Len",
			want: []string{"error: the stream ended inside a header block"}},
		{name: "cut after a header", in: "Content-Length: 2\r\n",
			want: []string{"error: the stream ended inside a header block"}},
		{name: "cut before the body", in: "Content-Length: 2\r\n\r\n",
			want: []string{"error: the stream ended after 0 of 2 bytes"}},
		{name: "cut in the body", in: "Content-Length: 2\r\n\r\n{",
			want: []string{"error: the stream ended after 1 of 2 bytes"}},
		{name: "cut in a long body", in: "Content-Length: 90000\r\n\r\n" + x("x", 80_000),
			want: []string{"error: the stream ended after 80000 of 90000 bytes"}},
		{name: "cut while skipping", limits: small, in: "Content-Length: 9\r\n\r\n12345",
			want: []string{"error: the stream ended after 5 of 9 bytes"}},
	})
}

func TestContentType(t *testing.T) {
	for value, ok := range map[string]bool{
		"application/vscode-jsonrpc; charset=utf-8":             true,
		"application/vscode-jsonrpc; charset=utf8":              true,
		"application/vscode-jsonrpc;charset=UTF-8":              true,
		"application/vscode-jsonrpc; Charset=\"Utf-8\"":         true,
		"application/vscode-jsonrpc; charset = utf8 ; a=b":      true,
		"application/json":                                      true,
		"":                                                      true,
		";;":                                                    true,
		`a/b; title="; charset=latin1"; charset=utf-8`:          true,
		`a/b; title="\"; charset=latin1"; charset=utf-8`:        true,
		`a/b; title="; charset=utf-8"; charset=latin1`:          false,
		"application/vscode-jsonrpc; charset=utf-16":            false,
		"application/vscode-jsonrpc; charset=utf-8; charset=x":  false,
		"application/vscode-jsonrpc; charset=":                  false,
		"application/vscode-jsonrpc; charset":                   false,
		"application/vscode-jsonrpc; charset=\"":                false,
		"application/vscode-jsonrpc; a=b; charset=iso-8859-1;x": false,
	} {
		t.Run(value, func(t *testing.T) {
			in := "content-type: " + value + "\r\nContent-Length: 2\r\n\r\n{}"
			got, err := framing.ContentLength(strings.NewReader(in),
				framing.Limits{}).ReadFrame(nil)
			if !ok {
				assert.ErrorContains(t, err, "is not in UTF-8")
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, string(got), "{}")
		})
	}
}

// The errors that match io.ErrUnexpectedEOF, and those that are final.
func TestContentLengthErrorTypes(t *testing.T) {
	for in, wantErr := range map[string]error{
		"Content-Length: 2\r\n\r\n{":         io.ErrUnexpectedEOF,
		"Content-Length: 2\r\n\r\n":          io.ErrUnexpectedEOF,
		"Content-":                           io.ErrUnexpectedEOF,
		"Content-Length: 5\r\n\r\n{":         io.ErrUnexpectedEOF, // over the limit
		"Content-Length: x\r\n\r\n":          nil,
		"Content-Length: 1000000000\r\n\r\n": framing.ErrTooLarge,
	} {
		c := framing.ContentLength(strings.NewReader(in), framing.Limits{MaxFrame: 4})
		_, err := c.ReadFrame(nil)
		sync, ok := errors.AsType[*framing.SyncError](err)
		assert.Assert(t, ok, "%q: %v", in, err)
		assert.Equal(t, sync.Err, wantErr, "%q", in)
		assert.Equal(t, errors.Is(err, io.ErrUnexpectedEOF), wantErr == io.ErrUnexpectedEOF, "%q",
			in)
		assert.Assert(t, !errors.Is(err, io.EOF), "%q", in)
	}
}

// A header block over the limit is detected at the limit, not when a buffer is full: the peer may
// send no more.
func TestHeaderLimitDoesNotWait(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go io.WriteString(w, "X: "+strings.Repeat("x", 100))
	_, err := framing.ContentLength(r, framing.Limits{MaxHeader: 100}).ReadFrame(nil)
	assert.ErrorContains(t, err, "more than 100 bytes")
}

func TestEndlessHeader(t *testing.T) {
	for _, line := range []string{"x", "X: y\n"} {
		r := &loop{data: []byte(line)}
		_, err := framing.ContentLength(r, framing.Limits{}).ReadFrame(nil)
		assert.ErrorContains(t, err, "more than 4096 bytes")
		assert.Assert(t, r.read <= 64<<10, "%d bytes read", r.read)
	}
}

// The length in a header is not allocated up front.
func TestAnnouncedLength(t *testing.T) {
	for _, claim := range []int64{1 << 30, 1 << 40, math.MaxInt64} {
		for _, limit := range []int{0, 1 << 20, math.MaxInt} {
			for _, body := range []int{0, 100_000} {
				t.Run(fmt.Sprintf("%d within %d after %d", claim, limit, body), func(t *testing.T) {
					if int64(limit) < claim && claim/16 < int64(limit) {
						t.Skip("would be skipped, which TestSkipNeedsNoMemory is about")
					}
					in := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", claim,
						strings.Repeat("x", body))
					var err error
					spent := allocated(func() {
						_, err = framing.ContentLength(strings.NewReader(in),
							framing.Limits{MaxFrame: limit}).ReadFrame(nil)
					})
					_, ok := errors.AsType[*framing.SyncError](err)
					assert.Assert(t, ok, "%v", err)
					assert.Assert(t, spent < 3<<20, "%d bytes allocated", spent)
				})
			}
		}
	}
}

// Memory grows with the bytes that arrived.
func TestSlowGrowth(t *testing.T) {
	in := "Content-Length: 60000000\r\n\r\n" + strings.Repeat("x", 10_000_000)
	spent := allocated(func() {
		buf, err := framing.ContentLength(strings.NewReader(in), framing.Limits{}).ReadFrame(nil)
		assert.ErrorContains(t, err, "after 10000000 of 60000000")
		assert.Assert(t, cap(buf) < 25_000_000, "%d", cap(buf))
	})
	assert.Assert(t, spent < 60_000_000, "%d bytes allocated", spent)
}

func TestSkipNeedsNoMemory(t *testing.T) {
	const size = 200 << 20
	for name, tc := range map[string]struct {
		framed framing.Framing
		in     io.Reader
	}{
		"content length": {framing.ContentLength, io.MultiReader(
			strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\n", size)),
			io.LimitReader(&loop{data: payload(64 << 10)}, size),
			strings.NewReader("Content-Length: 2\r\n\r\n{}"))},
		"newline": {framing.Newline, io.MultiReader(
			io.LimitReader(&loop{data: payload(64 << 10)}, size),
			strings.NewReader("\n{}\n"))},
	} {
		t.Run(name, func(t *testing.T) {
			spent := allocated(func() {
				c := tc.framed(tc.in, framing.Limits{MaxFrame: 14 << 20})
				_, err := c.ReadFrame(nil)
				assert.Error(t, err,
					"framing: frame of 209715200 bytes is over the limit of 14680064: send less, or raise the limit")
				got, err := c.ReadFrame(nil)
				assert.NilError(t, err)
				assert.Equal(t, string(got), "{}")
			})
			assert.Assert(t, spent < 80<<20, "%d bytes allocated", spent)
		})
	}
}

// A length may arrive byte by byte, even together with the end of the stream.
func TestHeaderWithError(t *testing.T) {
	r := iotest.DataErrReader(iotest.OneByteReader(strings.NewReader("Content-Length: 1\n\n1")))
	c := framing.ContentLength(r, framing.Limits{})
	got, err := c.ReadFrame(nil)
	assert.NilError(t, err)
	assert.Equal(t, string(got), "1")
	_, err = c.ReadFrame(nil)
	assert.Equal(t, err, io.EOF)
}

func TestContentLengthAppend(t *testing.T) {
	small := framing.Limits{MaxFrame: 4}
	smaller := framing.Limits{MaxFrame: 5, MaxAppend: 4}
	testAppends(t, framing.ContentLength, []appendCase{
		{name: "one part", parts: []string{"{}"}, want: "Content-Length: 2\r\n\r\n{}"},
		{name: "parts", parts: []string{"{", "", "}", " "}, want: "Content-Length: 3\r\n\r\n{} "},
		{name: "any bytes", parts: []string{"\x00\r\n\xff\n"},
			want: "Content-Length: 5\r\n\r\n\x00\r\n\xff\n"},
		{name: "at the limit", limits: small, parts: []string{"12", "34"},
			want: "Content-Length: 4\r\n\r\n1234"},
		{name: "over the limit", limits: small, parts: []string{"12", "345"},
			err: framing.ErrTooLarge},
		{name: "at the limit for this direction", limits: smaller, parts: []string{"1234"},
			want: "Content-Length: 4\r\n\r\n1234"},
		{name: "over the limit for this direction", limits: smaller, parts: []string{"12345"},
			err: framing.ErrTooLarge},
		{name: "no parts", err: framing.ErrEmpty},
		{name: "empty", parts: []string{"", ""}, err: framing.ErrEmpty},
	})
}
