package server_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// NotifyAll reaches every legacy client whose handshake is done, and no modern one.
func TestNotifyAll(t *testing.T) {
	s := made(quiet)
	var legacy []*lineClient
	for _, revision := range legacyRevisions {
		k := speak(t, s, revision, `{}`)
		k.check = nil // the method belongs to no revision
		k.want("ping", "", `{}`)
		legacy = append(legacy, k)
	}
	modern, early := speak(t, s, newest, `{}`), connect(t, s)
	done := make(chan error, 1)
	go func() { done <- s.NotifyAll(t.Context(), "app/news", map[string]int{"n": 1}) }()
	for _, k := range legacy {
		assert.Equal(t, k.next().raw, `{"jsonrpc":"2.0","method":"app/news","params":{"n":1}}`)
	}
	assert.NilError(t, <-done)
	modern.expectNothing()
	early.check = nil // it has sent no initialize
	early.send("%s", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	assert.Equal(t, early.next().raw, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	assert.ErrorContains(t, s.NotifyAll(t.Context(), "app/news", func() {}), "func()")
}

// A client that does not read delays no other, and the caller until its context ends.
func TestNotifyAllWithASlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet
		o.Limits.MaxUnsent = 1 << 10
		s := made(o)
		ctx, cancel := context.WithCancel(t.Context())
		var quick *lineClient
		for range 2 { // the first never reads again
			quick = speak(t, s, string(mcp.LatestLegacy), `{}`)
			quick.check = nil
			quick.want("ping", "", `{}`)
		}
		long := map[string]string{"text": strings.Repeat("x", 8<<10)}
		sent, ended := 0, make(chan error, 1)
		go func() {
			for {
				sent++
				if err := s.NotifyAll(ctx, "app/news", long); err != nil {
					ended <- err
					return
				}
			}
		}()
		received := 0
		go func() {
			for {
				if _, err := quick.in.ReadString('\n'); err != nil {
					return
				}
				received++
			}
		}()
		synctest.Wait()
		assert.Assert(t, sent > 0 && received == sent, "%d of %d", received, sent)
		cancel()
		assert.ErrorIs(t, <-ended, context.Canceled)
	})
}
