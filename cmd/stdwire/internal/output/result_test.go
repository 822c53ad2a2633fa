package output

import (
	"strings"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"gotest.tools/v3/assert"
)

func TestPrintResult(t *testing.T) {
	for _, tt := range []struct{ name, result, piped, terminal, stderr string }{
		{name: "text", result: `{"content":[{"type":"text","text":"Echo: hi"}]}`,
			piped: "Echo: hi\n"},
		{name: "two texts",
			result: `{"content":[{"type":"text","text":"a\n"},{"type":"text","text":"b"}]}`,
			piped:  "a\nb\n"},
		{name: "escapes",
			result:   `{"content":[{"type":"text","text":"\u001b[31mred\u001b[0m \u202etrojan \udb40\udc41\u0007"}]}`,
			piped:    "\x1b[31mred\x1b[0m \u202etrojan \U000E0041\x07\n",
			terminal: `red \u202etrojan \U000e0041\u0007` + "\n"},
		{name: "image", result: `{"content":[{"type":"image","mimeType":"image/png","data":"iVBORw=="},{"type":"audio","mimeType":"audio/\u001b[1mwav","data":"AAAA"}]}`,
			piped: "[image image/png 4 B → --save DIR]\n[audio audio/wav 3 B → --save DIR]\n"},
		{name: "resources",
			result: `{"content":[{"type":"resource","resource":{"uri":"a:b","text":"whole\ntext"}},{"type":"resource","resource":{"uri":"a:c","mimeType":"x/y","blob":"AAAA"}},` +
				`{"type":"resource_link","uri":"file:///x","name":"x","mimeType":"text/plain"}]}`,
			piped: "whole\ntext\n[resource a:c x/y 3 B → --save DIR]\n[link file:///x x text/plain]\n"},
		{name: "unknown block", result: `{"content":[{"type":"hologram","beams":3}]}`,
			piped: `[{"type":"hologram","beams":3}]` + "\n"},
		{name: "nothing", result: `{"content":[]}`},
		{name: "structured only",
			result: `{"content":[],"structuredContent":{"t":21,"sky":"clear"}}`,
			piped:  "t:    21\nsky:  clear\n"},
		{name: "structured and text",
			result: `{"content":[{"type":"text","text":"It is clear."}],"structuredContent":{"sky":"clear"}}`,
			piped:  "It is clear.\n"},
		{name: "envelope",
			result: `{"content":[{"type":"text","text":"{…}"}],"structuredContent":{"success":true,"data":{"a":1},"error":null}}`,
			piped:  "a:  1\n"},
		{name: "no envelope",
			result: `{"content":[],"structuredContent":{"success":true,"data":{"a":1}}}`,
			piped:  "success:  true\ndata:\n  a:  1\n"},
		{name: "document",
			result: `{"content":[],"structuredContent":{"success":true,"data":{"path":"x","encoding":"text","truncated":false,"content":"no end"},"error":null}}`,
			piped:  "no end", terminal: "no end\n"},
		{name: "binary document",
			result: `{"content":[],"structuredContent":{"success":true,"data":{"encoding":"base64","content":"AP8="},"error":null}}`,
			piped:  "\x00\xff", terminal: "[2 bytes that are not text]\n"},
		{name: "part of a document",
			result: `{"content":[],"structuredContent":{"success":true,"data":{"encoding":"text","truncated":true,"next_line":5,"next_offset":99,"content":"a\n"},"error":null}}`,
			piped:  "a\n", stderr: "note: there is more than this: next_line 5, next_offset 99\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, terminal := range []bool{false, true} {
				c := termtest.Capture(terminal)
				assert.NilError(t,
					(&Printer{Std: c.Streams, Format: "text"}).ToolResult("t", []byte(tt.result)))
				assert.NilError(t, c.Out.Flush())
				want := tt.piped
				if terminal && tt.terminal != "" {
					want = tt.terminal
				}
				assert.Equal(t, c.Stdout.String(), want)
				assert.Equal(t, c.Stderr.String(), tt.stderr)
			}
			c := termtest.Capture(true)
			assert.NilError(t,
				(&Printer{Std: c.Streams, Format: "json"}).ToolResult("t", []byte(tt.result)))
			assert.NilError(t, c.Out.Flush())
			assert.Equal(t, c.Stdout.String(), tt.result+"\n", "every byte, to a terminal too")
		})
	}
}

// The format raw prints only the content, byte for byte.
func TestRawContent(t *testing.T) {
	for _, tt := range []struct{ name, result, piped, terminal, failed string }{
		{"texts", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b\n"}]}`, "ab\n",
			"a\nb\n", ""},
		{"escapes", `{"content":[{"type":"text","text":"\u001b[31mred"}]}`, "\x1b[31mred", "red\n",
			""},
		{"bytes", `{"content":[{"type":"audio","mimeType":"audio/wav","data":"AP8K"},{"type":"text","text":"x"}]}`,
			"\x00\xff\nx", "x\n", "audio audio/wav: a terminal cannot show its 3 B"},
		{"resources", `{"content":[{"type":"resource","resource":{"uri":"a:b","text":"whole"}},{"type":"resource","resource":{"uri":"a:c","blob":"AAAA"}}]}`,
			"whole\x00\x00\x00", "whole\n",
			"resource a:c: a terminal cannot show its 3 B"},
		{"link", `{"content":[{"type":"resource_link","uri":"file:///x","name":"x"}]}`,
			"file:///x\n", "", ""},
		{"unknown block", `{"content":[{"type":"hologram","beams":3}]}`,
			`{"type":"hologram","beams":3}` + "\n", "", ""},
		{"structured only", `{"content":[],"structuredContent":{"t": 21}}`, `{"t": 21}`,
			`{"t": 21}` + "\n", ""},
		{"structured and text",
			`{"content":[{"type":"text","text":"clear"}],"structuredContent":{"sky":"clear"}}`,
			"clear", "clear\n", ""},
		{"envelope", `{"content":[{"type":"text","text":"{…}"}],"structuredContent":{"success":true,"data":{"a":1},"error":null}}`,
			"{…}", "{…}\n", ""},
		{"nothing", `{"content":[]}`, "", "", ""},
	} {
		for _, terminal := range []bool{false, true} {
			c := termtest.Capture(terminal)
			err := (&Printer{Std: c.Streams, Format: "raw"}).ToolResult("t", []byte(tt.result))
			if terminal && tt.failed != "" {
				assert.ErrorContains(t, err, tt.failed, tt.name)
				assert.Equal(t, err.(*command.Failure).ExitCode(), 2)
			} else {
				assert.NilError(t, err, tt.name)
			}
			assert.NilError(t, c.Out.Flush())
			want := tt.piped
			if terminal && (tt.terminal != "" || tt.failed != "") {
				want = tt.terminal
			}
			assert.Equal(t, c.Stdout.String(), want, tt.name)
			assert.Equal(t, c.Stderr.String(), "")
		}
	}
}

// Content other than the text that repeats an envelope is shown too.
func TestPictureBesideAnEnvelope(t *testing.T) {
	c := termtest.Capture(false)
	p := &Printer{Std: c.Streams, Format: "text"}
	assert.NilError(t,
		p.ToolResult("t",
			[]byte(`{"content":[{"type":"text","text":"{…}"},{"type":"image","mimeType":"image/png","data":"AA=="}],"structuredContent":{"success":true,"data":"hi","error":null}}`)))
	assert.NilError(t, c.Out.Flush())
	assert.Equal(t, c.Stdout.String(), "hi\n[image image/png 1 B → --save DIR]\n")
}

func TestInvalidResult(t *testing.T) {
	for _, form := range []string{"text", "json", "raw"} {
		c := termtest.Capture(false)
		err := (&Printer{Std: c.Streams, Format: form}).ToolResult("t", []byte(`{"content":5}`))
		assert.ErrorContains(t, err, "the result is invalid")
		assert.Equal(t, err.(*command.Failure).ExitCode(), 1)
		assert.NilError(t, c.Out.Flush())
		assert.Equal(t, c.Stdout.String(), `{"content":5}`+"\n", "it is not lost")
	}
}

func TestToolFailure(t *testing.T) {
	for _, tt := range []struct{ name, result, why, stderr string }{
		{"one line", `{"content":[{"type":"text","text":" disk\u001b[2J full \n"}],"isError":true}`,
			"disk full", ""},
		{"several", `{"content":[{"type":"text","text":"disk full\nat x"}],"isError":true}`,
			"disk full", "disk full\nat x\n"},
		{"long", `{"content":[{"type":"text","text":"` + strings.Repeat("x", 600) +
			`"}],"isError":true}`, strings.Repeat("x", 499) + "…", strings.Repeat("x", 600) + "\n"},
		{"nothing", `{"content":[],"isError":true}`, "the tool failed and does not say why", ""},
		{"envelope", `{"content":[{"type":"text","text":"{}"}],"structuredContent":{"success":false,"data":null,"error":{"code":"not_found","message":"no x"}},"isError":true}`,
			"not_found: no x", ""},
	} {
		c := termtest.Capture(true)
		f := (&Printer{Std: c.Streams, Format: "text"}).ToolResult("t",
			[]byte(tt.result)).(*command.Failure)
		assert.Equal(t, f.ExitCode(), 5, tt.name)
		assert.Equal(t, f.Why, tt.why)
		assert.Equal(t, c.Stderr.String(), tt.stderr)
		assert.NilError(t, c.Out.Flush())
		assert.Equal(t, c.Stdout.String(), "", "there is no result")

		c = termtest.Capture(false)
		assert.Equal(t, (&Printer{Std: c.Streams, Format: "raw"}).ToolResult("t",
			[]byte(tt.result)).(*command.Failure).Why, f.Why)
		assert.Equal(t, c.Stderr.String(), tt.stderr)
		assert.NilError(t, c.Out.Flush())
		assert.Equal(t, c.Stdout.String(), "")

		c = termtest.Capture(true)
		f = (&Printer{Std: c.Streams, Format: "json"}).ToolResult("t",
			[]byte(tt.result)).(*command.Failure)
		assert.Equal(t, f.ExitCode(), 5)
		assert.Equal(t, c.Stderr.String(), "")
		assert.NilError(t, c.Out.Flush())
		assert.Equal(t, c.Stdout.String(), tt.result+"\n")
	}
}
