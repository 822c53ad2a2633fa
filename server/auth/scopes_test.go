package auth_test

import (
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server/auth"
	"github.com/stdwire/stdwire/server/streamable"
)

// files are options with scopes for each tool.
func files() auth.Options {
	return auth.Options{
		MessageScopes: func(m streamable.Message) []string {
			if m.Method != "tools/call" {
				return nil
			}
			if strings.Contains(string(m.Params), `"text":"secret"`) {
				return []string{"files:" + m.Subject, "files:secret"}
			}
			return []string{"files:" + m.Subject}
		},
		ImpliedScopes: map[string][]string{"files:write": {"files:read"},
			"admin": {"files:write", "mcp"}, "a": {"b"}, "b": {"a"}},
	}
}

func insufficient(scopes string) string {
	return `Bearer resource_metadata="` + metadata + `", scope="` + scopes +
		`", error="insufficient_scope", error_description="the token lacks a required scope"`
}

func TestScopeChallengeMustNameAllScopes(t *testing.T) {
	in(t, files(), func(t *testing.T, w *fixture) {
		for _, tc := range []struct {
			scope, tool string
			needs       string // "": the call is made
		}{
			{"mcp files:read", "read", ""},
			{"mcp files:write", "write", ""},
			{"mcp", "read", "mcp files:read"},
			{"", "read", "mcp files:read"},
			{"files:read", "read", "mcp files:read"},
			{"mcp files:read", "write", "mcp files:write"},
			{"mcp files:READ", "read", "mcp files:read"},
			{"mcp files", "read", "mcp files:read"},
			{"mcp files:readwrite", "read", "mcp files:read"},
			{"mcp files:write", "read", ""}, // hierarchies: 2026-07-28, Step-Up Authorization Flow
			{"admin", "read", ""},
			{"admin", "write", ""},
			{"a b", "read", "mcp files:read"},
		} {
			rec := w.call(tc.tool, bearer(w.issuer.token(claims{"scope": tc.scope})))
			if tc.needs == "" {
				w.wants(rec, 200, "")
				assert.Equal(t, len(w.called()), 1)
				continue
			}
			w.wants(rec, 403, insufficient(tc.needs))
			assert.Equal(t, rec.Body.String(),
				`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"this requires the scopes `+
					tc.needs+`"}}`)
			assert.Equal(t, len(w.called()), 0, "it was settled before")
		}
		// By the arguments: all that is missing is named at once.
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"text":"secret"},` +
			modernMeta + `}}`
		rec := w.do("POST", resource, body,
			"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: read\n"+
				bearer(w.issuer.token(nil)))
		w.wants(rec, 403, insufficient("mcp files:read files:secret"))
		// What needs no more than the base is open.
		body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`
		rec = w.do("POST", resource, body,
			"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/list\n"+
				bearer(w.issuer.token(nil)))
		w.wants(rec, 200, "")
	})
}

// What is compared is what is done: neither a header nor a second member leads to something else.
func TestScopesCannotBeBypassed(t *testing.T) {
	in(t, files(), func(t *testing.T, w *fixture) {
		token := bearer(w.issuer.token(claims{"scope": "mcp files:read"}))
		send := func(h header, params string) int {
			return w.do("POST", resource,
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+params+`,`+modernMeta+
					`}}`, h+"\n"+token).Code
		}
		const head = "Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: "
		assert.Equal(t, send(head+"read", `"name":"write","arguments":{"text":"x"}`), 403)
		assert.Assert(t, send(head+"write", `"name":"read","arguments":{"text":"x"}`) != 200)
		for _, params := range []string{
			`"name":"read","name":"write","arguments":{"text":"x"}`,
			`"name":"write","name":"read","arguments":{"text":"x"}`,
			`"name":"write","n\u0061me":"read","arguments":{"text":"x"}`,
			`"name":"write","Name":"read","arguments":{"text":"x"}`,
		} {
			send(head+"read", params)
			send(head+"write", params)
			send("", params)
		}
		assert.Equal(t, len(w.called()), 0)
		assert.Equal(t, send(head+"read", `"n\u0061me":"read","arguments":{"text":"x"}`), 200)
	})
}

// The legacy era: sessions, batches, and the transport of 2024-11-05.
func TestScopesOfTheLegacyEra(t *testing.T) {
	in(t, files(), func(t *testing.T, w *fixture) {
		token := bearer(w.issuer.token(claims{"scope": "mcp files:read"}))
		session := w.initialize("2025-03-26", token)
		call := func(id, tool string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` +
				tool + `","arguments":{"text":"x"}}}`
		}
		w.wants(w.do("POST", resource, call("1", "read"), session+token), 200, "")
		w.wants(w.do("POST", resource, call("1", "write"), session+token), 403,
			insufficient("mcp files:write"))
		assert.Equal(t, len(w.called()), 1)

		w.wants(w.do("POST", resource, "["+call("1", "read")+","+call("2", "read")+"]", session+
			token), 200, "")
		assert.Equal(t, len(w.called()), 2)
		// None of a batch is done if not all may be, and all scopes are named.
		none := bearer(w.issuer.token(claims{"scope": "other"}))
		w.wants(w.do("POST", resource, "["+call("1", "read")+","+call("2", "write")+"]", session+
			token), 403, insufficient("mcp files:read files:write"))
		w.wants(w.do("POST", resource, "["+call("1", "read")+","+call("2", "write")+"]", session+
			none), 403, insufficient("mcp files:read files:write"))
		assert.Equal(t, len(w.called()), 0)

		// What has no message needs the base; also an answer, and a message of the old transport.
		for _, method := range []string{"GET", "DELETE"} {
			w.wants(w.do(method, resource, "", session+none), 403, insufficient("mcp"))
		}
		w.wants(w.do("POST", resource, `{"jsonrpc":"2.0","id":1,"result":{}}`, session+none), 403,
			insufficient("mcp"))
		w.wants(w.do("POST", resource,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
			session+none), 403, insufficient("mcp"))
		w.wants(w.do("POST", resource+"?sessionId=x", call("1", "write"), token), 403,
			insufficient("mcp files:write"))
		assert.Equal(t, len(w.called()), 0)
		assert.Equal(t, w.do("DELETE", resource, "", session+token).Code, http.StatusNoContent)
	})
}

// initialize opens a session, and returns its header.
func (w *fixture) initialize(revision string, credentials header) header {
	w.t.Helper()
	rec := w.do("POST", resource,
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+revision+
			`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, credentials)
	assert.Equal(w.t, rec.Code, 200, rec.Body.String())
	session := header("Mcp-Session-Id: " + rec.Header().Get("Mcp-Session-Id") + "\n")
	assert.Equal(w.t,
		w.do("POST", resource, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session+
			credentials).Code, 202)
	return session
}
