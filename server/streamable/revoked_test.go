package streamable_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server/streamable"
)

// The end of credentials ends everything that belongs to them, in all eras, and nothing of another
// caller, nor of the same caller with other credentials.
func TestEverythingEndsWithItsCredentials(t *testing.T) {
	var credentials, others context.Context // of the bubble
	refuse := false
	o := streamable.Options{HTTPSSE: true}
	o.Authorize = func(r *http.Request) (streamable.Caller, error) {
		switch r.Header.Get("Authorization") {
		case "first":
			if refuse {
				return streamable.Caller{}, errors.New("revoked")
			}
			return streamable.Caller{Principal: "ada", Credentials: credentials}, nil
		case "second":
			return streamable.Caller{Principal: "ada", Credentials: others}, nil
		}
		return streamable.Caller{Principal: "bob"}, nil
	}
	const first, second, bob = "Authorization: first", "Authorization: second", "Authorization: bob"
	inBubble(t, o, func(t *testing.T, b *bubble) {
		type opened struct {
			session                  header
			get, listen, old, stream *answer
			modern, legacy           *wire
		}
		open := func(who header) (c opened) {
			c.session = b.connectAs("2025-11-25", who) + "\n" + who
			c.get = b.dial().ask("GET", "", c.session).isStream()
			c.listen = b.dial().ask("POST", modernCall("subscriptions/listen",
				`"notifications":{"toolsListChanged":true},`),
				"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen\n"+who).isStream()
			c.listen.event("acknowledged")
			c.old = b.dial().ask("GET", "", who).isStream()
			c.old.event("")
			c.modern, c.legacy = b.dial(), b.dial()
			c.modern.send("POST", toolCall("hold", "x"), modernTool+"hold\n"+who)
			c.stream = b.dial().ask("POST", strings.Replace(toolCall("steps", "x"), `"_meta":{`,
				`"_meta":{"progressToken":7,`, 1), modernTool+"steps\n"+who).isStream()
			c.stream.event("one")
			c.stream.event("two")
			c.legacy.send("POST", `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"hold","arguments":{"text":"x"}}}`,
				c.session)
			for range 3 {
				<-b.begun
			}
			return c
		}
		var revoke context.CancelFunc
		credentials, revoke = context.WithCancel(t.Context())
		defer revoke()
		others = t.Context()
		gone, same, other := open(first), open(second), open(bob)
		refuse = true
		revoke()
		synctest.Wait()
		for range 3 {
			assert.ErrorContains(t, <-b.ended, "the credentials of the caller are valid no more")
		}
		const says = `"message":"the credentials are valid no more; send others"`
		for _, w := range []*wire{gone.modern, gone.legacy} {
			a := w.answer()
			assert.Equal(t, a.StatusCode, 401)
			assert.Equal(t, a.Header.Get("WWW-Authenticate"), "Bearer")
			assert.Assert(t, strings.Contains(a.text(), says))
		}
		gone.stream.event(says)
		gone.stream.ends()
		gone.get.ends()
		gone.listen.event(says)
		gone.listen.ends()
		gone.old.ends()
		assert.Equal(t, b.dialFor("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			gone.session).StatusCode, 401)
		// the session is of those credentials, although its principal has others
		assert.Equal(t, b.dialFor("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			header(strings.Replace(string(gone.session), first, second, 1))).StatusCode, 404)
		assert.Equal(t, b.handler.Stats(), streamable.Stats{Sessions: 4, Streams: 6})
		for _, c := range []opened{same, other} {
			for range 3 {
				b.release <- struct{}{}
			}
			assert.Equal(t, c.modern.answer().StatusCode, 200)
			assert.Equal(t, c.legacy.answer().StatusCode, 200)
			c.stream.event("three")
			c.stream.event(`"result"`)
			assert.Equal(t, b.dialFor("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
				c.session).StatusCode, 200)
		}
	})
}

// Credentials that have ended when a request was authorized have no effect; nothing stays open.
func TestCredentialsThatHaveEnded(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	o := streamable.Options{Authorize: func(*http.Request) (streamable.Caller, error) {
		return streamable.Caller{Principal: "ada", Credentials: ended}, nil
	}}
	s := start(t, o)
	a := s.tool("echo", `{"text":"x"}`, "")
	assert.Equal(t, a.StatusCode, 401)
	c := s.do(t.Context(), "POST", s.url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, "")
	c.text()
	listen := s.modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true},`, "")
	listen.text()
	for s.handler.Stats() != (streamable.Stats{}) {
		runtime.Gosched()
	}
}
