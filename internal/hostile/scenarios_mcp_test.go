package hostile

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/apps"
	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/child"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// A store is one of tasks that misbehaves.
type store struct {
	server.TaskStore
	enter func(string)
}

func (s store) Put(ctx context.Context, r *server.TaskRecord) error {
	s.enter("server.TaskStore.Put")
	return s.TaskStore.Put(ctx, r)
}

func (s store) Get(ctx context.Context, id string) (*server.TaskRecord, error) {
	s.enter("server.TaskStore.Get")
	return s.TaskStore.Get(ctx, id)
}

func (s store) List(ctx context.Context, owner, after string, most int) ([]*server.TaskRecord,
	error) {
	s.enter("server.TaskStore.List")
	return s.TaskStore.List(ctx, owner, after, most)
}

func (s store) Delete(ctx context.Context, id string) error {
	s.enter("server.TaskStore.Delete")
	return s.TaskStore.Delete(ctx, id)
}

// results is a store of large results that misbehaves.
type results struct{ enter func(string) }

func (r results) Put(context.Context, string, string, []byte, []byte) error {
	r.enter("client/host/gateway.ResultStore.Put")
	return nil
}

func (r results) Get(context.Context, string, string) (result, about []byte, err error) {
	r.enter("client/host/gateway.ResultStore.Get")
	return nil, nil, nil
}

// A link is a way to a client that misbehaves.
type link struct {
	enter func(string)
	heard chan struct{}
}

func (l link) Notify(context.Context, string, any) error {
	select {
	case l.heard <- struct{}{}:
	default:
	}
	l.enter("server.Link.Notify")
	return nil
}

func (l link) Call(context.Context, string, any, any) error {
	l.enter("server.Link.Call")
	return errors.New("nobody")
}

func through(enter func()) rpc.Middleware {
	return func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, req *rpc.Request) (any, error) {
			enter()
			return next(ctx, req)
		}
	}
}

func text(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func serverScenario(run *scenarioRun) {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "a.b", Summary: "Does.", Type: dispatch.Read},
		func(context.Context, tool) (tool, error) { return tool{}, nil })
	tasks := store{server.MemoryTasks(10, 1<<20), run.enter}
	var s *server.Server
	s = server.Options{
		Logger:       run.logger("server.Options.Logger"),
		Capabilities: func(*mcp.ServerCapabilities) { run.enterAfterFirst("server.Options.Capabilities") },
		Visible: func(ctx context.Context, kind mcp.Kind, key string) bool {
			run.enter("server.Options.Visible")
			s.Integration().Origin(ctx, kind, key)
			return true
		},
		ToolView: func(string) server.ToolView {
			run.enter("server.Options.ToolView")
			return server.ToolView{}
		},
		Middleware: []rpc.Middleware{through(func() { run.enter("server.Options.Middleware") })},
		Outgoing:   []rpc.Middleware{through(func() { run.enter("server.Options.Outgoing") })},
		Resources: &server.ResourceSource{
			List: func(context.Context) ([]mcp.Resource, error) {
				run.enter("server.ResourceSource.List")
				return nil, nil
			},
			ListTemplates: func(context.Context) ([]mcp.ResourceTemplate, error) {
				run.enter("server.ResourceSource.ListTemplates")
				return nil, nil
			},
			Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
				run.enter("server.ResourceSource.Read")
				return nil, server.ResourceNotFound(uri)
			}},
		Extensions: []server.Extension{{
			ID: "com.example/x",
			Accepts: func(json.RawMessage) bool {
				run.enter("server.Extension.Accepts")
				return true
			},
			Methods: map[string]func(context.Context, json.RawMessage) (any, error){
				"x/do": func(context.Context, json.RawMessage) (any, error) {
					run.enter("server.Extension.Methods")
					return struct{}{}, nil
				},
			},
			Notifications: map[string]func(context.Context, json.RawMessage){
				"notifications/x": func(context.Context, json.RawMessage) {
					run.enter("server.Extension.Notifications")
				},
			},
		}},
		Interceptors: []dispatch.Interceptor{run.intercept("server.Options.Interceptors")},
		Tasks: server.TaskOptions{Store: tasks, For: func(*dispatch.Operation) mcp.TaskSupport {
			run.enter("server.TaskOptions.For")
			return mcp.TaskForbidden
		}},
	}.New(server.Info{Name: "s", Version: "1"}, catalog)
	complete := func(name string) server.Completer {
		return func(context.Context, string, string, map[string]string) (mcp.Completion, error) {
			run.enter(name)
			return mcp.Completion{Values: []string{}}, nil
		}
	}
	read := func(name string) (*mcp.ReadResourceResult, error) {
		run.enter(name)
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "x:1", Text: "x"}}},
			nil
	}
	server.AddTool(s, mcp.Tool{Name: "typed"},
		func(context.Context, struct{}) (string, error) { run.enter("server.AddTool"); return "", nil })
	unused := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return nil, nil
	}
	made, err := server.NewTool(mcp.Tool{Name: "made"},
		func(context.Context, struct{}) (string, error) { run.enter("server.NewTool"); return "", nil })
	run.must(err)
	run.must(
		s.AddRawTool(made),
		s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "call"},
			Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				run.enter("server.RawTool.Call")
				_, err := server.Once(ctx, "k",
					func(context.Context) (int, error) { run.enter("server.Once"); return 1, nil })
				_ = server.Ping(ctx)
				server.Progress(ctx, 1, 2, "on")
				return text("done"), errors.Join(err, errors.New("for the log"))
			}}),
		s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "task"}, Tasks: mcp.TaskRequired,
			Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult,
				error) {
				return text("done"), nil
			}}),
		s.Integration().AddItem(server.Item{Kind: mcp.KindTool,
			Definition: json.RawMessage(
				`{"name":"forward","inputSchema":{"type":"object"}}`),
			Use: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				run.enter("server.Item.Use")
				return json.RawMessage(`{"content":[]}`), nil
			}}),
		s.Integration().AddItem(server.Item{Kind: mcp.KindPrompt,
			Definition: json.RawMessage(`{"name":"forwarded"}`), Use: unused,
			Complete: complete("server.Item.Complete")}),
		s.Integration().AddItem(server.Item{Kind: mcp.KindSkill,
			Definition: json.RawMessage(
				`{"uri":"skill://o/SKILL.md","resources":"dynamic",` +
					`"frontmatter":{"name":"o","description":"d"}}`),
			Use: unused,
			ReadDirectory: func(context.Context, string) (json.RawMessage, error) {
				run.enter("server.Item.ReadDirectory")
				return json.RawMessage(`[]`), nil
			}}),
		s.AddPrompt(server.Prompt{
			Prompt:   mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a"}}},
			Complete: complete("server.Prompt.Complete"),
			Get: func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
				run.enter("server.Prompt.Get")
				return &mcp.GetPromptResult{}, nil
			}}),
		s.AddSkill(server.Skill{
			Skill: mcp.Skill{URI: "skill://s/SKILL.md", Resources: mcp.SkillResources{Dynamic: true},
				Frontmatter: json.RawMessage(`{"name":"s","description":"d"}`)},
			Read: func(context.Context, string) (*mcp.ReadResourceResult, error) {
				return read("server.Skill.Read")
			},
			ReadDirectory: func(context.Context, string) ([]mcp.Resource, error) {
				run.enter("server.Skill.ReadDirectory")
				return nil, nil
			}}),
		s.AddResource(server.Resource{Resource: mcp.Resource{URI: "x:1", Name: "x"},
			Read: func(context.Context, string) (*mcp.ReadResourceResult,
				error) {
				return read("server.Resource.Read")
			}}),
		s.AddResourceTemplate(
			server.ResourceTemplate{
				ResourceTemplate: mcp.ResourceTemplate{URITemplate: "t:{id}", Name: "t"},
				Complete:         complete("server.ResourceTemplate.Complete"),
				Read: func(context.Context, string, map[string]string) (*mcp.ReadResourceResult,
					error) {
					return read("server.ResourceTemplate.Read")
				}}),
	)
	s.Integration().Declare(mcp.KindApp)
	s.Integration().SetUpstreams(server.Upstreams{
		Read: func(context.Context, string) (json.RawMessage, error) {
			run.enter("server.Upstreams.Read")
			return json.RawMessage(`{"contents":[{"uri":"x:1","text":"x"}]}`), nil
		},
		Await: func(context.Context, mcp.Kind, string) (*server.Item, error) {
			run.enter("server.Upstreams.Await")
			return nil, nil
		},
		Own: func(context.Context) []*server.OwnItems {
			run.enter("server.Upstreams.Own")
			return nil
		},
		Known: func(context.Context) []*server.OwnItems {
			run.enter("server.Upstreams.Known")
			return nil
		},
		Withheld: func(context.Context, mcp.Kind) []server.Withheld {
			run.enter("server.Upstreams.Withheld")
			return nil
		},
		Missing: func(context.Context, mcp.Kind) []string {
			run.enter("server.Upstreams.Missing")
			return nil
		},
		Instructions: func(context.Context) string {
			run.enter("server.Upstreams.Instructions")
			return ""
		},
		ResolveForApp: func(_ context.Context, _ string, _ mcp.Kind, name string) (string, error) {
			run.enter("server.Upstreams.ResolveForApp")
			return name, nil
		},
		SubscriptionsChanged: func() { run.enter("server.Upstreams.SubscriptionsChanged") },
	})
	ready, gone := make(chan struct{}, 99), make(chan struct{}, 99)
	s.Integration().OnClientEvent(func(*server.Conn, server.ClientEvent) {
		run.enter("server.Integration.OnClientEvent")
	})
	s.Integration().OnClientEvent(func(_ *server.Conn, e server.ClientEvent) {
		switch e {
		case server.ClientReady:
			ready <- struct{}{}
		case server.ClientGone:
			gone <- struct{}{}
		}
	})
	s.Integration().OnChange(func(string, string) { run.enter("server.Integration.OnChange") })

	l := link{run.enter, make(chan struct{}, 9)}
	c := s.Integration().NewConn(run.ctx, server.ConnOptions{Link: l, Principal: "ada"})
	say := func(line string) {
		own(func() {
			m, err := rpc.ParseMessage([]byte(line))
			run.must(err)
			_, _ = rpc.AppendResponse(run.ctx, nil,
				func(ctx context.Context, req *rpc.Request) (any, error) {
					return c.Handle(ctx, req, l)
				}, m.Request())
		})
	}
	ask := func(method, params string) {
		say(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`)
	}
	ask("initialize",
		`{"protocolVersion":"2025-11-25","capabilities":{"extensions":{"com.example/x":{},`+
			`"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}},`+
			`"clientInfo":{"name":"c","version":"1"}}`)
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(`{"jsonrpc":"2.0","method":"notifications/x"}`)
	ask("x/do", `{}`)
	ask("tools/list", `{}`)
	ask("tools/call", `{"name":"call","_meta":{"progressToken":1}}`)
	ask("tools/call", `{"name":"forward"}`)
	ask("tools/call", `{"name":"typed"}`)
	ask("tools/call", `{"name":"made"}`)
	ask("tools/call", `{"name":"task","task":{}}`)
	ask("tools/call", `{"name":"no"}`)
	ask("tasks/list", `{}`)
	ask("tasks/get", `{"taskId":"x"}`)
	ask("prompts/get", `{"name":"p"}`)
	ask("resources/read", `{"uri":"skill://s/SKILL.md"}`)
	ask("resources/directory/read", `{"uri":"skill://s"}`)
	ask("resources/directory/read", `{"uri":"skill://o"}`)
	ask("resources/read", `{"uri":"x:1"}`)
	ask("resources/read", `{"uri":"t:1"}`)
	ask("resources/read", `{"uri":"u:1"}`)
	ask("resources/list", `{}`)
	ask("resources/templates/list", `{}`)
	ask("resources/subscribe", `{"uri":"x:1"}`)
	ask("resources/subscribe", `{"uri":"v:1"}`)
	ask("completion/complete",
		`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`)
	ask("completion/complete",
		`{"ref":{"type":"ref/prompt","name":"forwarded"},"argument":{"name":"a","value":""}}`)
	ask("completion/complete",
		`{"ref":{"type":"ref/resource","uri":"t:{id}"},"argument":{"name":"id","value":""}}`)
	// for the count: the server's own is in server.TestTaskStoreFails
	own(func() { _ = tasks.Delete(run.ctx, "x") })
	if run.initialized() {
		for range 3 {
			s.ResourceUpdated("x:1")
		}
		s.ResourceUpdated("v:1")
		run.wait(ready)
	}
	c.Close()
	run.must(s.Close(run.ctx))
	if run.initialized() {
		run.wait(gone)
	}
}

// initialized reports whether a legacy client completes the handshake.
func (run *scenarioRun) initialized() bool { return run.name != "server.Options.Middleware" }

// enterAfterFirst is enter without the first call, which happens while a server is made: a panic
// there is a mistake of the program.
func (run *scenarioRun) enterAfterFirst(name string) {
	if run.constructed.Swap(true) {
		run.enter(name)
	}
}

// wait waits for an event that must happen even if a callback misbehaves.
func (run *scenarioRun) wait(c <-chan struct{}) {
	run.t.Helper()
	select {
	case <-c:
	case <-run.ctx.Done():
		run.t.Fatal("somebody waits for ever")
	}
}

func (run *scenarioRun) must(errs ...error) {
	run.t.Helper()
	if err := errors.Join(errs...); err != nil {
		run.t.Fatal(err)
	}
}

func streamableScenario(run *scenarioRun) {
	s := server.New(server.Info{Name: "s", Version: "1"}, dispatch.NewCatalog())
	h := streamable.Options{
		Logger: run.logger("server/streamable.Options.Logger"), MaxRequests: 1,
		Authorize: func(r *http.Request) (streamable.Caller, error) {
			run.enter("server/streamable.Options.Authorize")
			if r.Header.Get("X-Unknown") != "" {
				return streamable.Caller{}, errors.New("for the log")
			}
			return streamable.Caller{AuthorizeMessages: func([]streamable.Message) error {
				run.enter("server/streamable.Caller.AuthorizeMessages")
				return nil
			}}, nil
		},
	}.New(s)
	for _, unknown := range []string{"", "", "yes"} {
		own(func() {
			r := streamableRequest(run, initializeText)
			r.Header.Set("X-Unknown", unknown)
			h.ServeHTTP(httptest.NewRecorder(), r)
		})
	}
	run.must(h.Shutdown(run.ctx))
	forwardScenario(run, s)
}

const initializeText = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

func streamableRequest(run *scenarioRun, body string) *http.Request {
	r := httptest.NewRequestWithContext(run.ctx, "POST", "http://localhost/mcp",
		strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}

// forwardScenario lets one server pass a request on to another one.
func forwardScenario(run *scenarioRun, s *server.Server) {
	of, err := streamable.StoreOptions{}.Open("memory:")
	run.must(err)
	defer of.Close()
	var all [2]*streamable.Handler
	for i := range all {
		web := httptest.NewUnstartedServer(nil)
		all[i] = streamable.Options{Store: of, Logger: run.logger("server/streamable.Options.Logger"),
			Forward: &streamable.Forward{URL: "http://" + web.Listener.Addr().String(),
				Values: func(context.Context) ([]byte, error) {
					run.enter("server/streamable.Forward.Values")
					return []byte("x"), nil
				},
				WithValues: func(ctx context.Context, _ []byte) (context.Context, error) {
					run.enter("server/streamable.Forward.WithValues")
					return ctx, nil
				}}}.New(s)
		web.Config.Handler = all[i]
		web.Start()
		defer web.Close()
		defer all[i].Close()
	}
	opened := httptest.NewRecorder()
	all[0].ServeHTTP(opened, streamableRequest(run, initializeText))
	r := streamableRequest(run, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	r.Header.Set("Mcp-Session-Id", opened.Header().Get("Mcp-Session-Id"))
	all[1].ServeHTTP(httptest.NewRecorder(), r)
}

// upstream serves a server that sends all notifications, on a stream.
func upstream(run *scenarioRun) (s *server.Server, stream net.Conn) {
	s = server.Options{Extensions: []server.Extension{{ID: "com.example/x"}}}.New(
		server.Info{Name: "up", Version: "1"}, dispatch.NewCatalog())
	form := mcp.ElicitParams{Message: "Who?",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}
	add := func(name string, f func(ctx context.Context) error) {
		run.must(s.AddRawTool(
			server.RawTool{Tool: mcp.Tool{Name: name},
				Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
					return text("done"), f(ctx)
				}}))
	}
	add("plain", func(context.Context) error { return nil })
	add("elicit", func(ctx context.Context) error {
		_, err := server.Elicit(ctx, "k", form)
		return err
	})
	add("sample", func(ctx context.Context) error {
		_, err := server.Sample(ctx, "k",
			mcp.CreateMessageParams{MaxTokens: 1,
				Messages: []mcp.SamplingMessage{
					{Role: mcp.RoleUser, Content: []mcp.Content{&mcp.TextContent{Text: "hi"}}}}})
		return err
	})
	add("roots", func(ctx context.Context) error { _, err := server.Roots(ctx, "k"); return err })
	add("log", func(ctx context.Context) error {
		return server.Log(ctx,
			mcp.LoggingMessageParams{Level: mcp.LevelError, Data: json.RawMessage(`1`)})
	})
	add("extended", func(ctx context.Context) error {
		_ = server.NotifyExtension(ctx, "com.example/x", "notifications/x", struct{}{})
		_ = server.NotifyExtension(ctx, "com.example/x", "notifications/y", struct{}{})
		return server.CallExtension(ctx, "com.example/x", "x/ask", struct{}{}, nil)
	})
	s.Integration().Declare(mcp.KindResource, mcp.KindPrompt)
	here, there := net.Pipe()
	go func() { _ = s.Serve(run.ctx, there) }()
	return s, here
}

// A transport misbehaves.
type transport struct {
	client.Transport
	enter func(string)
}

func (t transport) ReadFrame(dst []byte) ([]byte, error) {
	t.enter("client.Transport.ReadFrame")
	return t.Transport.ReadFrame(dst)
}

func (t transport) Write(b []byte) (int, error) {
	t.enter("client.Transport.Write")
	return t.Transport.Write(b)
}

func (t transport) Close() error {
	_ = t.Transport.Close()
	t.enter("client.Transport.Close")
	return nil
}

// start starts a process whose end is not noticed before it is killed.
func (run *scenarioRun) start(ctx context.Context, cmd *exec.Cmd) (client.ProcessGroup,
	[3]*os.File, error) {
	run.enter("client.Command.Start")
	group, pipes, err := child.StartGroup(ctx, cmd)
	return processGroup{group, run, make(chan struct{}, 1)}, pipes, err
}

type processGroup struct {
	client.ProcessGroup
	run    *scenarioRun
	killed chan struct{}
}

func (g processGroup) Pid() int {
	g.run.enter("client.ProcessGroup.Pid")
	return g.ProcessGroup.Pid()
}

func (g processGroup) Terminate() error {
	g.run.enter("client.ProcessGroup.Terminate")
	return g.ProcessGroup.Terminate()
}

func (g processGroup) Kill() error {
	select {
	case g.killed <- struct{}{}:
	default:
	}
	g.run.enter("client.ProcessGroup.Kill")
	return g.ProcessGroup.Kill()
}

func (g processGroup) AwaitExit() {
	g.run.enter("client.ProcessGroup.AwaitExit")
	<-g.killed
}

func (g processGroup) End() (int, syscall.Signal, error) {
	defer g.run.enter("client.ProcessGroup.End")
	return g.ProcessGroup.End()
}

func clientScenario(run *scenarioRun) {
	switch run.name[:strings.LastIndex(run.name, ".")] {
	case "client.Command", "client.ProcessGroup":
		own(func() {
			c, err := client.Options{}.Spawn(run.ctx,
				client.Command{Path: os.Args[0], Args: []string{"-test.run=^$", "-test.nosuchflag"},
					Grace: time.Millisecond, Start: run.start,
					Stderr:  stream{func() { run.enter("client.Command.Stderr") }},
					Started: func(int) { run.enter("client.Command.Started") }})
			if err == nil {
				_ = c.Close()
			}
		})
		return
	}
	for _, era := range []mcp.Era{mcp.Modern, mcp.Legacy} {
		up, conn := upstream(run)
		told := make(chan struct{}, 99)
		tell := func(name string) {
			defer func() { told <- struct{}{} }()
			run.enter(name)
		}
		o := client.Options{
			Era: era, LogLevel: mcp.LevelDebug, Logger: run.logger("client.Options.Logger"),
			OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
				run.enter("client.Options.OnElicit")
				return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
			},
			OnElicitComplete: func(string) { tell("client.Options.OnElicitComplete") },
			OnSample: func(context.Context, mcp.CreateMessageParams) (*mcp.CreateMessageResult,
				error) {
				run.enter("client.Options.OnSample")
				return nil, errors.New("no")
			},
			OnRoots: func(context.Context) ([]mcp.Root,
				error) {
				run.enter("client.Options.OnRoots")
				return nil, nil
			},
			OnToolsChanged: func([]*mcp.Tool, error) { tell("client.Options.OnToolsChanged") },
			OnPromptsChanged: func([]*mcp.Prompt,
				error) {
				tell("client.Options.OnPromptsChanged")
			},
			OnResourceUpdated: func(string) { tell("client.Options.OnResourceUpdated") },
			OnLog:             func(mcp.LoggingMessageParams) { tell("client.Options.OnLog") },
			OnRawLog:          func(json.RawMessage) { run.enter("client.Options.OnRawLog") },
			OnNotification: func(string, json.RawMessage) {
				tell("client.Options.OnNotification")
			},
			Middleware: []rpc.Middleware{
				through(func() { run.enter("client.Options.Middleware") })},
			Outgoing: []rpc.Middleware{func(next rpc.Handler) rpc.Handler {
				return func(ctx context.Context, req *rpc.Request) (any, error) {
					// the other tools make the server send what the scenario waits for
					if bytes.Contains(req.Params, []byte(`"plain"`)) {
						run.enter("client.Options.Outgoing")
					}
					return next(ctx, req)
				}
			}},
			Extensions: []client.Extension{{
				ID: "com.example/x",
				Methods: map[string]func(context.Context, json.RawMessage) (any, error){
					"x/ask": func(context.Context, json.RawMessage) (any, error) {
						run.enter("client.Extension.Methods")
						return struct{}{}, nil
					},
				},
				Notifications: map[string]func(json.RawMessage){
					"notifications/x": func(json.RawMessage) {
						tell("client.Extension.Notifications")
					},
				},
			}},
		}
		if run.name == "client.Options.OnListChanged" {
			o.OnListChanged = func(mcp.Kind) { tell("client.Options.OnListChanged") }
		} else {
			o.OnResourcesChanged = func([]*mcp.Resource,
				error) {
				tell("client.Options.OnResourcesChanged")
			}
		}
		own(func() {
			c, err := o.Connect(run.ctx, transport{client.Stream(conn), run.enter})
			if err != nil {
				return
			}
			for _, name := range []string{"plain", "elicit", "sample", "roots", "log", "extended"} {
				own(func() { _, _ = c.CallTool(run.ctx, name, nil) })
			}
			run.must(up.AddResource(
				server.Resource{Resource: mcp.Resource{URI: "x:1", Name: "x"},
					Read: func(context.Context, string) (*mcp.ReadResourceResult, error) {
						return nil, nil
					}}),
				up.AddPrompt(server.Prompt{Prompt: mcp.Prompt{Name: "p"},
					Get: func(context.Context, map[string]string) (*mcp.GetPromptResult, error) {
						return nil, nil
					}}))
			up.Remove(mcp.KindTool, "log")
			_ = c.Subscribe(run.ctx, "x:1")
			up.ResourceUpdated("x:1")
			soon, cancel := context.WithTimeout(run.ctx, 5*time.Second)
			defer cancel()
			for range 7 { // the log, two of the extension, three lists and the resource
				select {
				case <-told:
				case <-c.Done():
				case <-soon.Done(): // some changes have been announced together
				}
			}
			_ = c.Close()
			_ = c.Wait()
		})
		_ = conn.Close()
	}
}

func telemetryScenario(run *scenarioRun) {
	tel := telemetry.Options{}.New()
	tel.Gauge(telemetry.Instrument{Name: "g"}, func(set func(float64, ...string)) {
		set(1)
		run.enter("rpc/mcp/telemetry.Telemetry.Gauge")
	})
	_ = tel.String()
	own(func() {
		_ = tel.WritePrometheus(writer(func() { run.enter("rpc/mcp/telemetry.Telemetry.WritePrometheus") }))
	})
}

// A writer misbehaves.
type writer func()

func (w writer) Write(b []byte) (int, error) { w(); return len(b), nil }

// A credentials is a store of credentials that misbehaves.
type credentials struct{ enter func(string) }

func (c credentials) Find(string) ([]auth.Credentials, error) {
	c.enter("client/auth.Store.Find")
	return nil, nil
}
func (c credentials) Put(auth.Credentials) error {
	c.enter("client/auth.Store.Put")
	return errors.New("full")
}
func (c credentials) Delete(auth.Key) error { c.enter("client/auth.Store.Delete"); return nil }
func (c credentials) Lock(context.Context, auth.Key) (func(), error) {
	c.enter("client/auth.Store.Lock")
	return func() {}, nil
}

func hostScenario(run *scenarioRun) {
	m := host.NewManager(func(host.Status) { run.enter("client/host.NewManager") })
	run.must(m.Add(host.Server{ID: "up",
		Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
			run.enter("client/host.Server.Connect")
			_, conn := upstream(run)
			return o.Connect(ctx, client.Stream(conn))
		}}))
	own(func() {
		_ = m.Use(run.ctx, "up", "",
			func(*client.Client) error { run.enter("client/host.Manager.Use"); return nil })
	})
	own(func() {
		_ = m.UseIdempotent(run.ctx, "up", "", func(*client.Client) error {
			run.enter("client/host.Manager.UseIdempotent")
			return nil
		})
	})
	_ = m.Disable("up")
	m.Close()
}

func gatewayScenario(run *scenarioRun) {
	front := server.New(server.Info{Name: "front", Version: "1"}, dispatch.NewCatalog())
	written := make(chan struct{}, 9)
	g := gateway.Options{
		Interceptors: []dispatch.Interceptor{
			run.intercept("client/host/gateway.Options.Interceptors")},
		Audit: stream{func() {
			defer func() { written <- struct{}{} }()
			run.enter("client/host/gateway.Options.Audit")
		}},
		MaxResultText: func(context.Context) int {
			run.enter("client/host/gateway.Options.MaxResultText")
			return 0
		},
		Results: results{run.enter},
		Logger:  run.logger("client/host/gateway.Options.Logger"),
	}.New(front)
	run.must(g.Add(gateway.Upstream{MaxResultText: map[string]int{"*": 2000},
		Server: host.Server{ID: "up",
			Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
				s, conn := upstream(run)
				run.must(s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "long"},
					Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
						return text(strings.Repeat("long\n", 2000)), nil
					}}))
				return o.Connect(ctx, client.Stream(conn))
			}}}))
	g.Settle(run.ctx)
	here, there := net.Pipe()
	go func() { _ = front.Serve(run.ctx, there) }()
	c, err := client.Options{}.Connect(run.ctx, client.Stream(here))
	run.must(err)
	for range 2 {
		_, _ = c.CallTool(run.ctx, "up__plain", nil)
		run.wait(written)
	}
	own(func() {
		_, _ = c.CallTool(run.ctx, "up__long", nil)
		_, _ = c.CallTool(run.ctx, "read_result", map[string]string{"id": rand.Text()})
	})
	run.must(g.Add(gateway.Upstream{
		User: func(context.Context) (string, any, error) {
			run.enter("client/host/gateway.Upstream.User")
			return "ada", nil, nil
		},
		Login: func(context.Context) func(context.Context, mcp.Kind, string) (json.RawMessage,
			error) {
			run.enter("client/host/gateway.Upstream.Login")
			return nil
		},
		Server: host.Server{ID: "own", Sharing: host.PerUser,
			Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
				_, conn := upstream(run)
				return o.Connect(ctx, client.Stream(conn))
			}}}))
	g.Settle(run.ctx)
	call, err := rpc.ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` +
		`{"name":"own__plain","arguments":{},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`))
	run.must(err)
	own(func() {
		_, _ = front.Integration().Stateless("ada", mcp.Latest).Handle(run.ctx, call.Request(), nil)
	})
	if run.name == "client/host/gateway.Options.Logger" {
		_ = g.Add(gateway.Upstream{Server: host.Server{ID: "dead",
			Connect: func(context.Context, string, client.Options) (*client.Client, error) {
				return nil, io.EOF
			}}})
		g.Settle(run.ctx)
	}
	_ = c.Close()
	g.Close()
}

// A frame is the stream of an app that misbehaves.
type frame struct {
	net.Conn
	enter func(string)
}

func (f frame) Write(b []byte) (int, error) {
	f.enter("client/apps.Options.Open")
	return f.Conn.Write(b)
}

// appsScenario shows an app whose page asks for everything.
func appsScenario(run *scenarioRun) {
	s := server.New(server.Info{Name: "s", Version: "1"}, dispatch.NewCatalog())
	server.AddTool(s, mcp.Tool{Name: "show"},
		func(context.Context, struct{}) (string, error) { return "", nil })
	run.must(s.AddApp(server.App{URI: "ui://a/b", Name: "a", HTML: []byte("<!doctype html>"),
		Tools: map[string][]string{"show": nil}}))
	here, there := net.Pipe()
	go func() { _ = s.Serve(run.ctx, there) }()
	o := client.Options{}
	apps.Declare(&o)
	c, err := o.Connect(run.ctx, client.Stream(here))
	run.must(err)
	app, err := apps.Read(run.ctx, c, "ui://a/b")
	run.must(err)
	page, host := net.Pipe()
	p := rpc.Options{}.New(page)
	v := apps.Options{
		Logger:  run.logger("client/apps.Options.Logger"),
		Context: mcp.HostContext{AvailableDisplayModes: []string{"pip"}},
		Approve: func(context.Context, *mcp.Tool, json.RawMessage) error {
			run.enter("client/apps.Options.Approve")
			return nil
		},
		OnOpenLink: func(context.Context, string) error {
			run.enter("client/apps.Options.OnOpenLink")
			return errors.New("for the log")
		},
		OnMessage: func(context.Context, mcp.AppMessageParams) error {
			run.enter("client/apps.Options.OnMessage")
			return nil
		},
		OnModelContext: func(context.Context, mcp.ModelContextParams) error {
			run.enter("client/apps.Options.OnModelContext")
			return nil
		},
		OnDisplayMode: func(_ context.Context, mode string) (string, error) {
			run.enter("client/apps.Options.OnDisplayMode")
			return mode, nil
		},
		OnSizeChanged: func(float64, float64) { run.enter("client/apps.Options.OnSizeChanged") },
		OnLog:         func(mcp.LoggingMessageParams) { run.enter("client/apps.Options.OnLog") },
	}.Open(frame{host, run.enter}, c, app)
	for _, m := range []struct{ method, params string }{
		{"ui/initialize", `{"appInfo":{"name":"a","version":"1"},"appCapabilities":{},"protocolVersion":"x"}`},
		{"tools/call", `{"name":"show"}`}, {"ui/open-link", `{"url":"https://a.example"}`},
		{"ui/message", `{"role":"user","content":[]}`}, {"ui/update-model-context", `{}`},
		{"ui/request-display-mode", `{"mode":"pip"}`},
	} {
		own(func() { _ = p.Call(run.ctx, m.method, json.RawMessage(m.params), nil) })
	}
	_ = p.Notify(run.ctx, "ui/notifications/size-changed", json.RawMessage(`{"width":1}`))
	_ = p.Notify(run.ctx, "notifications/message", json.RawMessage(`{"level":"info","data":1}`))
	_ = p.Call(run.ctx, "ping", nil, nil) // it is answered after the notifications
	_ = v.Close()
	<-v.Done()
	_ = p.Close()
	_ = c.Close()
}
