package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/redis/redistest"
)

func TestOpenErrors(t *testing.T) {
	for _, tc := range []struct {
		url  string
		o    Options
		want string
	}{
		{"redis://u:hidden@h", Options{Secret: secret, Password: "hidden"}, "another one is given"},
		{"redis://u:hidden@h/hidden", Options{Secret: secret}, "not a number"},
		{"redis://u:hidden@h", Options{Secret: []byte("hidden")}, "less than 16 bytes"},
		{"redis://u:hidden@h", Options{Secret: secret, Prefix: "a{hidden}"}, "has a brace"},
	} {
		_, err := Open(tc.url, tc.o)
		assert.ErrorContains(t, err, tc.want)
		assert.Assert(t, !strings.Contains(err.Error(), "hidden"), err)
	}
}

// next returns the next change, after those that are like it.
func next(t *testing.T, changes <-chan error, up bool) error {
	t.Helper()
	for {
		select {
		case err := <-changes:
			if (err == nil) == up {
				return err
			}
		case <-time.After(time.Minute):
			t.Fatal("nothing changes")
		}
	}
}

// A store says when its server comes and goes, and why, and what the server says about itself.
func TestOpen(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "se@cret", "--maxmemory-policy", "allkeys-lru")
	changes := make(chan error, 1000)
	open := func(password string) *Redis {
		s, err := Open("unix://"+server.Options.Address+"?db=1", Options{Password: password,
			Secret: secret, Changed: func(err error) { changes <- err }})
		assert.NilError(t, err)
		t.Cleanup(s.Close)
		return s
	}
	wrong := open("hidden")
	err := next(t, changes, false)
	assert.ErrorContains(t, err, "accepts no such user")
	_, err = wrong.Get(within(t), "k")
	assert.Assert(t, errors.Is(err, redis.ErrUnavailable), err)
	wrong.Close()
	for len(changes) > 0 {
		<-changes
	}

	s := open("se@cret")
	assert.NilError(t, next(t, changes, true))
	assert.Equal(t, s.URL(), "unix://"+server.Options.Address+"?db=1")
	about, err := s.Server(within(t))
	assert.NilError(t, err)
	assert.Assert(t, about.Name != "" && about.Version != "", about)
	assert.Equal(t, about.Eviction, "allkeys-lru")
	assert.Assert(t, about.Evicts())
	assert.Assert(t, !Server{Eviction: "noeviction"}.Evicts())
	server.Kill()
	assert.Assert(t, next(t, changes, false) != nil)
	_, err = s.Server(within(t))
	assert.Assert(t, errors.Is(err, redis.ErrUnavailable), err)
	server.Restart()
	assert.NilError(t, next(t, changes, true))
}

// A user who may not ask a server about itself can use it.
func TestServerThatTellsNothing(t *testing.T) {
	server := redistest.Start(t, "--user", "default", "on", "nopass", "~*", "&*", "+@all", "-info",
		"-config")
	s, err := Open("unix://"+server.Options.Address, Options{Secret: secret})
	assert.NilError(t, err)
	defer s.Close()
	about, err := s.Server(within(t))
	assert.NilError(t, err)
	assert.DeepEqual(t, about, Server{Name: "redis"})
	_, err = s.Get(within(t), "k")
	assert.NilError(t, err)
}
