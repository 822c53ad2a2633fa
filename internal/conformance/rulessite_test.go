//go:build linux

package conformance_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/internal/jose"
	serverauth "github.com/stdwire/stdwire/server/auth"
	serverstreamable "github.com/stdwire/stdwire/server/streamable"
)

// A rulesSite is the binary with a table of rules in front of four servers, each of which knows its
// callers by other credentials: notes is a process for each user, orders gets exchanged tokens,
// tickets a header of the user's requests, and plain knows nobody. The users are those of an
// issuer, and ci, who has a named token.
type rulesSite struct {
	*bench
	*site
	url    string
	tokens map[string]string // with which users call the gateway

	mu   sync.Mutex
	seen map[string]*bytes.Buffer // by server: all that it was sent
}

var ruleUsers = []ruleUser{{"ada", "dev", 3}, {"bob", "dev", 0}, {"eve", "ops", 0}}

var ruleServers = []string{"notes", "orders", "tickets", "plain"}

// serviceToken is what lists are fetched with.
const serviceToken = "the token of the service itself"

// userKey is a user's key for the tickets.
func userKey(name string) string { return strings.Repeat(name+"'s-", 8) }

type ruleCallerKey struct{}

func newRulesSite(t *testing.T, rules []ruleRow) *rulesSite {
	b := newNodeBench(t)
	s := &rulesSite{bench: b, tokens: map[string]string{}, seen: map[string]*bytes.Buffer{}}
	f, orders := newFront(t), newFront(t)
	s.url = f.url
	says := map[string]any{}
	for _, u := range ruleUsers {
		claims := map[string]any{"groups": []string{u.group}}
		if u.level != 0 {
			claims["level"] = u.level
		}
		says[u.name] = claims
	}
	const exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	i := b.issuer(map[string]any{"scopes": []string{"mcp"}, "users": says, "exchange": true,
		"resources": map[string]target{f.url: {"jwt", "mcp"}, orders.url: {"jwt", "mcp"}},
		"clients": []any{map[string]any{"client_id": "gateway", "redirect_uris": []string{},
			"grant_types": []string{exchange}, "response_types": []string{},
			"token_endpoint_auth_method":      "private_key_jwt",
			"token_endpoint_auth_signing_alg": "ES256",
			"jwks":                            map[string]any{"keys": []any{b.clientKey("key.pem")}}}}})

	verify, err := serverauth.JWTOptions{Issuer: i.url, Audience: orders.url}.New()
	assert.NilError(t, err)
	bearer := func(r *http.Request) string {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		return token
	}
	s.upstream("orders", orders, func(r *http.Request) string {
		if bearer(r) == serviceToken {
			return "the service"
		}
		id, err := verify(r.Context(), bearer(r))
		if err != nil {
			return ""
		}
		return id.Subject
	})
	tickets, plain := newFront(t), newFront(t)
	s.upstream("tickets", tickets, func(r *http.Request) string {
		if bearer(r) == serviceToken {
			return "the service"
		}
		user, _, _ := strings.Cut(r.Header.Get("X-Api-Key"), "'")
		return user
	})
	s.upstream("plain", plain, func(*http.Request) string { return "anybody" })

	self, err := os.Executable()
	assert.NilError(t, err)
	b.write("processes/none", "")
	type object = map[string]any
	service := object{"Authorization": "Bearer " + serviceToken}
	config, err := json.Marshal(object{"policy": object{"rules": rules}, "mcpServers": object{
		"notes": object{"command": self,
			"args":        []string{conformance.RoleRules, "notes", b.path("processes")},
			"env":         object{"GORACE": "atexit_sleep_ms=0", "CALLER": "the service"},
			"credentials": object{"type": "env", "env": object{"CALLER": "subject"}}},
		"orders": object{"url": orders.url, "headers": service,
			"credentials": object{"type": "exchange", "tokenEndpoint": i.url + "/token",
				"clientId": "gateway", "clientKey": b.path("key.pem"), "resource": []string{orders.url},
				"scope": "mcp"}},
		"tickets": object{"url": tickets.url, "headers": service,
			"credentials": object{"type": "header",
				"headers": object{"X-Tickets-Key": "X-Api-Key"}}},
		"plain": object{"url": plain.url}}})
	assert.NilError(t, err)
	b.write("mcp.json", string(config))
	s.tokens["ci"] = strings.TrimSpace(b.must(binary(t), "auth", "token", "add", "ci", "--file",
		b.path("tokens.json"), "--group", "dev").stdout)
	s.site = b.protectWith(f, i, "the configuration has changed: other rules", "--config", b.path("mcp.json"), "--audit",
		b.path("audit.jsonl"), "--tokens", b.path("tokens.json"))
	for _, u := range ruleUsers {
		i.tell(map[string]any{"user": u.name})
		a := f.agent(newBrowser(t), auth.Options{})
		assert.NilError(t, a.Login(t.Context()))
		s.tokens[u.name] = a.has().AccessToken
	}
	return s
}

// clientKey writes the private key of a client to a file, and returns the public one.
func (b *bench) clientKey(name string) *jose.Key {
	b.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(b.t, err)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	assert.NilError(b.t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	assert.NilError(b.t, os.WriteFile(b.path(name), text, 0o600))
	public, err := jose.NewKey(private.Public())
	assert.NilError(b.t, err)
	return public
}

// upstream serves a server over HTTP, whose callers are those whom the function names.
func (s *rulesSite) upstream(name string, f *front, who func(*http.Request) string) {
	seen := new(bytes.Buffer)
	s.seen[name] = seen
	made, err := conformance.RulesServer(name, func(ctx context.Context) string {
		user, _ := ctx.Value(ruleCallerKey{}).(string)
		return user
	})
	assert.NilError(s.bench.t, err)
	h := serverstreamable.Options{
		Authorize: func(r *http.Request) (serverstreamable.Caller, error) {
			user := who(r)
			if user == "" {
				return serverstreamable.Caller{}, &serverstreamable.Refusal{Status: 401}
			}
			return serverstreamable.Caller{Principal: user,
				Context: context.WithValue(r.Context(), ruleCallerKey{}, user)}, nil
		}}.New(made)
	s.bench.t.Cleanup(h.Close)
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		fmt.Fprintf(seen, "%s %s %v\n%s\n", r.Method, r.RequestURI, r.Header, body)
		s.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	}))
}

// header has what a user calls the gateway with.
func (s *rulesSite) header(user string) http.Header {
	return http.Header{"Authorization": {"Bearer " + s.tokens[user]},
		"X-Tickets-Key": {userKey(user)}}
}

// sent returns all that a server was sent, and for notes the environment of its processes.
func (s *rulesSite) sent(server string) string {
	t := s.bench.t
	if server != "notes" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.seen[server].String()
	}
	files, err := filepath.Glob(s.path("processes/*"))
	assert.NilError(t, err)
	var all strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		assert.NilError(t, err)
		all.Write(content)
	}
	return all.String()
}

// stopped ends the gateway, and returns its log and the lines of the audit log.
func (s *rulesSite) stopped() (log string, audit []map[string]any) {
	t := s.bench.t
	assert.NilError(t, s.process.Process.Signal(syscall.SIGTERM))
	log = <-s.said
	s.said <- log // for the check at the end
	content, err := os.ReadFile(s.path("audit.jsonl"))
	assert.NilError(t, err)
	for line := range bytes.Lines(content) {
		var entry map[string]any
		assert.NilError(t, json.Unmarshal(line, &entry), "%s", line)
		audit = append(audit, entry)
	}
	return log + string(content), audit
}
