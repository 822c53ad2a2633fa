//go:build linux

package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A ruleStream is an open stream of a user, of either era.
type ruleStream struct {
	user, era string
	session   string        // "": modern
	events    chan string   // lines of data
	ended     chan struct{} // closed when the stream has ended
}

const (
	modernListen = `{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"matrix","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	legacyHello  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"matrix","version":"1"}}}`
)

// request sends a request of a user, with headers: "NAME: VALUE".
func (s *rulesSite) request(ctx context.Context, user, method, body string,
	headers ...string) *http.Response {
	t := s.bench.t
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.url, strings.NewReader(body))
	assert.NilError(t, err)
	r.Header = s.header(user)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	assert.NilError(t, err)
	return response
}

// stream opens a stream of a user.
func (s *rulesSite) stream(ctx context.Context, user, era string) *ruleStream {
	t := s.bench.t
	t.Helper()
	st := &ruleStream{user: user, era: era, events: make(chan string, 100),
		ended: make(chan struct{})}
	var response *http.Response
	if era == "modern" {
		response = s.request(ctx, user, "POST", modernListen, "Mcp-Protocol-Version: 2026-07-28",
			"Mcp-Method: subscriptions/listen")
	} else {
		hello := s.request(ctx, user, "POST", legacyHello)
		st.session = hello.Header.Get("Mcp-Session-Id")
		_, err := io.Copy(io.Discard, hello.Body)
		assert.NilError(t, err)
		assert.NilError(t, hello.Body.Close())
		session := "Mcp-Session-Id: " + st.session
		ready := s.request(ctx, user, "POST",
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`, session)
		assert.NilError(t, ready.Body.Close())
		response = s.request(ctx, user, "GET", "", session)
	}
	assert.Equal(t, response.StatusCode, 200)
	assert.Equal(t, response.Header.Get("Content-Type"), "text/event-stream")
	go func() {
		defer close(st.ended)
		defer response.Body.Close()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				st.events <- data
			}
		}
	}()
	return st
}

// awaits waits for an event that contains a text.
func (st *ruleStream) awaits(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	for {
		select {
		case event := <-st.events:
			if strings.Contains(event, text) {
				return
			}
		case <-st.ended:
			t.Fatalf("the %s stream of %s has ended without %s", st.era, st.user, text)
		case <-ctx.Done():
			t.Fatalf("the %s stream of %s has no %s", st.era, st.user, text)
		}
	}
}

// revoked revokes the named token of ci, and then by a rule all that bob may do. The streams and
// sessions of ci end, and those of others are still there to tell of the new rules.
func (s *rulesSite) revoked(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var kept, lost []*ruleStream
	for _, era := range []string{"modern", "legacy"} {
		lost = append(lost, s.stream(ctx, "ci", era))
		for _, user := range []string{"ada", "bob"} {
			kept = append(kept, s.stream(ctx, user, era))
		}
	}
	s.must(binary(t), "auth", "token", "revoke", "ci", "--file", s.path("tokens.json"))
	began := time.Now()
	for _, st := range lost {
		select {
		case <-st.ended:
		case <-ctx.Done():
			t.Fatalf("the %s stream of ci stays", st.era)
		}
	}
	t.Logf("the streams ended %v after the command", time.Since(began))
	for _, headers := range [][]string{nil, {"Mcp-Session-Id: " + lost[1].session}} {
		response := s.request(ctx, "ci", "POST", legacyHello, headers...)
		assert.NilError(t, response.Body.Close())
		assert.Equal(t, response.StatusCode, http.StatusUnauthorized)
	}
	// bob does not go on in ada's session
	response := s.request(ctx, "bob", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		"Mcp-Session-Id: "+kept[2].session)
	assert.NilError(t, response.Body.Close())
	assert.Equal(t, response.StatusCode, http.StatusNotFound)
	content, err := os.ReadFile(s.path("mcp.json"))
	assert.NilError(t, err)
	without := bytes.Replace(content, []byte(`"rules":[`),
		[]byte(`"rules":[{"effect":"hide","who":{"subject":"bob"}},`), 1)
	assert.Assert(t, len(without) > len(content))
	assert.NilError(t, os.WriteFile(s.path("mcp.json"), without, 0o600))
	for _, st := range kept {
		st.awaits(ctx, t, "notifications/tools/list_changed")
	}
	response = s.request(ctx, "bob", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		"Mcp-Session-Id: "+kept[3].session)
	text, err := io.ReadAll(response.Body)
	assert.NilError(t, err)
	assert.NilError(t, response.Body.Close())
	assert.Assert(t, response.StatusCode == 200 && !strings.Contains(string(text), "__"), "%s", text)
}

// secrets looks for what users called the gateway with.
func (s *rulesSite) secrets(t *testing.T) {
	t.Helper()
	log, audit := s.stopped()
	for user, token := range s.tokens {
		// what precedes the signature of a JWT begins like that of others of the issuer
		secret := token[strings.LastIndexByte(token, '.')+1:]
		for _, server := range ruleServers {
			sent := s.sent(server)
			assert.Assert(t, len(sent) > 0)
			assert.Assert(t, !quotes(sent, secret), "%s has a part of the token of %s", server, user)
			assert.Equal(t, quotes(sent, userKey(user)), server == "tickets" && user != "ci",
				"only tickets asks for the key, at %s for %s", server, user)
		}
		assert.Assert(t, !quotes(log, secret) && !quotes(log, userKey(user)))
	}
	for _, server := range []string{"orders", "tickets"} {
		for _, request := range strings.Split(s.sent(server), "POST /mcp") {
			assert.Assert(t, !strings.Contains(request, serviceToken) ||
				!strings.Contains(request, `"method":"tools/call"`), "%s", request)
		}
	}
	known := map[string]int{}
	for _, line := range audit {
		principal, _ := line["principal"].(string)
		_, user, _ := strings.Cut(principal, "#")
		known[user]++
		client, _ := line["client"].(map[string]any)
		session, _ := line["session"].(string)
		version, _ := client["version"].(string)
		assert.Assert(t, principal != "" && client["name"] == "matrix", "%v", line)
		assert.Equal(t, session != "", version == "v1" || version == string(mcp.Rev20251125),
			"the modern era has no sessions: %v", line)
	}
	for _, u := range ruleUsers {
		assert.Assert(t, known[u.name] > 0, "%v", known)
	}
	assert.Equal(t, len(known), len(ruleUsers), "%v", known)
}

// quotes reports whether a text has 12 bytes of a secret.
func quotes(text, secret string) bool {
	const n = 12
	for i := range len(secret) - n + 1 {
		if strings.Contains(text, secret[i:i+n]) {
			return true
		}
	}
	return false
}
