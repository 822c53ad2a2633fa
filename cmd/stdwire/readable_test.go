package main

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestReadable(t *testing.T) {
	for _, tt := range []struct{ json, want string }{
		{`null`, ""},
		{`{}`, ""},
		{`[]`, ""},
		{`"two\nlines\n"`, "two\nlines"},
		{`12345678901234567890`, "12345678901234567890"},
		{`{"a":"x","bcd":1.50,"c":null,"d":[],"e":{},"f":""}`, "a:    x\nbcd:  1.50\nc:    null\nd:    []\ne:    {}\nf:"},
		{`{"a":"two\nlines","b":1}`, "a:\n  two\n  lines\nb:  1"},
		{`{"a":{"b":{"c":true}}}`, "a:\n  b:\n    c:  true"},
		{`["x","y z"]`, "x\ny z"},
		{`[["x"],[],"p\nq"]`, "- x\n- []\n- p\n  q"},
		{`{"a":["x"]}`, "a:\n  x"},
		{`[{"name":"a","n":1},{"n":22,"name":"bcd","z":"\ttab\nline"}]`, "name  n   z\na     1\nbcd   22      tab\\nline"},
		{`[{"a":1,"b":[2]},{"a":3,"b":[]}]`, "- a:  1\n  b:\n    2\n- a:  3\n  b:  []"},
		{`[{},{"a":1}]`, "a\n\n1"},
		{`[{}]`, "- {}"},
		{`[{"a":1},5]`, "- a:  1\n- 5"},
		{`{"new\nline":1,"esc\u001b[1m":"\u202e"}`, "new\\nline:  1\nesc:        \\u202e"},
		{`{"a":"x\ty"}`, "a:  x    y"},
	} {
		assert.Equal(t, strings.Join(readable([]byte(tt.json)), "\n"), tt.want, tt.json)
	}
}
