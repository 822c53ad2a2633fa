// Package mcptest helps to test MCP servers and clients, in memory and without a process.
//
// [Connect] and [ConnectHTTP] return a client of a server of package server. Both work inside a
// bubble of testing/synctest, and fail the test if the connection leaves goroutines running.
// [Answers] plays the user or the model behind a client, and [Script] a server with fixed answers,
// valid or not. [Logger] makes an error in a log fail the test, and [Golden] compares the lists of
// a server with a file.
//
//	func TestAdd(t *testing.T) {
//		c := mcptest.Connect(t, newServer(), client.Options{})
//		sum, err := client.CallAs[int](t.Context(), c, "add", map[string]int{"a": 1, "b": 2})
//		…
//	}
package mcptest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stdwire/stdwire/client"
	streamableclient "github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// closeTimeout is how long a client and a server may take to end with the test.
const closeTimeout = 10 * time.Second

// Connect returns a client of s, connected by a stream in memory. o.Era or o.Revision selects the
// era or revision; the default is the newest revision. The test fails if they cannot connect. The
// client is closed when the test and its subtests end, and the test fails if the server's side or a
// callback of the client does not end within 10 seconds.
//
// A call whose result does not fit the output schema of its tool fails with a
// [*client.OutputError], as with [client.OutputFail], so the tools may be listed before the first
// call. [client.OutputUnchecked] in o.Output prevents that.
func Connect(t testing.TB, s *server.Server, o client.Options) *client.Client {
	t.Helper()
	here, there := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(ctx, there) // the error only reports the closed stream
	}()
	t.Cleanup(func() {
		cancel()
		here.Close()
		awaitEnd(t, served, "the server still serves the stream")
	})
	return connect(t, client.Stream(here), o)
}

// ConnectHTTP is [Connect] over Streamable HTTP, with the default options of
// [github.com/stdwire/stdwire/server/streamable], on connections in memory.
func ConnectHTTP(t testing.TB, s *server.Server, o client.Options) *client.Client {
	t.Helper()
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = streamable.New(s).Serve(ctx, l)
	}()
	transport := &http.Transport{DialContext: l.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		awaitEnd(t, served, "the server still serves HTTP")
	})
	return connect(t, streamableclient.Options{HTTP: &http.Client{Transport: transport}}.
		Dial("http://localhost/mcp"), o)
}

func connect(t testing.TB, transport client.Transport, o client.Options) *client.Client {
	t.Helper()
	if o.Output == client.OutputWarn { // the default outside of tests
		o.Output = client.OutputFail
	}
	c, err := o.Connect(t.Context(), transport)
	if err != nil {
		t.Fatalf("mcptest: connect: %v", err)
	}
	t.Cleanup(func() {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = c.Close()
			_ = c.Wait() // its error only reports the end of the connection
		}()
		awaitEnd(t, ended, "the client still runs")
	})
	return c
}

func awaitEnd(t testing.TB, ended <-chan struct{}, otherwise string) {
	t.Helper()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		t.Errorf("mcptest: %s %v after the test", otherwise, closeTimeout)
	}
}

// A pipeListener is a listener whose connections are pipes in memory.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once // closes closed
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "localhost" }
