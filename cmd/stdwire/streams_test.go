package main

import (
	"bytes"
	"testing"

	"gotest.tools/v3/assert"
)

func TestOutput(t *testing.T) {
	var b bytes.Buffer
	o := newOutput(&b, false)
	o.lines("a")
	o.lines("b\n")
	o.lines("")
	o.print("ours \x1b[1m\u202e\n")
	assert.NilError(t, o.flush())
	assert.Equal(t, b.String(), "a\nb\nours \\u202e\n")

	for terminal, want := range map[bool]string{false: "{\"a\":\"\u202e\"}\n", true: `{"a":"\u202e"}` + "\n"} {
		b.Reset()
		o := newOutput(&b, terminal)
		o.json([]byte("{\"a\":\"\u202e\"}"))
		assert.NilError(t, o.flush())
		assert.Equal(t, b.String(), want)
	}
}
