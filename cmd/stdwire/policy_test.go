//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jose"
	"github.com/stdwire/stdwire/internal/policy"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// tokenWith returns a token with further claims.
func (a *authority) tokenWith(subject string, claims map[string]any) string {
	a.t.Helper()
	all := map[string]any{"iss": a.url, "sub": subject, "aud": audience,
		"exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range claims {
		all[name] = value
	}
	text, err := a.signer.Sign(jose.Header{Type: "at+jwt", KeyID: "k"}, all)
	assert.NilError(a.t, err)
	return text
}

// variedServer has tools of each kind, and resources.
func variedServer(t *testing.T) *httptest.Server {
	catalog := dispatch.NewCatalog()
	for name, kind := range map[string]dispatch.Type{"look": dispatch.Read, "change": dispatch.Write,
		"drop": dispatch.Write} {
		dispatch.Add(catalog, dispatch.Spec{Name: name, Summary: "Runs " + name + ".", Type: kind},
			func(_ context.Context, in struct {
				Path string `json:"path"`
			}) (string, error) {
				return "done", nil
			})
	}
	s := server.New(server.Info{Name: "varied", Version: "1"}, catalog)
	for _, uri := range []string{"data:public", "data:secret"} {
		server.Must(s.AddResource(server.Resource{
			Resource: mcp.Resource{URI: uri, Name: uri},
			Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{
					Contents: []mcp.ResourceContents{{URI: uri, Text: "content"}}}, nil
			}}))
	}
	handler := streamable.New(s)
	t.Cleanup(func() { handler.Close() })
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	return web
}

const everywhereRules = `{"rules":[
	{"effect":"allow","who":{"group":"dev"},"what":{"server":"up","kind":"read"}},
	{"effect":"allow","who":{"scope":"change"},"what":{"tool":"change"},
	 "arguments":{"/path":{"prefix":{"claim":"home"}}}},
	{"effect":"allow","who":{"group":"ops"}},
	{"effect":"hide","what":{"tool":"drop"},"unless":{"subject":"root"}},
	{"effect":"deny","what":{"resource":"data:secret"},"unless":{"claims":{"level":{"ge":3}}}}]}`

// Three callers get, on every way and in both eras, what the rules compute: in lists and searches,
// by calls and reads, and from the HTTP API.
func TestRulesDecideEverywhere(t *testing.T) {
	ownRuntime(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	up := variedServer(t).URL
	write := func(rules string) {
		t.Helper()
		assert.NilError(t, os.WriteFile(path, fmt.Appendf(nil,
			`{"mcpServers":{"up":{"url":%q}},"policy":%s}`, up, rules), 0o600))
	}
	write(everywhereRules)
	issuer := newAuthority(t)
	p := protect(t, issuer, "--config", path)
	rules, err := policy.ParseFile("rules", []byte(everywhereRules))
	assert.NilError(t, err)

	risks := map[string]policy.Risk{"look": policy.Read, "change": policy.Write,
		"drop": policy.Write}
	const arguments = `{"path":"/home/x"}`
	for _, who := range []struct {
		subject string
		groups  []string
		scopes  []string
		others  map[string]any
	}{
		{"dora", []string{"dev"}, []string{"change"}, map[string]any{"home": "/home/", "level": 3}},
		{"carl", nil, []string{"change"}, map[string]any{"home": "/other/"}},
		{"root", []string{"ops"}, nil, nil},
	} {
		claims := map[string]any{"groups": who.groups, "scope": strings.Join(who.scopes, " ")}
		caller := &policy.Caller{Known: true, Issuer: issuer.url, Subject: who.subject,
			Groups: who.groups, Scopes: who.scopes, Claims: map[string]json.RawMessage{}}
		for name, value := range who.others {
			claims[name] = value
			caller.Claims[name], _ = json.Marshal(value)
		}
		token := issuer.tokenWith(who.subject, claims)
		clients := map[string]func(method, name, params string) string{
			"modern": func(method, name, params string) string {
				return p.modern(token, method, name, params)
			},
			"legacy": p.legacy(token),
		}
		for era, send := range clients {
			list, resources := send("tools/list", "", ""), send("resources/list", "", "")
			for tool, risk := range risks {
				item := policy.Item{Server: "up", Name: tool, Risk: risk}
				shown := rules.Shows(caller, item).Effect != policy.Deny
				decided := rules.Decide(caller, item, []byte(arguments))
				context := fmt.Sprintf("%s %s %s", who.subject, era, tool)
				public := "up__" + tool
				assert.Equal(t, strings.Contains(list, `"`+public+`"`), shown, "%s: %s", context, list)
				found := send("tools/call", "find_tool",
					`"name":"find_tool","arguments":{"query":"`+tool+`"}`)
				assert.Equal(t, strings.Contains(found, public), shown, "%s: %s", context, found)
				called := send("tools/call", public,
					`"name":"`+public+`","arguments":`+arguments)
				status, api := p.api(token, "up", tool, arguments)
				switch {
				case !shown:
					assert.Assert(t, strings.Contains(called, "Unknown tool: "+public), called)
					assert.Equal(t, status, 404, api)
				case decided.Effect == policy.Deny:
					assert.Assert(t, strings.Contains(called, "its argument "+decided.Pointer) &&
						!strings.Contains(called, "mcp.json"), called)
					assert.Assert(t, strings.Contains(api, "its argument "+decided.Pointer), api)
				default:
					assert.Assert(t, strings.Contains(called, "done"), "%s: %s", context, called)
					assert.Equal(t, status, 200, api)
				}
			}
			for _, uri := range []string{"data:public", "data:secret"} {
				item := policy.Item{Kind: policy.Resource, Server: "up", Name: uri}
				shown := rules.Shows(caller, item).Effect != policy.Deny
				assert.Equal(t, strings.Contains(resources, uri), shown, "%s %s", who.subject, uri)
				read := send("resources/read", uri, `"uri":"`+uri+`"`)
				assert.Equal(t, strings.Contains(read, "content"), shown, "%s %s: %s", who.subject,
					uri, read)
			}
		}
		_, document := p.ask("GET", "/v1/openapi.json", "", token, "")
		_, manifest := p.ask("GET", "/v1/manifest", "", token, "")
		for tool, risk := range risks {
			shown := rules.Shows(caller,
				policy.Item{Server: "up", Name: tool, Risk: risk}).Effect != policy.Deny
			assert.Equal(t, strings.Contains(document, "Runs "+tool), shown, document)
			assert.Equal(t, strings.Contains(manifest, "up."+tool), shown, manifest)
		}
	}

	// a change applies without a new start
	token := issuer.tokenWith("root", map[string]any{"groups": []string{"ops"}})
	write(`{"rules":[]}`)
	for strings.Contains(p.modern(token, "tools/list", "", ""), "up__look") {
	}
	p.stop()
}

// modern sends a request in the modern era, and returns the body of the response.
func (p *protected) modern(token, method, name, params string) string {
	p.t.Helper()
	if params != "" {
		params += ","
	}
	headers := []string{"Accept: application/json, text/event-stream",
		"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
	if name != "" {
		headers = append(headers, "Mcp-Name: "+name)
	}
	_, text := p.ask("POST", "/mcp", "", token, `{"jsonrpc":"2.0","id":1,"method":"`+method+
		`","params":{`+params+`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		headers...)
	return text
}

// legacy opens a session and returns a function that sends a request in it.
func (p *protected) legacy(token string) func(method, name, params string) string {
	p.t.Helper()
	accept := "Accept: application/json, text/event-stream"
	response, text := p.ask("POST", "/mcp", "", token,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		accept)
	session := "Mcp-Session-Id: " + response.Header.Get("Mcp-Session-Id")
	assert.Equal(p.t, response.StatusCode, 200, text)
	p.ask("POST", "/mcp", "", token, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		accept, session)
	return func(method, _, params string) string {
		_, text := p.ask("POST", "/mcp", "", token, `{"jsonrpc":"2.0","id":2,"method":"`+method+
			`","params":{`+params+`}}`, accept, session)
		return text
	}
}

// api calls an operation of the HTTP API.
func (p *protected) api(token, service, action, arguments string) (int, string) {
	p.t.Helper()
	response, text := p.ask("POST", "/v1/"+service, "", token,
		`{"action":"`+action+`","params":`+arguments+`,"confirm":true}`)
	return response.StatusCode, text
}

// Rules that cannot be read stop the start, and leave the old ones in effect later.
func TestUnreadableRules(t *testing.T) {
	ownRuntime(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "rules.json")
	write := func(name, text string) {
		t.Helper()
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("rules.json", `{"rules":[{"effect":"alow"}]}`)
	write("mcp.json", `{"mcpServers":{},"policy":{"rules":[{"effect":"alow"}]}}`)
	write("alone.json", `{"policy":{"rules":[]}}`)
	for _, args := range [][]string{{"--policy", path}, {"--config", filepath.Join(dir, "mcp.json")},
		{"--config", filepath.Join(dir, "alone.json")}} {
		got := run(t, append([]string{"serve"}, args...)...)
		assert.Equal(t, got.code, 8, got.stderr)
		assert.Assert(t, strings.Contains(got.stderr, args[1]+":1:"), got.stderr)
	}
	write("rules.json", `{"rules":[{"effect":"allow","what":{"tool":"fs_list"}}]}`)
	s := servingHTTP(t, "--no-auth", "--root", dir, "--policy", path)
	write("rules.json", `{"rules":[{"effect":"alow"}]}`)
	s.says("the rules stay as they were: ")
	write("rules.json", `{"rules":[{"effect":"allow","what":{"tool":"fs_*"}}]}`)
	s.says("the rules have changed, and what they permit beyond the former ones waits: SIGHUP ")
	_, rest, _ := strings.Cut(s.serving, "serving MCP at ")
	address, _, _ := strings.Cut(rest, "/mcp")
	p := &protected{t: t, address: address}
	list := p.modern("", "tools/list", "", "")
	assert.Assert(t, strings.Contains(list, `"fs_list"`) && !strings.Contains(list, `"fs_read"`),
		list)
	assert.NilError(t, s.cmd.Process.Signal(syscall.SIGHUP))
	for !strings.Contains(list, `"fs_read"`) {
		list = p.modern("", "tools/list", "", "")
		assert.NilError(t, t.Context().Err())
	}
}
