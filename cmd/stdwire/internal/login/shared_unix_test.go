//go:build unix

package login

import (
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/internal/store/storetest"
)

// A store that does not answer holds up one request, and the others only until that is known; when
// it answers again, the logins are there.
func TestStoppedStoreOfLogins(t *testing.T) {
	server := redistest.Start(t)
	s := shares(t, storetest.On(t, server))
	k := Key{"ada", "", "up"}
	assert.NilError(t, (&account{s: s, key: k, create: true}).Put(credentials("one")))
	assert.NilError(t, syscall.Kill(server.Pid(), syscall.SIGSTOP))
	_, err := s.follow(t.Context())
	assert.ErrorIs(t, err, errUnusable)
	for range 1000 { // would take half an hour
		_, err = s.has(t.Context(), k)
		assert.ErrorIs(t, err, errUnusable)
	}
	assert.NilError(t, syscall.Kill(server.Pid(), syscall.SIGCONT))
	eventually.True(t, "the store is used again", func() bool {
		_, _ = s.follow(t.Context())
		return s.Failure() == nil
	})
	assert.Assert(t, has(t, s, k))
}
