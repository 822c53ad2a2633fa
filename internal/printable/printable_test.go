package printable

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":                              "plain\ttext\n",
		"a\r\nb\rc":                                  "a\nb\nc",
		"\x1b[1;31mred\x1b[0m":                       "red",
		"\x1b[?25lhide\x1b[2K\x1b[1A":                "hide",
		"\x1b]0;title\atext":                         "text",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\a":       "link",
		"\x1bPdcs\x1b\\after":                        "after",
		"\x1b(Bcharset\x1b7\x1b=\x1bc":               "charset",
		"\x1b]0;never closed\nnext":                  `\u001b]0;never closed` + "\nnext",
		"\x1b]0;cut by \x1b[31manother\a":            `\u001b]0;cut by another\u0007`,
		"\x1b[31":                                    `\u001b[31`,
		"end\x1b":                                    `end\u001b`,
		"bell\a null\x00 del\x7f":                    `bell\u0007 null\u0000 del\u007f`,
		"c1 \u009b31m":                               `c1 \u009b31m`,
		"bidi \u202etxt.exe":                         `bidi \u202etxt.exe`,
		"zero\u200bwidth, tag \U000E0041, bom\ufeff": `zero\u200bwidth, tag \U000e0041, bom\ufeff`,
		"sep\u2028line":                              `sep\u2028line`,
		"bad \xff\xfe utf-8":                         "bad \uFFFD utf-8",
		"Grüße 世界 ✓":                                 "Grüße 世界 ✓",
	} {
		assert.Equal(t, Text(in), want)
	}
}

func FuzzText(f *testing.F) {
	f.Add("\x1b[1;31mred\x1b[0m \x1b]0;t\a \x1b(B \u202e \xff \r\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, hidden) {
			t.Errorf("%q became %q", s, got)
		}
		if Text(got) != got {
			t.Errorf("%q became %q, which is not left as it is", s, got)
		}
	})
}

func TestLine(t *testing.T) {
	assert.Equal(t, Line(" two\r\n  lines\x1b[1m\tand \u202e "), `two lines and \u202e`)
}

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"ü"}`: `{"a":"ü"}`,
		"{\r\n\t\"a\":\"x\u202ey\u009bz\U000E0041\x7f\"}": "{\n\n\t\"a\":\"" +
			`x\u202ey\u009bz\udb40\udc41\u007f` + "\"}",
		"\"\xff\"": "\"\uFFFD\"",
	} {
		assert.Equal(t, JSON(in), want)
		var before, after any
		assert.NilError(t, json.Unmarshal([]byte(in), &before))
		assert.NilError(t, json.Unmarshal([]byte(want), &after))
		assert.DeepEqual(t, before, after)
	}
}
