package rpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"

	"github.com/stdwire/stdwire/rpc"
)

// The smallest server and the smallest call. Both ends are the same type; here one of them has a
// handler.
func ExamplePeer_Call() {
	near, far := net.Pipe()
	server := rpc.NewPeer(far,
		rpc.Options{Handler: func(_ context.Context, req *rpc.Request) (any, error) {
			var terms []int
			if err := json.Unmarshal(req.Params, &terms); err != nil {
				return nil, rpc.Errorf(rpc.CodeInvalidParams, "params must be numbers")
			}
			sum := 0
			for _, n := range terms {
				sum += n
			}
			return sum, nil
		}})
	client := rpc.NewPeer(near, rpc.Options{})

	var sum int
	err := client.Call(context.Background(), "add", []int{1, 2, 3}, &sum)
	fmt.Println(sum, err)
	err = client.Call(context.Background(), "add", map[string]int{"a": 1}, &sum)
	fmt.Println(err)

	client.Close()
	fmt.Println(client.Wait(), server.Wait())
	// Output:
	// 6 <nil>
	// params must be numbers (code -32602)
	// <nil> EOF
}

// Middleware wraps a handler: here, one that limits the time of a request, and one that selects the
// handler by method.
func ExampleChain() {
	limit := func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, req *rpc.Request) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			defer cancel()
			result, err := next(ctx, req)
			if ctx.Err() != nil {
				return nil, rpc.Errorf(-32001, "%s takes too long", req.Method)
			}
			return result, err
		}
	}
	methods := map[string]rpc.Handler{
		"ping": func(context.Context, *rpc.Request) (any, error) { return "pong", nil },
		"wait": func(ctx context.Context, _ *rpc.Request) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
	route := func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, req *rpc.Request) (any, error) {
			if h, ok := methods[req.Method]; ok {
				return h(ctx, req)
			}
			return next(ctx, req)
		}
	}
	unknown := func(context.Context, *rpc.Request) (any, error) {
		return nil, rpc.ErrMethodNotFound
	}

	near, far := net.Pipe()
	rpc.NewPeer(far, rpc.Options{Handler: rpc.Chain(unknown, limit, route)})
	client := rpc.NewPeer(near, rpc.Options{})
	defer client.Close()
	for _, method := range []string{"ping", "wait", "sing"} {
		var answer string
		err := client.Call(context.Background(), method, nil, &answer)
		fmt.Println(answer, err)
	}
	// Output:
	// pong <nil>
	//  wait takes too long (code -32001)
	//  Method not found (code -32601)
}

// Cancellation in the Language Server Protocol: the notification $/cancelRequest with the id. The
// request is still answered, with -32800.
func ExampleCancellation() {
	type params struct {
		ID rpc.ID `json:"id"`
	}
	lsp := &rpc.Cancellation{
		Method: "$/cancelRequest",
		Params: func(_ string, id rpc.ID, _ error) any { return params{id} },
		Target: func(raw json.RawMessage) (rpc.ID, string, bool) {
			var p params
			err := json.Unmarshal(raw, &p)
			return p.ID, "", err == nil
		},
		Reply: rpc.Errorf(-32800, "Request cancelled"),
	}

	near, far := net.Pipe()
	started, ended := make(chan bool, 2), make(chan error, 2)
	rpc.NewPeer(far,
		rpc.Options{Cancellation: lsp,
			Handler: func(ctx context.Context, _ *rpc.Request) (any, error) {
				started <- true
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return nil, ctx.Err()
			}})
	editor := rpc.NewPeer(near, rpc.Options{Cancellation: lsp})
	defer editor.Close()

	// Cancelling the context of a call is enough; the caller does not wait for the response.
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-started
		cancel()
	}()
	fmt.Println(editor.Call(ctx, "textDocument/hover", nil, nil))
	fmt.Println(<-ended)

	// To get that response, send only the notification.
	call, err := editor.Start(context.Background(), "textDocument/hover", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	<-started
	_ = editor.Notify(context.Background(), lsp.Method, params{call.ID()})
	fmt.Println(call.Wait(context.Background(), nil))
	// Output:
	// rpc: textDocument/hover: context canceled
	// rpc: cancelled by the peer
	// Request cancelled (code -32800)
}

// Hooks observe a connection, for logs, metrics and traces.
func ExampleHooks() {
	near, far := net.Pipe()
	rpc.NewPeer(far, rpc.Options{Handler: func(context.Context, *rpc.Request) (any, error) {
		return "pong", nil
	}})
	client := rpc.NewPeer(near, rpc.Options{Hooks: rpc.Hooks{
		Frame: func(d rpc.Direction, frame []byte) {
			if d == rpc.Outbound {
				fmt.Printf("--> %s\n", frame)
			} else {
				fmt.Printf("<-- %s\n", frame)
			}
		},
		Call: func(e rpc.CallEvent) {
			if e.End {
				fmt.Println(e.Method, e.ID, "ended:", e.Err, e.Duration < time.Minute)
			}
		},
	}})
	_ = client.Call(context.Background(), "ping", nil, nil)
	client.Close()
	_ = client.Wait()
	// Output:
	// --> {"jsonrpc":"2.0","id":1,"method":"ping"}
	// <-- {"jsonrpc":"2.0","id":1,"result":"pong"}
	// ping 1 ended: <nil> true
}
