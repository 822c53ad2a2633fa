package output

import (
	"bytes"
	"testing"

	"gotest.tools/v3/assert"
)

func TestEncodedFile(t *testing.T) {
	name, content, rest, ok := decodeFile(
		[]byte(`{"path":"a\\b/c.bin", "size":9007199254740993,"encoding":"base64","content":"AAE=","x":[1.0]}`))
	assert.Assert(t, ok)
	assert.Equal(t, name, "c.bin")
	assert.Assert(t, bytes.Equal(content, []byte{0, 1}))
	assert.Equal(t, string(rest),
		`{"path":"a\\b/c.bin","size":9007199254740993,"encoding":"base64","x":[1.0]}`)
	for _, data := range []string{``, `[]`, `"base64"`,
		`{"path":"a","encoding":"text","content":"AAE="}`,
		`{"path":"a","encoding":"base64","content":"?"}`, `{"encoding":"base64","content":"AAE="}`,
		`{"path":"a","encoding":"base64"}`} {
		_, _, _, ok := decodeFile([]byte(data))
		assert.Assert(t, !ok, data)
	}
}
