package lazyregexp_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/lazyregexp"
)

func TestNew(t *testing.T) {
	digits := lazyregexp.New(`^[0-9]+$`)
	assert.Assert(t, digits().MatchString("12"))
	assert.Assert(t, !digits().MatchString("1a"))
	assert.Assert(t, digits() == digits(), "it is compiled once")
	invalid := lazyregexp.New(`(`) // only its use panics
	defer func() { assert.Assert(t, recover() != nil) }()
	invalid()
}
