package server_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A session goes on at another server with the state that it had at the first one, if the servers
// have the same key, and for the same principal.
func TestSessionState(t *testing.T) {
	key, other := make([]byte, 32), make([]byte, 32)
	other[0] = 1
	const carried, shared = server.SessionCarried, server.SessionShared
	for name, tt := range map[string]struct {
		from, to  server.SessionScope
		key       []byte
		principal string
		spoil     func(state []byte) []byte
		works     bool
	}{
		"carried":                      {carried, carried, key, "ann", nil, true},
		"carried, with another key":    {carried, carried, other, "ann", nil, false},
		"carried, of another":          {carried, carried, key, "bob", nil, false},
		"carried, of nobody":           {carried, carried, key, "", nil, false},
		"carried, in pieces":           {carried, carried, key, "ann", half, false},
		"carried, empty":               {carried, carried, key, "ann", nothing, false},
		"shared":                       {shared, shared, other, "ann", nil, true},
		"shared, in pieces":            {shared, shared, key, "ann", half, false},
		"shared, empty":                {shared, shared, key, "ann", nothing, false},
		"shared, of a modern client":   {shared, shared, key, "ann", of(mcp.Latest), false},
		"shared, of no known revision": {shared, shared, key, "ann", of("2024-01-01"), false},
		"carried, then shared":         {carried, shared, key, "ann", nil, false},
		"shared, then carried":         {shared, carried, key, "ann", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			connect := func(key []byte, scope server.SessionScope, who string) *server.Conn {
				o := quiet
				o.StateKey = key
				c := three(t, o).Integration().NewConn(t.Context(),
					server.ConnOptions{Principal: who, Session: scope})
				t.Cleanup(c.Close)
				return c
			}
			first := connect(key, tt.from, "ann")
			handle(t, first, nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
				"protocolVersion":"2025-06-18","capabilities":{"roots":{}},
				"clientInfo":{"name":"c","version":"1"}}}`)
			handle(t, first, nil, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			state, err := first.SessionState()
			assert.NilError(t, err)
			for _, b := range state {
				assert.Assert(t, tt.from != carried || b > ' ' && b < 0x7f, "%q", state)
			}
			if tt.spoil != nil {
				state = tt.spoil(state)
			}
			second := connect(tt.key, tt.to, tt.principal)
			err = second.SetSessionState(t.Context(), state)
			assert.Equal(t, err == nil, tt.works, "%v", err)
			if !tt.works {
				assert.Equal(t, second.Revision(), mcp.Revision(""))
				return
			}
			assert.Equal(t, second.Revision(), mcp.Rev20250618)
			// what the client can do is part of the state only if servers share it
			assert.Equal(t, second.Capabilities().Roots != nil, tt.to == shared)
			assert.Equal(t, second.Session() == first.Session(), tt.to == shared)
			again, err := second.SessionState()
			assert.NilError(t, err)
			assert.Equal(t, string(again) == string(state), tt.to == shared)
		})
	}
}

func half(state []byte) []byte { return state[:len(state)/2] }

func nothing([]byte) []byte { return nil }

// of returns a function that returns the state of a client of a revision.
func of(revision mcp.Revision) func([]byte) []byte {
	return func([]byte) []byte {
		return []byte(`{"id":"x","revision":"` + string(revision) + `","client":{}}`)
	}
}

// Without a session, a legacy client needs no handshake, and a revision must be known.
func TestStatelessRevisions(t *testing.T) {
	s := three(t, quiet)
	for revision, want := range map[mcp.Revision]mcp.Revision{
		mcp.Latest: "", mcp.LatestLegacy: mcp.LatestLegacy, mcp.Rev20241105: mcp.Rev20241105} {
		c := s.Integration().Stateless("ann", revision)
		assert.Equal(t, c.Revision(), want)
		_, ends := c.Context().Deadline()
		assert.Assert(t, !ends && c.Context().Done() == nil)
		if want == "" {
			continue
		}
		const about = `{"jsonrpc":"2.0","id":1,"method":"resources/%s","params":{"uri":"x:1"}}`
		assert.Assert(t, handle(t, c, nil, about, "read").Result != nil)
		handle(t, c, nil, about, "subscribe").fails(rpc.CodeInvalidRequest,
			"Invalid Request: servers that share their sessions, or have none, cannot do this for "+
				"clients before "+string(mcp.Latest))
	}
	for _, revision := range []mcp.Revision{"", "2024-01-01", "x"} {
		assert.Assert(t, s.Integration().Stateless("ann", revision) == nil)
	}
}
