package streamable_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// Serve answers, and when its context ends it answers what still runs.
func TestServe(t *testing.T) {
	s := server.New(server.Info{Name: "test", Version: "1"}, nil)
	running, release := make(chan bool), make(chan bool)
	server.AddTool(s, mcp.Tool{Name: "wait"},
		func(context.Context, struct{}) (string, error) {
			running <- true
			<-release
			return "done", nil
		})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- streamable.New(s).Serve(ctx, l) }()

	answers := make(chan string, 1)
	go func() {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","_meta":{"` +
			mcp.MetaProtocolVersion + `":"2026-07-28","` + mcp.MetaClientCapabilities + `":{}}}}`
		request, _ := http.NewRequest("POST", "http://"+l.Addr().String(), strings.NewReader(body))
		for name, value := range map[string]string{"Content-Type": "application/json",
			"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
			"Mcp-Method": "tools/call", "Mcp-Name": "wait"} {
			request.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			answers <- err.Error()
			return
		}
		defer response.Body.Close()
		answers <- response.Status
	}()
	<-running
	cancel()
	release <- true
	assert.Equal(t, <-answers, "200 OK")
	assert.NilError(t, <-served)
	_, err = net.Dial("tcp", l.Addr().String())
	assert.Assert(t, err != nil, "the listener is closed")

	l, err = net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	assert.NilError(t, l.Close())
	assert.ErrorIs(t, streamable.New(s).Serve(t.Context(), l), net.ErrClosed)
}

// Without a logger of its own, the handler logs where the server does.
func TestLoggerIsTheServers(t *testing.T) {
	var log strings.Builder
	s := server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}.New(
		server.Info{Name: "test", Version: "1"}, nil)
	h := streamable.Options{Principal: func(*http.Request) (string, error) {
		return "", errors.New("no such token")
	}}.New(s)
	defer h.Close()
	r := httptest.NewRequest("POST", "http://localhost/", strings.NewReader(`{}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	assert.Equal(t, w.Code, http.StatusUnauthorized)
	assert.Assert(t, strings.Contains(log.String(), "no such token"), log.String())
}
