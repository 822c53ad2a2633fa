package rpchttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/rpchttp"
)

func TestClient(t *testing.T) {
	client := newClient(t, serve(t, rpchttp.HandlerOptions{}.New(methods().Serve)),
		rpchttp.ClientOptions{})
	var n int
	assert.NilError(t, client.Call(t.Context(), "subtract", []int{42, 23}, &n))
	assert.Equal(t, n, 19)
	assert.NilError(t, client.Call(t.Context(), "subtract", map[string]int{"b": 1}, &n))
	assert.Equal(t, n, -1)
	assert.NilError(t, client.Notify(t.Context(), "note", nil))
	err := client.Call(t.Context(), "own", nil, nil)
	e, ok := errors.AsType[*rpc.Error](err)
	assert.Assert(t, ok)
	assert.Equal(t, e.Code, 7)
	assert.Equal(t, string(e.Data), `{"a":1}`)
	assert.ErrorIs(t, client.Call(t.Context(), "none", nil, nil), rpc.ErrMethodNotFound)
	assert.Error(t, client.Call(t.Context(), "subtract", 1, nil),
		`rpc: subtract: encoding params: params must be an object or an array, not 1`)
	var text string
	assert.ErrorContains(t, client.Call(t.Context(), "subtract", nil, &text),
		"rpchttp: subtract: decoding the result: want a string, not a number")

	calls := []*rpc.BatchCall{
		{Method: "subtract", Params: []int{3, 1}, Result: &n},
		{Method: "note", Notify: true},
		{Method: "none"},
		{Method: "repeat", Params: []int{3}, Result: &text},
	}
	assert.NilError(t, client.Batch(t.Context(), calls))
	assert.NilError(t, calls[0].Err)
	assert.Equal(t, n, 2)
	assert.NilError(t, calls[1].Err)
	assert.ErrorIs(t, calls[2].Err, rpc.ErrMethodNotFound)
	assert.NilError(t, calls[3].Err)
	assert.Equal(t, text, "xxx")
	assert.NilError(t, client.Batch(t.Context(), calls[1:2]))
	assert.Error(t, client.Batch(t.Context(), nil), "rpchttp: a batch must not be empty")
}

// reply returns the URL of a server that sends one response to all requests.
func reply(t *testing.T, status int, body string, header ...string) string {
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
}

// What servers send, and the errors of a call, whose id is 1, a notification and a batch of calls
// with the ids 1 and 2. In the errors, URL is the server's.
func TestResponses(t *testing.T) {
	const broken = "rpc: the peer broke the protocol: "
	const noResponse = "rpchttp: m: " + broken + "the batch has no response to this call"
	for name, c := range map[string]struct {
		status              int
		body                string
		call, notify, batch string
	}{
		"result": {200, response("1", `"result":3`), "", "",
			noResponse},
		"text id":    {200, response(`"1"`, `"result":3`), "", "", noResponse},
		"fractional": {201, response(`1.0`, `"result":3`), "", "", noResponse},
		"batch": {200, "[" + response("2", `"result":2`) + "," + response("1", `"result":1`) + "]",
			"rpchttp: m: " + broken, "", ""},
		"other id": {200, response("7", `"result":3`),
			"rpchttp: m: " + broken + "the response has the id 7, want 1", "",
			noResponse},
		"error without id": {200, failure("null", -32700, "bad"), "bad (code -32700)",
			"bad (code -32700)", "rpchttp: batch: bad (code -32700)"},
		"nothing": {204, "", "rpchttp: m: " + broken + `the response is ""`, "",
			"rpchttp: batch: " + broken},
		"page": {200, "<html>", "rpchttp: m: " + broken + `the response is "<html>"`, "",
			"rpchttp: batch: " + broken},
		"request": {200, `{"jsonrpc":"2.0","id":1,"method":"m"}`,
			"rpchttp: m: " + broken + "a request in place of a response", "",
			"rpchttp: batch: " + broken},
		"status": {503, "come\nagain",
			`rpchttp: m: HTTP status 503 Service Unavailable: "come\nagain"`,
			`rpchttp: m: HTTP status 503 Service Unavailable: "come\nagain"`,
			`rpchttp: batch: HTTP status 503 Service Unavailable: "come\nagain"`},
		"status with error": {500, failure("1", -32601, "no"),
			"rpchttp: m: HTTP status 500 Internal Server Error: no (code -32601)",
			"rpchttp: m: HTTP status 500 Internal Server Error: no (code -32601)",
			"rpchttp: batch: HTTP status 500 Internal Server Error: no (code -32601)"},
		"large": {200, response("1", `"result":"`+strings.Repeat("x", 1000)+`"`),
			"rpchttp: m: the response is too large: it has more than 500 bytes",
			"rpchttp: m: the response is too large: it has more than 500 bytes",
			"rpchttp: batch: the response is too large: it has more than 500 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			url := reply(t, c.status, c.body)
			check := func(err error, want string) {
				t.Helper()
				if want == "" {
					assert.NilError(t, err)
					return
				}
				assert.ErrorContains(t, err, want)
				if strings.Contains(want, broken) {
					assert.ErrorIs(t, err, rpc.ErrProtocol)
				}
				e, ok := errors.AsType[*rpchttp.StatusError](err)
				assert.Equal(t, ok, c.status >= 300)
				if ok {
					assert.Equal(t, e.StatusCode, c.status)
				}
			}
			o := rpchttp.ClientOptions{MaxResponse: 500}
			check(newClient(t, url, o).Call(t.Context(), "m", nil, nil), c.call)
			check(newClient(t, url, o).Notify(t.Context(), "m", nil), c.notify)
			calls := []*rpc.BatchCall{{Method: "m"}, {Method: "m"}}
			err := newClient(t, url, o).Batch(t.Context(), calls)
			if err == nil {
				err = calls[1].Err
			}
			check(err, c.batch)
		})
	}
	client := newClient(t, reply(t, 500, failure("1", -32601, "no")), rpchttp.ClientOptions{})
	assert.ErrorIs(t, client.Call(t.Context(), "m", nil, nil), rpc.ErrMethodNotFound)
	client = newClient(t, reply(t, 200, strings.Repeat("x", 1000)),
		rpchttp.ClientOptions{MaxResponse: 10})
	assert.ErrorIs(t, client.Call(t.Context(), "m", nil, nil), rpchttp.ErrResponseTooLarge)
}

// An error without an id explains which calls of the batch have no response.
func TestBatchWithUnreadMessage(t *testing.T) {
	client := newClient(t, reply(t, 200, "["+failure("null", -32600, "odd")+","+
		response("2", `"result":2`)+"]"), rpchttp.ClientOptions{})
	n := 0
	calls := []*rpc.BatchCall{{Method: "a"}, {Method: "b", Result: &n}}
	assert.NilError(t, client.Batch(t.Context(), calls))
	assert.Error(t, calls[0].Err, "rpchttp: a: odd (code -32600)")
	assert.NilError(t, calls[1].Err)
	assert.Equal(t, n, 2)
}

// No redirect is followed, to whichever server: a POST and its headers go nowhere else.
func TestRedirects(t *testing.T) {
	other := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the other server was called")
	}))
	for _, status := range []int{301, 302, 303, 307, 308} {
		followed := &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
		client := newClient(t, reply(t, status, "", "Location: "+other+"/rpc?secret"),
			rpchttp.ClientOptions{HTTP: followed})
		assert.Error(t, client.Call(t.Context(), "m", nil, nil), fmt.Sprintf(
			"rpchttp: m: HTTP status %d %s: redirected to %s/rpc: not followed: "+
				"if that is intended, use its URL", status, http.StatusText(status), other))
	}
}

// Requests have the headers of the options, and use connections again, also after an error.
func TestConnectionsAreReused(t *testing.T) {
	var connections atomic.Int32
	handler := rpchttp.HandlerOptions{}.New(methods().Serve)
	server := httptest.NewUnstartedServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			if r.Header.Get("X-Key") != "key" || user != "ann" || password != "secret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			handler.ServeHTTP(w, r)
		}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	client := newClient(t, strings.Replace(server.URL, "//", "//ann:secret@", 1),
		rpchttp.ClientOptions{Header: http.Header{"X-Key": {"key"}}})
	// On a busy machine, net/http may give up a connection: its own goroutine has 50 ms to say that
	// a request was written.
	eventually.True(t, "one connection is enough", func() bool {
		before := connections.Load()
		for range 10 {
			assert.NilError(t, client.Call(t.Context(), "subtract", nil, nil))
			assert.NilError(t, client.Notify(t.Context(), "note", nil))
			assert.ErrorIs(t, client.Call(t.Context(), "none", nil, nil), rpc.ErrMethodNotFound)
		}
		return connections.Load()-before <= 1
	})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			n := 0
			err := client.Call(t.Context(), "subtract", []int{i, 1}, &n)
			if err != nil || n != i-1 {
				t.Errorf("%d: %v %v", i, n, err)
			}
		})
	}
	all.Wait()
}

// Errors of the network name the method and the server, but no secret of the URL.
func TestNetworkErrors(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	address := ln.Addr().String()
	assert.NilError(t, ln.Close())
	client := newClient(t, "http://ann:secret@"+address+"/rpc?key=secret", rpchttp.ClientOptions{})
	err = client.Call(t.Context(), "m", nil, nil)
	assert.ErrorContains(t, err, "rpchttp: m: POST http://"+address+"/rpc: dial tcp")
	assert.Assert(t, !strings.Contains(err.Error(), "secret"), err)
	for _, url := range []string{"://", "", "ftp://a", "http://%zz"} {
		err := newClient(t, url, rpchttp.ClientOptions{}).Notify(t.Context(), "m", nil)
		assert.ErrorContains(t, err, "rpchttp: m: POST ")
	}
}

// Call honours its context also while a response arrives.
func TestCallHonoursItsContext(t *testing.T) {
	began := make(chan struct{})
	client := newClient(t, serve(t, http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0",`)
			_ = http.NewResponseController(w).Flush()
			close(began)
			<-r.Context().Done()
		})), rpchttp.ClientOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	var raw json.RawMessage
	assert.Error(t, client.Call(ctx, "m", nil, &raw), "rpchttp: m: context canceled")
}

// Whatever a server sends, a call returns.
func FuzzResponse(f *testing.F) {
	f.Add([]byte(response("1", `"result":3`)))
	f.Add([]byte("[" + response("2", `"result":2`) + "," + failure("1", 7, "m") + "]"))
	f.Add([]byte("[" + failure("null", 7, "m") + "]"))
	f.Fuzz(func(t *testing.T, body []byte) {
		o := rpchttp.ClientOptions{MaxResponse: 1000, HTTP: &http.Client{Transport: constant(body)}}
		var raw json.RawMessage
		if o.New("http://a").Call(t.Context(), "m", nil, &raw) == nil {
			assert.Assert(t, json.Valid(raw))
		}
		calls := []*rpc.BatchCall{{Method: "a"}, {Method: "b", Result: &raw}}
		err := o.New("http://a").Batch(t.Context(), calls)
		if err == nil && calls[1].Err == nil && raw != nil {
			assert.Assert(t, json.Valid(raw))
		}
		_ = o.New("http://a").Notify(t.Context(), "m", nil)
	})
}

// constant is an [http.RoundTripper] with one response body.
type constant []byte

func (c constant) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(string(c)))}, nil
}
