//go:build unix

package guard

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
)

func TestRequest(t *testing.T) {
	for _, o := range []request{
		{parent: 1, path: "/bin/sh", args: []string{"sh"}, env: []string{}},
		{parent: 4194304, dir: true, path: "./a b\n", args: []string{"", "\n", "\xff"},
			env: []string{"A=\n", "", "="}},
	} {
		message, err := o.encode()
		assert.NilError(t, err)
		// Bytes after the request stay in the reader.
		r := bufio.NewReader(io.MultiReader(bytes.NewReader(message), strings.NewReader("15\n")))
		got, err := readRequest(r)
		assert.NilError(t, err)
		assert.DeepEqual(t, got, o, gocmp.AllowUnexported(request{}))
		rest, err := io.ReadAll(r)
		assert.NilError(t, err)
		assert.Equal(t, string(rest), "15\n")

		for n := range message {
			_, err := readRequest(bufio.NewReader(bytes.NewReader(message[:n])))
			assert.Assert(t, err != nil, "%d bytes of %q", n, message)
		}
	}
}

func TestRequestMalformed(t *testing.T) {
	for _, message := range []string{
		"", "x\n", "0\n", "-1\n", "99999999999\n", "8388609\n", "2\na\x00", "9\na\x00true\x00p\x00",
		"8\n1\x00maybe\x00", "11\n1\x00true\x00p\x00x\x00",
		"11\n1\x00true\x00p\x000\x00", "11\n1\x00true\x00p\x001\x00",
		"13\n1\x00true\x00p\x00-1\x00a\x00", "13\n1\x00true\x00p\x002\x00a\x00",
	} {
		_, err := readRequest(bufio.NewReader(strings.NewReader(message)))
		assert.Assert(t, err != nil, "%q", message)
	}
}
