package rpchttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/rpchttp"
)

// methods returns handlers of methods that the tests call.
func methods() *rpc.Router {
	var r rpc.Router
	type pair struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	rpc.Handle(&r, "subtract", func(_ context.Context, p pair) (int, error) {
		return p.A - p.B, nil
	}, "a", "b")
	rpc.Handle(&r, "repeat", func(_ context.Context, p pair) (string, error) {
		return strings.Repeat("x", p.A), nil
	}, "a")
	rpc.Handle(&r, "panic", func(context.Context, struct{}) (any, error) { panic("ashes") })
	rpc.Handle(&r, "exit", func(context.Context, struct{}) (any, error) {
		runtime.Goexit()
		return nil, nil
	})
	rpc.Handle(&r, "fail", func(context.Context, struct{}) (any, error) {
		return nil, errors.New("a secret")
	})
	rpc.Handle(&r, "own", func(context.Context, struct{}) (any, error) {
		return nil, &rpc.Error{Code: 7, Message: "seven", Data: []byte(`{"a":1}`)}
	})
	rpc.HandleNotification(&r, "note", func(context.Context, pair) error { return nil })
	return &r
}

// serve starts a net/http server and returns its URL.
func serve(t testing.TB, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// send sends one HTTP request. A header is "Name: value".
func send(t testing.TB, method, url, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	assert.NilError(t, err)
	req.Header.Set("Content-Type", "application/json")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	assert.NilError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func text(t testing.TB, resp *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	assert.NilError(t, err)
	return string(body)
}

// newClient returns a client of a server.
func newClient(t testing.TB, url string, o rpchttp.ClientOptions) *rpchttp.Client {
	c := o.New(url)
	t.Cleanup(c.CloseIdleConnections)
	return c
}
