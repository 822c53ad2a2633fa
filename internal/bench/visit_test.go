//go:build linux

package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	mcpgoserver "github.com/mark3labs/mcp-go/server"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// holds are the waiting calls of the tool hold.
type holds struct {
	mu        sync.Mutex
	released  chan struct{}
	cancelled atomic.Int32
}

// hold reports that the call waits, and waits until it is released. The error is that of the
// report, or the cause of the cancellation.
func (h *holds) hold(ctx context.Context, say func() error) error {
	h.mu.Lock()
	if h.released == nil {
		h.released = make(chan struct{})
	}
	released := h.released
	h.mu.Unlock()
	if err := say(); err != nil {
		return err
	}
	select {
	case <-released:
		return nil
	case <-ctx.Done():
		h.cancelled.Add(1)
		return ctx.Err()
	}
}

func (h *holds) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.released)
	h.released = nil
}

// stdwire's client with servers of the other Go libraries over Streamable HTTP, in each of their
// eras.
func TestVisitHTTP(t *testing.T) {
	for _, c := range []struct {
		library  string
		handler  func(legacy, eventStore bool) http.Handler
		store    bool
		ask, era mcp.Era
	}{
		{"go-sdk", newGoSDKHandler, true, 0, mcp.Legacy},
		{"go-sdk", newGoSDKHandler, false, 0, mcp.Legacy},
		{"go-sdk", newGoSDKHandler, true, 0, mcp.Modern},
		{"mcp-go", newMCPGoHandler, true, mcp.Legacy, mcp.Legacy},
		{"mcp-go", newMCPGoHandler, false, mcp.Legacy, mcp.Legacy},
		{"mcp-go", newMCPGoHandler, true, 0, mcp.Modern},
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
			v := conformance.ServerTest{
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
				v.Cut = nil // otherwise chance would decide whether the response is truncated
			}
			v.Run(t)
			if schemas := conformance.OpenSchemas(); schemas != nil {
				if checked, err := schemas.CheckClient(record); err != nil ||
					checked["tools/call"] == 0 {
					t.Errorf("%v\n%v", checked, err)
				}
			}
		})
	}
}

// The same over stdio.
func TestVisitStream(t *testing.T) {
	for library, serve := range map[string]func(ctx context.Context,
		stream io.ReadWriteCloser) error{
		"go-sdk": func(ctx context.Context, stream io.ReadWriteCloser) error {
			return newGoSDKVisited(new(sync.Map)).Run(ctx,
				&gosdk.IOTransport{Reader: stream, Writer: stream})
		},
		"mcp-go": func(ctx context.Context, stream io.ReadWriteCloser) error {
			s := mcpgoserver.NewStdioServer(newMCPGoVisited(nil))
			s.SetErrorLogger(log.New(io.Discard, "", 0))
			return s.Listen(ctx, stream, stream)
		},
	} {
		for _, c := range []struct{ ask, era mcp.Era }{{mcp.Legacy, mcp.Legacy}, {0, mcp.Modern}} {
			t.Run(library+" "+c.era.String(), func(t *testing.T) {
				near, far, err := pipes()
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- serve(ctx, far) }()
				defer func() {
					cancel()
					far.Close()
					<-ended // whatever the error
				}()
				var mu sync.Mutex // hooks run concurrently
				var talk *conformance.Conversation
				if schemas := conformance.OpenSchemas(); schemas != nil {
					talk = schemas.Client()
				}
				conformance.ServerTest{
					Connect: func(o client.Options) (*client.Client, error) {
						o.Era = c.ask
						o.Hooks.Frame = func(_ context.Context, d rpc.Direction, frame []byte) {
							mu.Lock()
							defer mu.Unlock()
							if talk == nil {
								return
							}
							if err := talk.Frame(d == rpc.Inbound, frame); err != nil {
								t.Error(err)
							}
						}
						return o.Connect(t.Context(), client.Stream(near))
					},
					Era:    c.era,
					Strays: library == "mcp-go",
				}.Run(t)
			})
		}
	}
}
