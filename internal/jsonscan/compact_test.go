package jsonscan

import (
	"bytes"
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"
)

func TestAppendCompact(t *testing.T) {
	for _, in := range []string{
		`1`, " \t\r\n1 ", `{"a":[1,2]}`, `[ ]`, `" "`,
		" { \"a b\\\" \" :\n[ 1 , 2,\r\n\" \\n \" ] , \"\" : { } }\t",
	} {
		var want bytes.Buffer
		assert.NilError(t, json.Compact(&want, []byte(in)))
		got, err := AppendCompact([]byte("kept "), []byte(in))
		assert.NilError(t, err, in)
		assert.Equal(t, string(got), "kept "+want.String())
	}
	got, err := AppendCompact([]byte("kept"), []byte(`[1`))
	assert.Assert(t, err != nil)
	assert.Equal(t, string(got), "kept")
}
