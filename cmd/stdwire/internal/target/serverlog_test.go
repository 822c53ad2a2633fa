package target

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"gotest.tools/v3/assert"
)

func TestServerLog(t *testing.T) {
	var b bytes.Buffer
	log := &ServerLog{Console: &term.Console{W: &b, Display: term.Display{Terminal: true}}}
	for _, piece := range []string{"\x1b[3", "1mred\x1b[0m\r\nha", "lf", " a line\nrest\x07"} {
		_, err := log.Write([]byte(piece))
		assert.NilError(t, err)
	}
	assert.Equal(t, b.String(), "red\nhalf a line\n")
	log.flush()
	log.flush()
	assert.Equal(t, b.String(), "red\nhalf a line\nrest\\u0007\n")

	b.Reset()
	_, _ = log.Write(bytes.Repeat([]byte{'x'}, 3*MaxLogLine))
	assert.Equal(t, strings.Count(b.String(), "\n"), 3, "nothing is kept without bound")

	b.Reset()
	log = &ServerLog{Console: &term.Console{W: &b}}
	_, _ = log.Write([]byte("raw \x1b[31m"))
	assert.Equal(t, b.String(), "raw \x1b[31m", "a file gets what came")
}
