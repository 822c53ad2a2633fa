package streamable_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// Defects G12 and M9 of other implementations: something is kept of each stream, and the names of
// sessions that have ended, for ever.
func TestG12M9EndedSessionsAndStreamsAreFreed(t *testing.T) {
	w := newFixture(server.Options{})
	h := streamable.Options{MaxEvents: 10, MaxStored: 256 << 10, MaxSessions: 10}.New(w.server)
	defer h.Close()
	text := strings.Repeat("x", 500)
	open := func() header {
		got := arrive(h, "POST", local, "localhost",
			strings.Replace(initialize, "REVISION", "2025-11-25", 1), "")
		assert.Equal(t, got.Code, 200)
		return header("Mcp-Session-Id: " + got.Header().Get("Mcp-Session-Id"))
	}
	call := func(session header) { // as a stream, whose events are kept
		got := arrive(h, "POST", local, "localhost",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`+
				text+`"}}}`, session+"\nAccept: text/event-stream")
		assert.Assert(t, got.Code == 200 && strings.Contains(got.Body.String(), text))
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools have kept
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	lasting := open()
	call(lasting)
	before := heap()
	for range 5000 {
		call(lasting)
	}
	for range 1000 { // many more than there may be, and each with something kept
		session := open()
		call(session)
		assert.Equal(t, arrive(h, "DELETE", local, "localhost", "", session).Code, 204)
	}
	subscribe := modernCall("subscriptions/listen", `"notifications":{"toolsListChanged":true},`)
	for range 2000 {
		ctx, hangUp := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, "POST", "/mcp", strings.NewReader(subscribe))
		header("Content-Type: application/json\n" + listen).apply(r.Header)
		h.ServeHTTP(hangsUp{httptest.NewRecorder(), hangUp}, r)
	}
	grown := heap() - before
	assert.Assert(t, grown < 512<<10, "%d bytes", grown)
	fresh := open() // there is room for what it says still
	call(fresh)
	assert.Equal(t, arrive(h, "GET", local, "localhost", "", fresh+"\nLast-Event-Id: 1-0").Code,
		200)
}

// Defect G15 of other implementations: a server that has sessions for legacy clients has nothing
// for modern ones.
func TestG15SessionsBesideModernClients(t *testing.T) {
	s := start(t, streamable.Options{})
	s.offers()
	legacy := s.connect("2025-11-25", "")
	get := legacy.get("").isStream()
	assert.Assert(t,
		strings.Contains(s.modern("server/discover", "", "", "").text(),
			`"supportedVersions":["2026-07-28"]`))
	subscribed := s.modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true},`,
		"").isStream()
	subscribed.event("acknowledged")
	// What one handler asks, clients of both eras answer in their own way.
	asked := legacy.call("1", "ask", "", "").isStream()
	asked.next() // says nothing yet
	asked.event("elicitation/create")
	ask := strings.Replace(toolCall("ask", ""), "{}", `{"elicitation":{}}`, 1)
	var m struct{ Result struct{ RequestState string } }
	assert.NilError(t,
		json.Unmarshal([]byte(s.do(t.Context(), "POST", s.url, ask, modernTool+"ask").text()), &m))
	answered := strings.Replace(ask, `"_meta"`,
		`"inputResponses":{"name":{"action":"decline"}},"requestState":"`+m.Result.RequestState+
			`","_meta"`, 1)
	assert.Assert(t,
		strings.Contains(s.do(t.Context(), "POST", s.url, answered, modernTool+"ask").text(),
			`"text":"decline"`))
	assert.Equal(t, legacy.post(`{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`,
		"").StatusCode, 202)
	asked.event(`"text":"decline"`)
	s.changeTools("new")
	get.event("list_changed")
	subscribed.event("list_changed")
}

// Defect M10 of other implementations: sessions belong to no principal, are accepted by their form,
// and are created on the fly.
func TestM10SessionsAreMadeByInitialize(t *testing.T) {
	s := start(t, streamable.Options{Principal: byToken})
	const a, b = header("Authorization: Bearer a\n"), header("Authorization: Bearer b\n")
	c := s.connect("2025-11-25", a)
	forged := []byte(c.id)
	forged[0] ^= 1
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, method := range []string{"GET", "POST", "DELETE"} {
		for h, want := range map[header]int{a: 400, a +
			header("Mcp-Session-Id: "+string(forged)): 404, b +
			header("Mcp-Session-Id: "+c.id): 404, header("Mcp-Session-Id: " + c.id): 401} {
			answer := s.do(t.Context(), method, s.url, ping, h)
			assert.Equal(t, answer.StatusCode, want)
			assert.Equal(t, answer.Header.Get("Mcp-Session-Id"), "")
		}
	}
	assert.Equal(t, c.post(ping, a).StatusCode, 200)
}
