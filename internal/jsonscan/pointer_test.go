package jsonscan

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestEscapePointer(t *testing.T) {
	for name, token := range map[string]string{"": "", "a b": "a b", "a/b": "a~1b", "m~n": "m~0n",
		"~1": "~01", "/~": "~1~0"} {
		assert.Equal(t, EscapePointer(name), token)
		assert.Equal(t, UnescapePointer(token), name)
	}
}
