package auth_test

import (
	"crypto/rand"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server/auth"
)

// The principal of an issuer and subject is unique.
func TestPrincipalsAreUnambiguous(t *testing.T) {
	seen := map[string]bool{}
	for _, id := range []auth.Identity{
		{Issuer: "https://a.example", Subject: "x"}, {Issuer: "https://a.example", Subject: "x#y"},
		{Issuer: "https://a.example/x", Subject: ""},
		{Issuer: "https://a.example", Subject: "#x"}, {Issuer: "https://a.example", Subject: "/x"},
		{Issuer: "https://a.example/", Subject: "x"},
	} {
		assert.Assert(t, !seen[id.Principal()], id.Principal())
		seen[id.Principal()] = true
	}
}

// A session is found with the token of who opened it, a new one too, and with nobody else's. The
// session alone is no credential.
func TestSessionsMustBeOfTheirPrincipal(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		session := w.initialize("2025-11-25", bearer(w.issuer.token(nil)))
		const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		assert.Equal(t, w.do("POST", resource, ping, session+
			bearer(w.issuer.token(claims{"jti": "another"}))).Code, 200)
		assert.Equal(t, w.do("POST", resource, ping, session+
			bearer(w.issuer.token(claims{"sub": "mallory"}))).Code, 404)
		assert.Equal(t, w.do("GET", resource, "", session+
			bearer(w.issuer.token(claims{"sub": "mallory"}))).Code, 404)
		assert.Equal(t, w.do("DELETE", resource, "", session+
			bearer(w.issuer.token(claims{"sub": "mallory"}))).Code, 404)
		assert.Equal(t, w.do("POST", resource, ping, session).Code, 401)
		// Each request shows a token that is good now.
		stale := bearer(
			w.issuer.token(claims{"exp": time.Now().Add(-time.Minute).Unix(), "iat": nil}))
		w.wants(w.do("POST", resource, ping, session+stale), 401, refusal("the token has expired"))
	})
}

// What a client is asked is answered with a token of the same principal, or not at all; the
// operation knows whose it was.
func TestStateMustBeOfItsPrincipal(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		drop := func(subject, more string) *httptest.ResponseRecorder {
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drop","arguments":{"text":"x"}` +
				more + `,"_meta":{` +
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
			return w.do("POST", resource, body,
				"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: drop\n"+
					bearer(w.issuer.token(claims{"sub": subject, "jti": rand.Text()})))
		}
		result, ok := object(t, drop("alice", "").Body.Bytes())["result"].(map[string]any)
		assert.Assert(t, ok && result["resultType"] == "input_required", result)
		answer := fmt.Sprintf(
			`,"inputResponses":{"confirm_operation":{"action":"accept"}},"requestState":%q`,
			result["requestState"])
		refused := drop("mallory", answer).Body.String()
		assert.Assert(t, strings.Contains(refused, "requestState was not made for this request"),
			refused)
		assert.Equal(t, len(w.called()), 0)
		w.wants(drop("alice", answer), 200, "")
		assert.DeepEqual(t, w.called(), []string{"drop " + issuerURL + "#alice"})
	})
}

// A stream that belongs to no request is open no longer than the token is good that opened it.
func TestStreamsEndWithTheirToken(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		token := bearer(w.issuer.token(claims{"exp": time.Now().Add(10 * time.Minute).Unix()}))
		session := w.initialize("2025-11-25", token)
		listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
			modernMeta + `}}`
		begun, ended := time.Now(), make(chan time.Duration, 3)
		open := func(method, body string, h header) {
			assert.Check(t, w.do(method, resource, body, h).Code == 200)
			ended <- time.Since(begun)
		}
		go open("GET", "", session+token)
		go open("GET", "", token) // of 2024-11-05
		go open("POST", listen,
			"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen\n"+token)
		for range 3 {
			assert.Equal(t, <-ended, 10*time.Minute+30*time.Second)
		}
		// With a new one, the client goes on.
		begun, token = time.Now(),
			bearer(w.issuer.token(claims{"exp": time.Now().Add(5 * time.Minute).Unix()}))
		go open("GET", "", session+token)
		assert.Equal(t, <-ended, 5*time.Minute+30*time.Second)
	})
}
