package rpchttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/rpchttp"
)

// A server whose method takes its params by name or by position, and a client. The errors of the
// method are meant for the caller, so ShowErrors sends their text.
func Example() {
	type division struct {
		Dividend float64 `json:"dividend"`
		Divisor  float64 `json:"divisor"`
	}
	var router rpc.Router
	rpc.Handle(&router, "divide", func(_ context.Context, d division) (float64, error) {
		if d.Divisor == 0 {
			return 0, errors.New("the divisor is zero")
		}
		return d.Dividend / d.Divisor, nil
	}, "dividend", "divisor")
	handler := rpchttp.HandlerOptions{}.New(rpc.ShowErrors(router.Serve))
	server := httptest.NewServer(handler)
	defer server.Close()

	client := rpchttp.ClientOptions{}.New(server.URL)
	defer client.CloseIdleConnections()
	ctx := context.Background()
	var quotient float64
	fmt.Println(client.Call(ctx, "divide", []int{3, 2}, &quotient), quotient)
	fmt.Println(client.Call(ctx, "divide", division{3, 0}, &quotient))
	// Output:
	// <nil> 1.5
	// the divisor is zero (code -32603)
}

// A batch is one POST for several calls.
func ExampleClient_Batch() {
	var router rpc.Router
	rpc.Handle(&router, "double", func(_ context.Context, n [1]int) (int, error) {
		return 2 * n[0], nil
	})
	server := httptest.NewServer(rpchttp.HandlerOptions{}.New(router.Serve))
	defer server.Close()

	client := rpchttp.ClientOptions{}.New(server.URL)
	defer client.CloseIdleConnections()
	var a, b int
	calls := []*rpc.BatchCall{
		{Method: "double", Params: []int{1}, Result: &a},
		{Method: "double", Params: []int{2}, Result: &b},
		{Method: "triple"},
	}
	fmt.Println(client.Batch(context.Background(), calls), a, b)
	fmt.Println(calls[2].Err)
	// Output:
	// <nil> 2 4
	// there is no method "triple" (code -32601)
}
