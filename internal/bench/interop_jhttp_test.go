package main

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/handler"
	"github.com/creachadair/jrpc2/jhttp"
	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/rpchttp"
)

type subtraction struct {
	A int `json:"a"`
	B int `json:"b"`
}

// A client of rpchttp calls a server of jrpc2 over HTTP.
func TestRPCHTTPClientOfJHTTP(t *testing.T) {
	noted := make(chan string, 10)
	bridge := jhttp.NewBridge(handler.Map{
		"subtract": handler.NewPos(func(_ context.Context, a, b int) int { return a - b }, "a", "b"),
		"fail": handler.New(func(context.Context) (int, error) {
			return 0, jrpc2.Errorf(7, "seven").WithData([]int{1})
		}),
		"note": handler.New(func(_ context.Context, text [1]string) (any, error) {
			noted <- text[0]
			return nil, nil
		}),
	}, nil)
	defer func() { assert.NilError(t, bridge.Close()) }()
	server := httptest.NewServer(bridge)
	defer server.Close()
	client := rpchttp.ClientOptions{}.New(server.URL)
	defer client.CloseIdleConnections()

	var n, m int
	assert.NilError(t, client.Call(t.Context(), "subtract", []int{42, 23}, &n))
	assert.Equal(t, n, 19)
	assert.NilError(t, client.Call(t.Context(), "subtract", subtraction{1, 2}, &n))
	assert.Equal(t, n, -1)
	assert.Error(t, client.Call(t.Context(), "fail", nil, nil), "seven (code 7)")
	assert.ErrorIs(t, client.Call(t.Context(), "none", nil, nil), rpc.ErrMethodNotFound)
	assert.NilError(t, client.Notify(t.Context(), "note", []string{"one"}))
	calls := []*rpc.BatchCall{
		{Method: "subtract", Params: []int{3, 1}, Result: &n},
		{Method: "note", Params: []string{"two"}, Notify: true},
		{Method: "none"},
		{Method: "subtract", Params: []int{5, 1}, Result: &m},
	}
	assert.NilError(t, client.Batch(t.Context(), calls))
	assert.NilError(t, calls[0].Err)
	assert.ErrorIs(t, calls[2].Err, rpc.ErrMethodNotFound)
	assert.NilError(t, calls[3].Err)
	assert.Equal(t, n, 2)
	assert.Equal(t, m, 4)
	assert.NilError(t, client.Batch(t.Context(), calls[1:2]))
	for _, want := range []string{"one", "two", "two"} {
		assert.Equal(t, <-noted, want)
	}
}

// A client of jrpc2 calls a server of rpchttp.
func TestJHTTPClientOfRPCHTTP(t *testing.T) {
	var router rpc.Router
	rpc.Handle(&router, "subtract", func(_ context.Context, s subtraction) (int, error) {
		return s.A - s.B, nil
	}, "a", "b")
	rpc.Handle(&router, "fail", func(context.Context, struct{}) (any, error) {
		return nil, rpc.Errorf(7, "seven")
	})
	noted := make(chan string, 10)
	rpc.HandleNotification(&router, "note", func(_ context.Context, text [1]string) error {
		noted <- text[0]
		return nil
	})
	server := httptest.NewServer(rpchttp.HandlerOptions{}.New(router.Serve))
	defer server.Close()
	client := jrpc2.NewClient(jhttp.NewChannel(server.URL, nil), nil)
	defer client.Close()

	var n int
	assert.NilError(t, client.CallResult(t.Context(), "subtract", []int{42, 23}, &n))
	assert.Equal(t, n, 19)
	assert.NilError(t, client.CallResult(t.Context(), "subtract", subtraction{1, 2}, &n))
	assert.Equal(t, n, -1)
	_, err := client.Call(t.Context(), "fail", nil)
	assert.Equal(t, jrpc2.ErrorCode(err), jrpc2.Code(7))
	_, err = client.Call(t.Context(), "none", nil)
	assert.Equal(t, jrpc2.ErrorCode(err), jrpc2.MethodNotFound)
	assert.NilError(t, client.Notify(t.Context(), "note", []string{"one"}))
	responses, err := client.Batch(t.Context(), []jrpc2.Spec{
		{Method: "subtract", Params: []int{3, 1}},
		{Method: "note", Params: []string{"two"}, Notify: true},
		{Method: "none"},
	})
	assert.NilError(t, err)
	assert.Equal(t, len(responses), 2)
	assert.NilError(t, responses[0].UnmarshalResult(&n))
	assert.Equal(t, n, 2)
	assert.Equal(t, jrpc2.ErrorCode(responses[1].Error()), jrpc2.MethodNotFound)
	got := map[string]bool{<-noted: true, <-noted: true}
	assert.Assert(t, got["one"] && got["two"])
}
