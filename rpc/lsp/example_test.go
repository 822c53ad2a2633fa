package lsp_test

import (
	"context"
	"fmt"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/lsp"
)

// An editor cancels a request. The server still answers it, with -32800.
func ExampleCancellation() {
	started, ended := make(chan bool, 2), make(chan error, 2)
	var router rpc.Router
	rpc.Handle(&router, "textDocument/hover", func(ctx context.Context, _ struct{}) (any, error) {
		started <- true
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	editor, _ := rpc.Options{Cancellation: lsp.Cancellation()}.
		Pipe(rpc.Options{Cancellation: lsp.Cancellation(), Handler: router.Serve})
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
	_ = editor.Notify(context.Background(), "$/cancelRequest", map[string]rpc.ID{"id": call.ID()})
	fmt.Println(call.Wait(context.Background(), nil))
	// Output:
	// rpc: textDocument/hover: context canceled
	// rpc: cancelled by the peer
	// Request cancelled (code -32800)
}
