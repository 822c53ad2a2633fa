package framing_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
)

func TestNewlineRead(t *testing.T) {
	small := framing.Limits{MaxFrame: 4}
	x := strings.Repeat
	testReads(t, framing.Newline, []readCase{
		{name: "nothing", in: "", want: []string{"error: EOF"}},
		{name: "one", in: "{}\n", want: []string{"{}", "error: EOF"}},
		{name: "two", in: "{}\n[]\n", want: []string{"{}", "[]", "error: EOF"}},
		{name: "CRLF", in: "{}\r\n[]\r\n", want: []string{"{}", "[]", "error: EOF"}},
		{name: "only one CR belongs to the line end", in: "{}\r\r\n",
			want: []string{"{}\r", "error: EOF"}},
		{name: "CR alone ends nothing", in: "{\r}\n", want: []string{"{\r}", "error: EOF"}},
		{name: "last line unterminated", in: "{}\n[1]", want: []string{"{}", "[1]", "error: EOF"}},
		{name: "last line ends on CR", in: "[1]\r", want: []string{"[1]", "error: EOF"}},
		{name: "last line is one byte", in: "1", want: []string{"1", "error: EOF"}},
		{name: "blank lines", in: "\n\r\n \t \n{}\n\n\n[]\n \n  ",
			want: []string{"{}", "[]", "error: EOF"}},
		{name: "space around is payload", in: " {} \n", want: []string{" {} ", "error: EOF"}},
		{name: "any bytes", in: "{}\n\x00\xff\nnot json\n",
			want: []string{"{}", "\x00\xff", "not json", "error: EOF"}},
		{name: "byte order mark", in: bom + "{}\n" + bom + "{}\n",
			want: []string{"{}", bom + "{}", "error: EOF"}},
		{name: "two byte order marks", in: bom + bom + "{}\n",
			want: []string{bom + "{}", "error: EOF"}},
		{name: "byte order mark alone on a line", in: bom + "\n{}\n",
			want: []string{"{}", "error: EOF"}},
		{name: "short line", in: "1\n", want: []string{"1", "error: EOF"}},
		{name: "half a byte order mark", in: bom[:1] + "\n",
			want: []string{bom[:1], "error: EOF"}},
		{name: "a header is a line", in: "Content-Length: 2\r\n\r\n{}\n",
			want: []string{"Content-Length: 2", "{}", "error: EOF"}},

		{name: "at the limit", limits: small, in: "1234\n1234\r\n1234",
			want: []string{"1234", "1234", "1234", "error: EOF"}},
		{name: "over the limit", limits: small, in: "{}\n12345\n[]\n",
			want: []string{"{}", "error: frame of 5 bytes is over the limit of 4", "[]",
				"error: EOF"}},
		{name: "over the limit, CRLF", limits: small, in: "12345\r\n[]\r\n",
			want: []string{"error: over the limit of 4", "[]", "error: EOF"}},
		{name: "over the limit, last", limits: small, in: "12345678",
			want: []string{"error: frame of 8 bytes is over the limit of 4", "error: EOF"}},
		{name: "over the limit, all blank", limits: small, in: "        \n[]\n",
			want: []string{"error: over the limit of 4", "[]", "error: EOF"}},
		{name: "just under 16 times", limits: small, in: x("x", 62) + "\n[]\n",
			want: []string{"error: frame of 62 bytes", "[]", "error: EOF"}},
		{name: "16 times", limits: small, in: x("x", 63) + "\n[]\n",
			want: []string{"error: lost the frame boundary: a line of 64 bytes or more, with a limit of 4"}},

		{name: "long, at the limit", limits: framing.Limits{MaxFrame: 70_000},
			in:   x("x", 70_000) + "\r\n" + x("y", 70_000) + "\n" + x("z", 70_000),
			want: []string{x("x", 70_000), x("y", 70_000), x("z", 70_000), "error: EOF"}},
		{name: "long, over the limit", limits: framing.Limits{MaxFrame: 70_000},
			in: x("x", 70_001) + "\r\n" + x("y", 300_000) + "\n" + x("z", 70_003) + "\n{}\n" +
				x("z", 70_001),
			want: []string{"error: over the limit of 70000", "error: frame of 300000 bytes",
				"error: frame of 70003 bytes", "{}", "error: frame of 70001 bytes", "error: EOF"}},
		{name: "long, blank", in: x(" ", 200_000) + "\n{}\n" + x(" ", 65536),
			want: []string{"{}", "error: EOF"}},
		{name: "long, line end across the buffer", in: x("x", 65535) + "\r\n" + x("y", 65534) +
			"\r\n" + x("z", 65536) + "\n{}\n",
			want: []string{x("x", 65535), x("y", 65534), x("z", 65536), "{}", "error: EOF"}},
		{name: "long, last is a whole buffer", in: x("x", 65536),
			want: []string{x("x", 65536), "error: EOF"}},
	})
}

func TestNewlineEndlessLine(t *testing.T) {
	r := &loop{data: bytes.Repeat([]byte("x"), 1000)}
	c := framing.Newline(r, framing.Limits{MaxFrame: 1 << 20})
	buf, err := c.ReadFrame(nil)
	sync, ok := errors.AsType[*framing.SyncError](err)
	assert.Assert(t, ok, "%v", err)
	assert.ErrorIs(t, sync, framing.ErrTooLarge)
	assert.Assert(t, sync.Size >= 16<<20 && sync.Size <= 17<<20 && sync.Limit == 1<<20, "%+v", sync)
	assert.Assert(t, r.read <= 17<<20, "%d bytes read", r.read)
	assert.Assert(t, cap(buf) <= 5<<19, "%d bytes of memory", cap(buf))
	_, again := c.ReadFrame(buf)
	assert.Equal(t, again, err)
}

func TestNewlineAppend(t *testing.T) {
	small := framing.Limits{MaxFrame: 4}
	testAppends(t, framing.Newline, []appendCase{
		{name: "one part", parts: []string{"{}"}, want: "{}\n"},
		{name: "parts", parts: []string{"{", "", "}", " "}, want: "{} \n"},
		{name: "any bytes", parts: []string{"\x00\xff"}, want: "\x00\xff\n"},
		{name: "at the limit", limits: small, parts: []string{"12", "34"}, want: "1234\n"},
		{name: "over the limit", limits: small, parts: []string{"12", "345"},
			err: framing.ErrTooLarge},
		{name: "no parts", err: framing.ErrEmpty},
		{name: "empty", parts: []string{"", ""}, err: framing.ErrEmpty},
		{name: "blank", parts: []string{" ", "\t"}, err: framing.ErrEmpty},
		{name: "LF", parts: []string{"{", "}\n"}, err: framing.ErrLineBreak},
		{name: "CR", parts: []string{"{\r", "}"}, err: framing.ErrLineBreak},
		{name: "only LF", parts: []string{"\n"}, err: framing.ErrLineBreak},
	})
}

func TestFrameErrorText(t *testing.T) {
	c := framing.Newline(nil, framing.Limits{MaxFrame: 4})
	for want, payload := range map[string]string{
		"framing: frame of 5 bytes is over the limit of 4: send less, or raise the limit": "12345",
		"framing: line break at byte 2 of a newline frame: remove or escape it":           "{}\n",
		"framing: frame is empty: put one message into each frame":                        "",
	} {
		_, err := c.AppendFrame(nil, []byte(payload))
		assert.Error(t, err, want)
	}
	_, err := c.AppendFrame(nil, []byte("1"), []byte("2\r"))
	line, ok := errors.AsType[*framing.FrameError](err)
	assert.Assert(t, ok)
	assert.Equal(t, line.Offset, 2)
	_, err = framing.Newline(strings.NewReader("12345"), framing.Limits{MaxFrame: 4}).ReadFrame(nil)
	large, ok := errors.AsType[*framing.FrameError](err)
	assert.Assert(t, ok)
	assert.DeepEqual(t, []int64{large.Size, int64(large.Limit)}, []int64{5, 4})
	assert.Assert(t, !errors.Is(err, io.ErrUnexpectedEOF))
}
