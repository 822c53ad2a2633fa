package sealed_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/sealed"
)

// What was sealed is opened with the same secret and binding only, until it expires.
func TestSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, other := sealed.New([]byte("a")), sealed.New(nil)
		binding := []byte("principal")
		var state sealed.State
		state.RecordQuestion("k", []byte("digest"))
		state.RecordAnswer("k", []byte(`{"a":1}`))
		text, err := own.State(state, binding)
		assert.NilError(t, err)
		session, err := own.Session(mcp.LatestLegacy, time.Hour, binding)
		assert.NilError(t, err)

		opened, err := own.OpenState(text, binding)
		assert.NilError(t, err)
		assert.Equal(t, string(opened.Answer("k", []byte("digest"))), `{"a":1}`)
		assert.Assert(t, opened.Answer("k", []byte("another")) == nil)
		revision, err := sealed.New([]byte("a")).OpenSession(session, binding)
		assert.NilError(t, err)
		assert.Equal(t, revision, mcp.LatestLegacy)

		for _, s := range []sealed.Sealer{own, other} {
			_, err := s.OpenState(text, []byte("another"))
			assert.ErrorContains(t, err, "was not made for this request")
			_, err = s.OpenSession(session, []byte("another"))
			assert.ErrorContains(t, err, "opened by none")
		}
		_, err = other.OpenState(text, binding)
		assert.ErrorContains(t, err, "was not made for this request")

		time.Sleep(15 * time.Minute)
		_, err = own.OpenState(text, binding)
		assert.ErrorContains(t, err, "has expired")
		_, err = own.OpenSession(session, binding)
		assert.NilError(t, err)
		time.Sleep(time.Hour)
		_, err = own.OpenSession(session, binding)
		assert.ErrorContains(t, err, "too long ago")
	})
}

// A state that is too large is refused before a client would have to carry it.
func TestSealedSize(t *testing.T) {
	var state sealed.State
	state.RecordAnswer("k", []byte(`"`+strings.Repeat("x", 256<<10)+`"`))
	_, err := sealed.New(nil).State(state, nil)
	assert.ErrorContains(t, err, "too large")
}
