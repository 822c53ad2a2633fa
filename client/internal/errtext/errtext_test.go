package errtext

import (
	"errors"
	"io"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
)

func TestErrors(t *testing.T) {
	err := Wrap("the end of everything", io.EOF)
	assert.Equal(t, err.Error(), "the end of everything")
	assert.Assert(t, errors.Is(err, io.EOF))
	err = Protocol("a task without %s", "an id")
	assert.Equal(t, err.Error(), "a task without an id")
	assert.Assert(t, errors.Is(err, rpc.ErrProtocol))
}
