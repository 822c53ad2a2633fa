package storetest

import (
	"strings"
	"testing"

	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/internal/store"
)

// Each runs a test with a store in memory, and with one on a real server.
func Each(t *testing.T, test func(t *testing.T, s store.Store)) {
	t.Run("memory", func(t *testing.T) { test(t, new(store.Memory)) })
	t.Run("redis", func(t *testing.T) { test(t, On(t, redistest.Start(t))) })
}

// On returns a store on a server, which it has reached.
func On(t testing.TB, server *redistest.Server) store.Store {
	t.Helper()
	c := server.Client()
	redistest.Available(t, c)
	s, err := store.NewRedis(c, "test:", []byte(strings.Repeat("s", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
