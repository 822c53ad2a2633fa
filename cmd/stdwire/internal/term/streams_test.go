package term

import (
	"bytes"
	"testing"

	"gotest.tools/v3/assert"
)

func TestOutput(t *testing.T) {
	var b bytes.Buffer
	o := NewOutput(&b, Display{})
	o.PrintUntrustedLine("a")
	o.PrintUntrustedLine("b\n")
	o.PrintUntrustedLine("")
	o.Print("ours \x1b[1m\u202e\n")
	assert.NilError(t, o.Flush())
	assert.Equal(t, b.String(), "a\nb\nours \\u202e\n")

	for terminal, want := range map[bool]string{false: "{\"a\":\"\u202e\"}\n",
		true: `{"a":"\u202e"}` + "\n"} {
		b.Reset()
		o := NewOutput(&b, Display{Terminal: terminal})
		o.PrintJSON([]byte("{\"a\":\"\u202e\"}"))
		assert.NilError(t, o.Flush())
		assert.Equal(t, b.String(), want)
	}
}
