package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
	"github.com/stdwire/stdwire/dispatch/cli"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/rpchttp"
	"github.com/stdwire/stdwire/rpc/socket"
)

// A logs is a slog.Handler that misbehaves.
type logs struct {
	slog.Handler
	enter func()
}

func (l logs) Enabled(context.Context, slog.Level) bool  { return true }
func (l logs) Handle(context.Context, slog.Record) error { l.enter(); return nil }
func (l logs) WithAttrs([]slog.Attr) slog.Handler        { return l }
func (l logs) WithGroup(string) slog.Handler             { return l }

func (run *scenarioRun) logger(name string) *slog.Logger {
	return slog.New(logs{slog.DiscardHandler, func() { run.enter(name) }})
}

func (run *scenarioRun) intercept(name string) dispatch.Interceptor {
	return func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
			run.enter(name)
			return next(ctx, i)
		}
	}
}

// A codec misbehaves where it appends.
type codec struct {
	framing.Codec
	enter func()
}

func (c codec) AppendFrame(dst []byte, parts ...[]byte) ([]byte, error) {
	c.enter()
	return c.Codec.AppendFrame(dst, parts...)
}

func rpcScenario(run *scenarioRun) {
	near, far := net.Pipe()
	began := make(chan struct{}, 1)
	o := rpc.Options{
		Handler: func(ctx context.Context, req *rpc.Request) (any, error) {
			switch req.Method {
			case "wait":
				began <- struct{}{}
				<-ctx.Done()
			case "panic":
				panic("a panic that Hooks.Panic is told of")
			}
			run.enter("rpc.Options.Handler")
			return "done", nil
		},
		Framing: func(r io.Reader, l framing.Limits) framing.Codec {
			return codec{framing.Newline(r, l), func() { run.enter("rpc.Options.Framing") }}
		},
		Cancellation: &rpc.Cancellation{
			Method: "cancel",
			Params: func(string, rpc.ID, error) any { run.enter("rpc.Cancellation.Params"); return nil },
			Target: func(params json.RawMessage) (rpc.ID, string, bool) {
				run.enter("rpc.Cancellation.Target")
				id, err := rpc.ParseID(params[1 : len(params)-1])
				return id, "", err == nil
			},
		},
		Ordered: func(string) bool { run.enter("rpc.Options.Ordered"); return false },
		Preempt: func(*rpc.Request) bool { run.enter("rpc.Options.Preempt"); return false },
		Hooks: rpc.Hooks{
			Frame:   func(context.Context, rpc.Direction, []byte) { run.enter("rpc.Hooks.Frame") },
			Call:    func(rpc.CallEvent) { run.enter("rpc.Hooks.Call") },
			Stray:   func([]byte, string) { run.enter("rpc.Hooks.Stray") },
			Panic:   func(string, any, []byte) { run.enter("rpc.Hooks.Panic") },
			OtherID: func([]byte) { run.enter("rpc.Hooks.OtherID") },
		},
	}
	own(func() {
		m, _ := rpc.ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"m"}`))
		_, _ = rpc.AppendResponse(run.ctx, nil, func(context.Context, *rpc.Request) (any, error) {
			run.enter("rpc.AppendResponse")
			return nil, nil
		}, m.Request())
	})
	peer := o.New(near)
	go func() { // what cannot be written, because the peer has closed, is of no interest
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"m"}`, `{"jsonrpc":"2.0","method":"n"}`,
			`{"jsonrpc":"2.0","id":2,"method":"panic"}`,
			`{"jsonrpc":"2.0","id":77,"result":1}`, `nonsense`,
			`{"jsonrpc":"2.0","id":3,"method":"wait"}`,
		} {
			_, _ = fmt.Fprintln(far, line)
		}
		select {
		case <-began:
		case <-peer.Closed():
		}
		_, _ = fmt.Fprintln(far, `{"jsonrpc":"2.0","method":"cancel","params":[3]}`)
		_, _ = fmt.Fprintln(far, `{"jsonrpc":"2.0","id":4,"method":"last"}`)
	}()
	called, cancel := context.WithCancel(run.ctx)
	ended := make(chan struct{})
	go own(func() {
		defer close(ended)
		_ = peer.Call(called, "answered", nil, nil)
		_ = peer.Call(called, "theirs", nil, nil)
	})
	// All are awaited, in any order: the call and the answers of the handler that panics and of the
	// last one. What has not begun when the connection closes is not called.
	var asked, panicked, last bool
	for lines := bufio.NewScanner(far); !(asked && panicked && last) && lines.Scan(); {
		if strings.Contains(lines.Text(), "answered") {
			_, _ = fmt.Fprintln(far, `{"jsonrpc":"2.0","id":"1","result":1}`)
		}
		if strings.Contains(lines.Text(), "theirs") {
			asked = true
			cancel()
		}
		panicked = panicked || strings.Contains(lines.Text(), `"id":2,"error"`)
		last = last || strings.Contains(lines.Text(), `"id":4`)
	}
	cancel()
	<-ended
	_ = far.Close()
	_ = peer.Close()
	_ = peer.Wait()
	serveScenario(run)
}

func serveScenario(run *scenarioRun) {
	var r rpc.Router
	rpc.Handle(&r, "request", func(context.Context, struct{}) (any, error) {
		run.enter("rpc.Handle")
		return nil, nil
	})
	rpc.HandleNotification(&r, "notification", func(context.Context, struct{}) error {
		run.enter("rpc.HandleNotification")
		return nil
	})
	client, server := rpc.Options{}.Pipe(rpc.Options{Handler: r.Serve})
	_ = client.Notify(run.ctx, "notification", nil)
	_ = client.Call(run.ctx, "request", nil, nil)
	_ = client.Close()
	_ = server.Wait()
}

func rpchttpScenario(run *scenarioRun) {
	hook := func() { run.enter("rpc/rpchttp.HandlerOptions.Hooks") }
	h := rpchttp.HandlerOptions{Hooks: rpc.Hooks{
		Frame: func(context.Context, rpc.Direction, []byte) { hook() },
		Call:  func(rpc.CallEvent) { hook() },
		Stray: func([]byte, string) { hook() },
		Panic: func(string, any, []byte) { hook() },
	}}.New(func(context.Context, *rpc.Request) (any, error) {
		run.enter("rpc/rpchttp.HandlerOptions.New")
		return "done", nil
	})
	server := httptest.NewServer(h)
	defer server.Close()
	client := rpchttp.ClientOptions{}.New(server.URL)
	defer client.CloseIdleConnections()
	own(func() {
		_ = client.Call(run.ctx, "request", nil, nil)
		_ = client.Notify(run.ctx, "notification", nil)
		_ = client.Batch(run.ctx, []*rpc.BatchCall{{Method: "a"}, {Method: "b", Notify: true}})
	})
	if err := h.Shutdown(run.ctx); err != nil {
		run.t.Error(err)
	}
}

func socketScenario(run *scenarioRun) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		run.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(run.ctx)
	served := make(chan error, 1)
	go func() {
		served <- socket.Options{}.Serve(ctx, ln, func(conn net.Conn) *rpc.Peer {
			run.enter("rpc/socket.Options.Serve")
			return nil
		})
	}()
	if conn, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		_, _ = io.Copy(io.Discard, conn) // until Serve closes it
		_ = conn.Close()
	}
	cancel()
	<-served
}

// A tool is the input of operations.
type tool struct{}

func dispatchScenario(run *scenarioRun) {
	c := dispatch.NewCatalog()
	told := make(chan struct{}, 9)
	tell := func() { told <- struct{}{} }
	c.OnChange(func() { defer tell(); run.enter("dispatch.Catalog.OnChange") })
	c.OnChange(tell)
	sessions := dispatch.SessionOptions[int]{
		Logger: slog.New(logs{slog.DiscardHandler, func() {
			defer tell()
			run.enter("dispatch.SessionOptions.Logger")
		}}),
		Idle: time.Millisecond,
		Close: func(context.Context, string, int) error {
			run.enter("dispatch.SessionOptions.Close")
			return errors.New("it stays")
		},
	}.New()
	dispatch.Add(c, dispatch.Spec{Name: "a.b", Summary: "Does.", Type: dispatch.Write},
		func(ctx context.Context, _ tool) (tool, error) {
			dispatch.Progress(ctx, 1, 2, "on")
			dispatch.Logger(ctx).Info("on")
			run.enter("dispatch.Add")
			return tool{}, errors.New("for the log")
		})
	observe := func(ctx context.Context, _, _ string) (context.Context, func(_, _ string)) {
		run.enter("dispatch.Observe")
		return ctx, func(_, _ string) {}
	}
	d := dispatch.Options{
		Logger: run.logger("dispatch.Options.Logger"),
		Missing: func(context.Context, string) error {
			run.enter("dispatch.Options.Missing")
			return nil
		},
		Translate: func(err error) error {
			run.enter("dispatch.Options.Translate")
			return err
		},
		Interceptors: []dispatch.Interceptor{dispatch.Observe(observe),
			run.intercept("dispatch.Options.Interceptors")},
	}.New(c)
	own(func() {
		d.Dispatch(run.ctx, &dispatch.Call{
			Operation: "a.b", Logger: run.logger("dispatch.Call.Logger"),
			Progress: func(float64, float64, string) { run.enter("dispatch.Call.Progress") },
		})
	})
	own(func() { d.Dispatch(run.ctx, &dispatch.Call{Operation: "no.such"}) })
	own(func() {
		_, _ = sessions.Open(run.ctx, func(context.Context) (string, int, error) {
			run.enter("dispatch.Sessions[T].Open")
			return "one", 1, nil
		})
	})
	for range 2 { // the catalog
		run.wait(told)
	}
	if run.name != "dispatch.Sessions[T].Open" {
		run.wait(told) // the session, which was idle and did not close
	}
	_ = sessions.Shutdown(run.ctx) // waits for what goes on
}

func apiScenario(run *scenarioRun) {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "a.b", Summary: "Does.", Type: dispatch.Read},
		func(context.Context, tool) (tool, error) { return tool{}, nil })
	h := api.Options{
		Logger: run.logger("dispatch/api.Options.Logger"), MaxCalls: 1,
		Principal: func(*http.Request) (string, error) {
			run.enter("dispatch/api.Options.Principal")
			return "", errors.New("unknown")
		},
	}.New(dispatch.Options{}.New(c))
	for range 3 { // more than may be at a time
		own(func() {
			h.ServeHTTP(httptest.NewRecorder(),
				httptest.NewRequest("POST", "http://localhost/v1/a", strings.NewReader("{}")))
		})
	}
	h = api.Options{
		Logger: slog.New(slog.DiscardHandler),
		Visible: func(context.Context, *dispatch.Operation) bool {
			run.enter("dispatch/api.Options.Visible")
			return true
		},
	}.New(dispatch.Options{}.New(c))
	own(func() {
		h.ServeHTTP(httptest.NewRecorder(),
			httptest.NewRequest("GET", "http://localhost/v1/manifest", nil))
	})
}

// A stream misbehaves where it is read or written.
type stream struct{ enter func() }

func (s stream) Read(b []byte) (int, error)  { s.enter(); return 0, io.EOF }
func (s stream) Write(b []byte) (int, error) { s.enter(); return len(b), nil }

func cliScenario(run *scenarioRun) {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "a.b", Summary: "Does.", Type: dispatch.Read},
		func(ctx context.Context, _ tool) (tool, error) {
			dispatch.Progress(ctx, 1, 2, "half") // its bar is as wide as the terminal
			return tool{}, nil
		})
	d := dispatch.Options{}.New(c)
	std := cli.IO{
		Program: "p", In: stream{func() { run.enter("dispatch/cli.IO.In") }},
		Out: stream{func() { run.enter("dispatch/cli.IO.Out") }},
		Err: stream{func() { run.enter("dispatch/cli.IO.Err") }},
		Find: func([]string) ([]string, error) {
			run.enter("dispatch/cli.IO.Find")
			return nil, errors.New("nothing")
		},
		Show: func(*dispatch.Operation, dispatch.Envelope) (bool, error) {
			run.enter("dispatch/cli.IO.Show")
			return false, nil
		},
		OutTerminal: true, ErrTerminal: true,
		Width: func() int {
			run.enter("dispatch/cli.IO.Width")
			return 80
		},
	}
	for _, args := range [][]string{{"a", "b"}, {"no"}, {"a", "b", "--json", "-"}, {"--batch"},
		{"-"}} {
		own(func() { cli.Run(run.ctx, d, args, std) })
	}
}
