package streamable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// replicas are servers that share a key, behind something that sends each request to another of
// them.
func replicas(t *testing.T, n int, key string) string {
	t.Helper()
	var all []http.Handler
	for i := range n {
		s := server.Options{StateKey: []byte(key),
			Logger: slog.New(slog.DiscardHandler)}.New(
			server.Info{Name: fmt.Sprint("replica ", i), Version: "1"}, dispatch.NewCatalog())
		assert.NilError(t,
			s.AddRawTool(server.RawTool{
				Tool: mcp.Tool{Name: "which", Description: "Says which server it is."},
				Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{
							Content: []mcp.Content{
								&mcp.TextContent{Text: fmt.Sprint("replica ", i)}}},
						nil
				}}))
		assert.NilError(t,
			s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "ask", Description: "Asks twice."},
				Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
					for _, key := range []string{"first", "second"} {
						if _, err := server.Elicit(ctx, key,
							mcp.ElicitParams{Message: key,
								RequestedSchema: json.RawMessage(
									`{"type":"object","properties":{}}`)}); err != nil {
							return nil, err
						}
					}
					return &mcp.CallToolResult{
						Content: []mcp.Content{&mcp.TextContent{Text: "asked"}}}, nil
				}}))
		h := streamable.Options{Replicas: true, Logger: slog.New(slog.DiscardHandler)}.New(s)
		t.Cleanup(h.Close)
		all = append(all, h)
	}
	var turn atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all[int(turn.Add(1))%n].ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

func send(t *testing.T, method, url, session, version, body string) (status int, header http.Header,
	text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	assert.NilError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	if version != "" {
		r.Header.Set("MCP-Protocol-Version", version)
		var m struct {
			Method string
			Params struct{ Name string }
		}
		assert.NilError(t, json.Unmarshal([]byte(body), &m))
		r.Header.Set("Mcp-Method", m.Method)
		if m.Params.Name != "" {
			r.Header.Set("Mcp-Name", m.Params.Name)
		}
	}
	response, err := http.DefaultClient.Do(r)
	assert.NilError(t, err)
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	assert.NilError(t, err)
	return response.StatusCode, response.Header, string(all)
}

const key = "a secret of thirty-two bytes, or so"

// A legacy client carries its session, and any of the servers takes it up.
func TestReplicasServeALegacySession(t *testing.T) {
	url := replicas(t, 3, key)
	status, header, text := send(t, "POST", url, "", "",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	assert.Equal(t, status, 200, text)
	assert.Assert(t, !strings.Contains(text, `"logging"`) &&
		!strings.Contains(text, `"subscribe":true`), text)
	session := header.Get("Mcp-Session-Id")
	assert.Assert(t, session != "" && len(session) < 256, session)
	seen := map[string]bool{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 30 { // some at the same time: a server takes the session up once
		group.Go(func() {
			status, _, text := send(t, "POST", url, session, "",
				`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"which"}}`)
			if status == 400 && strings.Contains(text, "in flight") {
				return // the same id at the same server
			}
			mu.Lock()
			defer mu.Unlock()
			assert.Check(t, status == 200, text)
			for i := range 3 {
				if strings.Contains(text, fmt.Sprint("replica ", i)) {
					seen[fmt.Sprint(i)] = true
				}
			}
		})
	}
	group.Wait()
	assert.Equal(t, len(seen), 3)

	// What would take a memory is refused, and not begun.
	_, _, text = send(t, "POST", url, session, "",
		`{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"info"}}`)
	assert.Assert(t, strings.Contains(text, "servers that share their sessions"), text)
	_, _, text = send(t, "POST", url, session, "",
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"ask"}}`)
	assert.Assert(t, strings.Contains(text, "does not declare the capability elicitation"), text)
	status, header, _ = send(t, "DELETE", url, session, "", "")
	assert.Equal(t, status, 405)
	assert.Equal(t, header.Get("Allow"), "POST, GET")
	// The session of another principal, and an invalid one, are refused.
	for _, wrong := range []string{"nonsense", session[:len(session)-4] + "AAAA",
		strings.Repeat("x", 600)} {
		status, _, _ = send(t, "POST", url, wrong, "", `{"jsonrpc":"2.0","id":5,"method":"ping"}`)
		assert.Equal(t, status, 404, wrong)
	}
	status, _, _ = send(t, "POST", replicas(t, 1, "another secret of thirty-two bytes"), session,
		"", `{"jsonrpc":"2.0","id":5,"method":"ping"}`)
	assert.Equal(t, status, 404)
}

// A modern client is asked by one server, and answers another.
func TestReplicasShareQuestions(t *testing.T) {
	url := replicas(t, 3, key)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	more, rounds := "", 0
	for {
		_, _, text := send(t, "POST", url, "", "2026-07-28",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask",`+meta+more+`}}`)
		var message struct {
			Result struct {
				ResultType    string
				RequestState  string
				InputRequests map[string]any
			}
		}
		assert.NilError(t, json.Unmarshal([]byte(text), &message), text)
		if message.Result.ResultType == "complete" {
			assert.Assert(t, strings.Contains(text, "asked"), text)
			break
		}
		rounds++
		assert.Equal(t, len(message.Result.InputRequests), 1, text)
		for name := range message.Result.InputRequests {
			more = fmt.Sprintf(
				`,"inputResponses":{%q:{"action":"accept","content":{}}},"requestState":%q`, name,
				message.Result.RequestState)
		}
	}
	assert.Equal(t, rounds, 2)
}
