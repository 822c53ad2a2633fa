package login

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/host/config"
)

// A login that makes room for another one of its user is revoked at its authorization server, in
// the background and not without a bound; the log says so if that cannot be done.
func TestEvictedLoginIsRevoked(t *testing.T) {
	asked, answer := make(chan string, maxRevoking+1), make(chan struct{})
	var as *httptest.Server
	as = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/revoke" {
			_ = r.ParseForm()
			asked <- r.PostForm.Get("token")
			<-answer
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": as.URL,
			"authorization_endpoint": as.URL + "/authorize", "token_endpoint": as.URL + "/token",
			"revocation_endpoint": as.URL + "/revoke", "response_types_supported": []string{"code"}})
	}))
	defer as.Close()
	var log bytes.Buffer
	l := New(NewMemory(), slog.New(slog.NewTextHandler(&log, nil)))
	l.Server("up", func() (*config.Endpoint, *tls.Config, error) {
		return &config.Endpoint{URL: as.URL + "/mcp"}, nil, nil
	})
	put := func(server string, client int) {
		t.Helper()
		c := credentials(fmt.Sprint(client))
		c.Endpoint, c.Resource, c.Issuer = as.URL+"/mcp", as.URL+"/mcp", as.URL
		c.Saved = time.Now().Add(time.Duration(client-1000) * time.Second).UTC()
		own := &account{s: l.store, key: Key{"ada", fmt.Sprint(client), server}, create: true}
		assert.NilError(t, own.Put(c))
	}
	for i := range maxOfUser {
		put("up", i)
	}
	for i := range maxRevoking {
		put("up", maxOfUser+i)
		assert.Equal(t, <-asked, fmt.Sprintf("refresh-%d", i))
	}
	assert.Equal(t, log.String(), "")
	put("up", maxOfUser+maxRevoking)
	assert.Assert(t, cmp.Contains(log.String(), notRevokedText))
	l.mu.Lock()
	revoking := l.revoking
	l.mu.Unlock()
	assert.Equal(t, revoking, maxRevoking)
	log.Reset()
	l.Forget("up")
	put("up", maxOfUser+maxRevoking+1)
	assert.Assert(t, cmp.Contains(log.String(), notRevokedText))
	close(answer)
	l.wg.Wait()
	assert.Equal(t, l.revoking, 0)
	log.Reset()
	l.Close()
	put("up", 500)
	assert.Equal(t, log.String(), "", "it has ended")
	assert.Equal(t, len(asked), 0)
}

// A revocation ends with the gateway.
func TestRevocationEnds(t *testing.T) {
	begun := make(chan struct{})
	as := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	}))
	defer as.Close()
	l := New(NewMemory(), discard)
	l.Server("up", func() (*config.Endpoint, *tls.Config, error) {
		return &config.Endpoint{URL: as.URL + "/mcp"}, nil, nil
	})
	c := credentials("t")
	c.Endpoint, c.Issuer = as.URL+"/mcp", as.URL
	l.revokeOrphaned(Key{"ada", "", "up"}, &c)
	<-begun
	l.Close()
	assert.ErrorIs(t, l.ctx.Err(), context.Canceled)
}

var _ auth.Store = unstored{}
