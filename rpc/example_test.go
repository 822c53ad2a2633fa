package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stdwire/stdwire/rpc"
)

// The smallest server and the smallest call. Both ends are the same type; here one of them has a
// handler.
func Example() {
	var router rpc.Router
	rpc.Handle(&router, "add", func(_ context.Context, terms []int) (int, error) {
		sum := 0
		for _, n := range terms {
			sum += n
		}
		return sum, nil
	})
	client, server := rpc.Options{}.Pipe(rpc.Options{Handler: router.Serve})

	var sum int
	err := client.Call(context.Background(), "add", []int{1, 2, 3}, &sum)
	fmt.Println(sum, err)
	err = client.Call(context.Background(), "add", []any{1, "two"}, &sum)
	fmt.Println(err)

	client.Close()
	fmt.Println(client.Wait(), server.Wait())
	// Output:
	// 6 <nil>
	// params[1]: want a number, not a string (code -32602)
	// <nil> EOF
}

// Middleware wraps a handler: here, one that limits the time of a request.
func ExampleChain() {
	limit := func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, req *rpc.Request) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			defer cancel()
			result, err := next(ctx, req)
			if errors.Is(err, context.DeadlineExceeded) {
				return nil, rpc.Errorf(-32001, "%s takes too long", req.Method)
			}
			return result, err
		}
	}
	var router rpc.Router
	rpc.Handle(&router, "ping", func(context.Context, struct{}) (string, error) {
		return "pong", nil
	})
	rpc.Handle(&router, "wait", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})

	client, _ := rpc.Options{}.Pipe(rpc.Options{Handler: rpc.Chain(router.Serve, limit)})
	defer client.Close()
	for _, method := range []string{"ping", "wait", "sing"} {
		var answer string
		err := client.Call(context.Background(), method, nil, &answer)
		fmt.Println(answer, err)
	}
	// Output:
	// pong <nil>
	//  wait takes too long (code -32001)
	//  there is no method "sing" (code -32601)
}

// Hooks observe a connection, for logs, metrics and traces.
func ExampleHooks() {
	server := rpc.Options{Handler: func(context.Context, *rpc.Request) (any, error) {
		return "pong", nil
	}}
	client, _ := rpc.Options{Hooks: rpc.Hooks{
		Frame: func(_ context.Context, d rpc.Direction, frame []byte) {
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
	}}.Pipe(server)
	_ = client.Call(context.Background(), "ping", nil, nil)
	client.Close()
	_ = client.Wait()
	// Output:
	// --> {"jsonrpc":"2.0","id":1,"method":"ping"}
	// <-- {"jsonrpc":"2.0","id":1,"result":"pong"}
	// ping 1 ended: <nil> true
}
