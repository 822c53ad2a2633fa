package lsp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/lsp"
)

func TestCancellation(t *testing.T) {
	started, ended := make(chan bool, 2), make(chan error, 2)
	var r rpc.Router
	rpc.Handle(&r, "textDocument/hover", func(ctx context.Context, _ struct{}) (any, error) {
		started <- true
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	sent := make(chan string, 9)
	editor, server := rpc.Options{Cancellation: lsp.Cancellation(), Hooks: rpc.Hooks{
		Frame: func(_ context.Context, d rpc.Direction, frame []byte) {
			if d == rpc.Outbound {
				sent <- string(frame)
			}
		}}}.Pipe(rpc.Options{Cancellation: lsp.Cancellation(), Handler: r.Serve})

	// A call whose context ends notifies the server.
	ctx, cancel := context.WithCancel(t.Context())
	call, err := editor.Start(ctx, "textDocument/hover", nil)
	assert.NilError(t, err)
	<-started
	cancel()
	assert.ErrorIs(t, call.Wait(ctx, nil), context.Canceled)
	assert.ErrorIs(t, <-ended, rpc.ErrCancelled)
	<-sent
	assert.Equal(t, <-sent, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`)

	// A cancelled request has a response.
	call, err = editor.Start(t.Context(), "textDocument/hover", nil)
	assert.NilError(t, err)
	<-started
	assert.NilError(t, editor.Notify(t.Context(), "$/cancelRequest",
		map[string]rpc.ID{"id": call.ID()}))
	assert.Error(t, call.Wait(t.Context(), nil), "Request cancelled (code -32800)")
	_ = editor.Close()
	err = server.Wait() // the response to the first call may not have been written yet
	assert.Assert(t, errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe), err)
}

func TestOpenConnectsToTheEditor(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer tcp.Close()
	_, port, err := net.SplitHostPort(tcp.Addr().String())
	assert.NilError(t, err)
	connects(t, tcp, "--socket="+port)
	connects(t, tcp, "--verbose", "--socket", port, "--clientProcessId=1")
	connects(t, tcp, "--socket", "--port="+port)
	connects(t, tcp, "--port", port)
	if runtime.GOOS == "windows" {
		return // TestOpenNamedPipe
	}
	name := filepath.Join(t.TempDir(), "s")
	unix, err := net.Listen("unix", name)
	assert.NilError(t, err)
	defer unix.Close()
	connects(t, unix, "--pipe="+name)
	connects(t, unix, "--pipe", name)
}

// connects calls a method of a server that args start.
func connects(t *testing.T, ln net.Listener, args ...string) {
	t.Helper()
	stream, err := lsp.Open(t.Context(), args)
	assert.NilError(t, err)
	conn, err := ln.Accept()
	assert.NilError(t, err)
	talks(t, conn, stream)
}

// talks calls a method in both directions of a connection, closes one end, and waits for both.
func talks(t *testing.T, near, far io.ReadWriteCloser) {
	t.Helper()
	var r rpc.Router
	rpc.Handle(&r, "ping", func(context.Context, struct{}) (string, error) { return "pong", nil })
	o := rpc.Options{Framing: framing.ContentLength, Handler: r.Serve}
	editor, server := o.New(near), o.New(far)
	for _, p := range []*rpc.Peer{editor, server} {
		var answer string
		assert.NilError(t, p.Call(t.Context(), "ping", nil, &answer))
		assert.Equal(t, answer, "pong")
	}
	_ = server.Close()
	assert.NilError(t, server.Wait())
	assert.Assert(t, editor.Wait() != nil)
}

func TestOpenErrors(t *testing.T) {
	const names = "the arguments must contain --stdio, --pipe=NAME or --socket=PORT"
	for want, args := range map[string][]string{
		"lsp: " + names: {"--log", "stdio"},
		"lsp: --node-ipc is for servers in Node.js; " + names: {"--node-ipc"},
		"lsp: both --stdio and --pipe; only one is allowed":   {"--stdio", "--pipe=a"},
		"lsp: both --stdio and --port; only one is allowed":   {"--stdio", "--port=1"},
		"lsp: --pipe has no NAME":                             {"--pipe", "--log"},
		"lsp: --socket has no PORT":                           {"--socket="},
	} {
		_, err := lsp.Open(t.Context(), args)
		assert.Error(t, err, want)
	}
	_, err := lsp.Open(t.Context(), []string{"--pipe", filepath.Join(t.TempDir(), "none")})
	assert.ErrorContains(t, err, "lsp: connecting to the editor: ")
	_, isOp := errors.AsType[*net.OpError](err)
	assert.Equal(t, isOp, runtime.GOOS != "windows")
}
