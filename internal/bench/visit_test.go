//go:build linux

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// holds are the calls of the tool hold that wait.
type holds struct {
	mu        sync.Mutex
	released  chan struct{}
	cancelled atomic.Int32
}

// hold waits until it is released; false if it was cancelled before.
func (h *holds) hold(ctx context.Context) bool {
	h.mu.Lock()
	if h.released == nil {
		h.released = make(chan struct{})
	}
	released := h.released
	h.mu.Unlock()
	select {
	case <-released:
		return true
	case <-ctx.Done():
		h.cancelled.Add(1)
		return false
	}
}

func (h *holds) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.released)
	h.released = nil
}

// Our client at the servers of the other Go libraries over Streamable HTTP, in each of their eras.
func TestVisit(t *testing.T) {
	for _, c := range []struct {
		library  string
		handler  func(legacy, eventStore bool) http.Handler
		store    bool
		ask, era mcp.Era
	}{
		{"go-sdk", newGoSDKVisited, true, 0, mcp.Legacy},
		{"go-sdk", newGoSDKVisited, false, 0, mcp.Legacy},
		{"go-sdk", newGoSDKVisited, true, 0, mcp.Modern},
		{"mcp-go", newMCPGoVisited, true, mcp.Legacy, mcp.Legacy},
		{"mcp-go", newMCPGoVisited, false, mcp.Legacy, mcp.Legacy},
		{"mcp-go", newMCPGoVisited, true, 0, mcp.Modern},
	} {
		name := c.library + " " + c.era.String()
		if c.store {
			name += " with events stored"
		}
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.handler(c.era == mcp.Legacy, c.store))
			t.Cleanup(func() {
				server.CloseClientConnections()
				server.Close()
			})
			record := filepath.Join(t.TempDir(), "record")
			tap, err := conformance.NewHTTPTap(record, server.URL)
			if err != nil {
				t.Fatal(err)
			}
			front := httptest.NewServer(tap)
			t.Cleanup(func() {
				front.CloseClientConnections()
				front.Close()
				if err := tap.Close(); err != nil {
					t.Error(err)
				}
			})
			legacy := c.era == mcp.Legacy
			v := conformance.Visit{
				Connect: func(o client.Options) (*client.Client, error) {
					o.Era = c.ask
					return o.Connect(t.Context(), streamable.Dial(front.URL+"/mcp"))
				},
				Era: c.era,
				Cut: func() {
					r, err := http.Post(front.URL+"/cut", "", strings.NewReader(""))
					if err != nil {
						t.Error(err)
						return
					}
					r.Body.Close()
				},
				Resumes: legacy && c.store,
				Closes:  legacy && c.store && c.library == "go-sdk",
				Forgets: legacy,
				Strays:  c.library == "mcp-go",
			}
			if v.Strays && legacy && !v.Resumes {
				v.Cut = nil // what is cut is then up to chance
			}
			v.Run(t)
			if schemas := conformance.OpenSchemas(); schemas != nil {
				if checked, err := schemas.CheckClient(record); err != nil || checked["tools/call"] == 0 {
					t.Errorf("%v\n%v", checked, err)
				}
			}
		})
	}
}
