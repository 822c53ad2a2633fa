package web

import (
	"testing"

	"gotest.tools/v3/assert"
)

// A body may begin with a byte order mark, and only with one.
func TestByteOrderMark(t *testing.T) {
	v := visit(t)
	status, body := v.send("POST", "/session", "\uFEFF\uFEFF"+`{"token":"x"}`)
	assert.Equal(t, status, 400, body)
	status, body = v.send("POST", "/session", "\uFEFF"+`{"token":"`+v.access.token+`"}`)
	assert.Equal(t, status, 200, body)
	for _, text := range []string{"", "\xef", "\xef\xbb", "\uFEFF"} {
		status, body = v.send("POST", "/session", text)
		assert.Equal(t, status, 400, body)
	}
}
