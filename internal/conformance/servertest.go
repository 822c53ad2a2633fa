package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// visitTools are the tools that the server of a [ServerTest] must have:
//
//	echo {text}         the text
//	fail                a result that is an error: "it failed"
//	count {n}           progress 1 to n of n, then "counted"
//	log                 log messages, "unwanted" of level debug and "logged" of level warning
//	ask                 elicits a form, "Who?", with a name: "Hello, NAME", or the other action
//	sample              samples "Capital?": the response of the model
//	roots               lists the roots: "N roots"
//	hold                progress 1, then waits until it is released, "held", or cancelled
//	release             releases all calls of hold
//	cancelled           the number of calls of hold that were cancelled
//	grow                adds a tool: grown_1, grown_2 and so on
//	touch               notifies that the resource visit://text was updated
//	cut                 closes the stream of this call before the result, "resumed"
//	forget              forgets the session of this call
//
// The server also has the resources visit://text ("some text") and visit://binary (0, 127, 255),
// the resource template visit://item/{id} ("item ID"), and the prompt greet {name} ("Greet NAME."),
// whose argument completes to Ada, Alan and Grace.
var visitTools = []string{"echo", "fail", "count", "log", "ask", "sample", "roots", "hold",
	"release", "cancelled", "grow", "touch"}

// A ServerTest tests the client of this module against a server built with another library.
type ServerTest struct {
	Connect func(o client.Options) (*client.Client, error)
	Era     mcp.Era // that the client must detect
	Cut     func()  // closes all streams in transit; nil: not tested
	Resumes bool    // a call survives Cut
	Closes  bool    // the server has the tool cut
	Forgets bool    // the server has the tool forget
	// notifications of a call may come in any order, on another stream, and after its result
	Strays bool
}

// A serverTest is a running ServerTest.
type serverTest struct {
	ServerTest
	*testing.T
	*client.Client
	ctx     context.Context
	grown   int         // number of tools added
	tools   chan string // added tools that were listed
	updated chan string // resources
	logged  chan string

	mu     sync.Mutex
	answer mcp.ElicitResult // to elicitations
	asked  []string         // messages of elicitations and samplings
}

// Run tests the server. The same server may be tested again.
func (v ServerTest) Run(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r := &serverTest{ServerTest: v, T: t, ctx: ctx, tools: make(chan string, 100),
		updated: make(chan string, 100), logged: make(chan string, 100)}
	r.setAnswer(accepted)
	c, err := v.Connect(client.Options{
		OnElicit: r.elicit,
		OnSample: r.sample,
		Roots:    []mcp.Root{{URI: "file:///a", Name: "a"}, {URI: "file:///b"}},
		LogLevel: "warning",
		OnLog: func(p mcp.LoggingMessageParams) {
			if p.Level != "warning" || string(p.Data) != `"logged"` {
				t.Errorf("the server logs %s %s", p.Level, p.Data)
			}
			r.logged <- string(p.Data)
		},
		OnToolsChanged: func(tools []*mcp.Tool, err error) {
			if err != nil && !errors.Is(err, rpc.ErrClosed) { // at the end of the test
				t.Errorf("the list of tools that have changed: %v", err)
			}
			r.mu.Lock()
			last := fmt.Sprint("grown_", r.grown)
			r.mu.Unlock()
			if slices.Contains(names(tools), last) {
				r.tools <- last
			}
		},
		OnResourceUpdated: func(uri string) { r.updated <- uri },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Client = c
	defer func() {
		if err := c.Close(); err != nil || c.Wait() != nil {
			t.Errorf("Close: %v, Wait: %v", err, c.Wait())
		}
	}()
	if c.Era() != v.Era || c.ServerInfo().Name != "visited" {
		t.Fatalf("%v, %v", c.Era(), c.ServerInfo())
	}
	r.testCalls()
	r.testElicitation()
	r.testCancellation()
	r.testResources()
	r.testListChanged()
	r.testDisconnects()
	r.testExpiredSession()
}

func names(tools []*mcp.Tool) (names []string) {
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}

var accepted = mcp.ElicitResult{Action: mcp.ElicitAccept,
	Content: json.RawMessage(`{"name":"Ada"}`)}

// setAnswer sets the answer to elicitations.
func (r *serverTest) setAnswer(answer mcp.ElicitResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *serverTest) elicit(_ context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, p.Message)
	answer := r.answer
	return &answer, nil
}

func (r *serverTest) sample(_ context.Context, p mcp.CreateMessageParams) (*mcp.CreateMessageResult,
	error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range p.Messages {
		for _, content := range m.Content {
			r.asked = append(r.asked, content.(*mcp.TextContent).Text)
		}
	}
	return &mcp.CreateMessageResult{Role: "assistant", Model: "none",
		Content: mcp.SamplingContent{&mcp.TextContent{Text: "Paris"}}}, nil
}

// call calls a tool and returns the text of the result, with the prefix "error: " if isError is
// set.
func (r *serverTest) call(tool string, args any, opts ...client.CallOption) (string, error) {
	result, err := r.CallTool(r.ctx, tool, args, opts...)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, content := range result.Content {
		text.WriteString(content.(*mcp.TextContent).Text)
	}
	if result.IsError {
		return "error: " + text.String(), nil
	}
	return text.String(), nil
}

func (r *serverTest) expectResult(want, tool string, args any, opts ...client.CallOption) {
	r.Helper()
	if got, err := r.call(tool, args, opts...); err != nil || got != want {
		r.Errorf("%s: %q, %v; want %q", tool, got, err, want)
	}
}

// expectNotification calls a tool and waits for its notification. If again is true, it repeats the
// call until then, because the first notification may be lost.
func (r *serverTest) expectNotification(what string, from <-chan string, tool string, again bool) {
	r.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for called := false; ; called = true {
		if !called || again {
			r.expectResult("done", tool, nil)
		}
		select {
		case <-from:
			return
		case <-tick.C:
		case <-r.ctx.Done():
			r.Fatalf("no notification of %s", what)
		}
	}
}

func (r *serverTest) testCalls() {
	r.Helper()
	var listed []*mcp.Tool
	for tool, err := range r.Tools(r.ctx) {
		if err != nil {
			r.Fatal(err)
		}
		listed = append(listed, tool)
	}
	for _, name := range visitTools {
		if !slices.Contains(names(listed), name) {
			r.Errorf("tool %s is missing", name)
		}
	}
	for _, name := range names(listed) {
		if strings.HasPrefix(name, "grown_") {
			r.grown++
		}
	}
	const odd = "Grüße, \"世界\" \u2028 \U0001f44b\n\tend"
	r.expectResult(odd, "echo", map[string]string{"text": odd})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			text := strings.Repeat(fmt.Sprint(i, " "), 1+i*i)
			if got, err := r.call("echo", map[string]string{"text": text}); err != nil ||
				got != text {
				r.Errorf("echo %d: %.50q, %v", i, got, err)
			}
		})
	}
	wg.Wait()
	r.expectResult("error: it failed", "fail", nil)
	if got, err := r.call("nothing", nil); !hasErrorCode(err, rpc.CodeInvalidParams) &&
		!strings.HasPrefix(got, "error: ") {
		r.Errorf("an unknown tool: %q, %v", got, err)
	}
	if got, err := r.call("echo", map[string]int{"text": 1}); !hasErrorCode(err,
		rpc.CodeInvalidParams) && !strings.HasPrefix(got, "error: ") {
		r.Errorf("arguments of the wrong type: %q, %v", got, err)
	}
	var seen []float64
	r.expectResult("counted", "count", map[string]int{"n": 20},
		client.OnProgress(func(p mcp.ProgressParams) {
			if p.Total == nil || *p.Total != 20 {
				r.Errorf("progress %v of %v", p.Progress, p.Total)
			}
			seen = append(seen, p.Progress)
		}))
	// the client may skip progress that is outdated
	whole := len(seen) > 0 && seen[len(seen)-1] == 20 && slices.IsSorted(seen)
	if !whole && !r.Strays {
		r.Errorf("progress %v", seen)
	}
	r.expectNotification("the log", r.logged, "log", r.Strays)
}

// hasErrorCode reports whether err is a JSON-RPC error with one of these codes.
func hasErrorCode(err error, codes ...int) bool {
	refusal, ok := errors.AsType[*rpc.Error](err)
	return ok && slices.Contains(codes, refusal.Code)
}

func (r *serverTest) testElicitation() {
	r.Helper()
	r.expectResult("Hello, Ada", "ask", nil)
	r.expectResult("Paris", "sample", nil)
	r.expectResult("2 roots", "roots", nil)
	for _, no := range []mcp.ElicitAction{mcp.ElicitDecline, mcp.ElicitCancel} {
		r.setAnswer(mcp.ElicitResult{Action: no})
		r.expectResult(string(no), "ask", nil)
	}
	r.setAnswer(accepted)
	if want := []string{"Who?", "Capital?", "Who?", "Who?"}; !slices.Equal(r.asked, want) {
		r.Errorf("asked %q", r.asked)
	}
}

func (r *serverTest) testCancellation() {
	r.Helper()
	before, err := r.call("cancelled", nil)
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	_, err = r.CallTool(ctx, "hold", nil, client.OnProgress(func(mcp.ProgressParams) { cancel() }))
	if !errors.Is(err, context.Canceled) {
		r.Errorf("a call that is cancelled: %v", err)
	}
	// enough for the server to get it: what is never sent is not cancelled there
	if _, err = r.call("hold", nil, client.Timeout(time.Second)); !errors.Is(err,
		context.DeadlineExceeded) {
		r.Errorf("a call that takes too long: %v", err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var a, b int
	fmt.Sscan(before, &a)
	for ; ; <-tick.C {
		now, err := r.call("cancelled", nil)
		if err != nil {
			r.Fatalf("the server did not cancel the calls: %v", err)
		}
		if fmt.Sscan(now, &b); b == a+2 {
			return
		}
	}
}

func (r *serverTest) testResources() {
	r.Helper()
	var uris []string
	for resource, err := range r.Resources(r.ctx) {
		if err != nil {
			r.Fatal(err)
		}
		uris = append(uris, resource.URI)
	}
	slices.Sort(uris)
	if want := []string{"visit://binary", "visit://text"}; !slices.Equal(uris, want) {
		r.Errorf("resources %q", uris)
	}
	var templates []string
	for template, err := range r.ResourceTemplates(r.ctx) {
		if err != nil {
			r.Fatal(err)
		}
		templates = append(templates, template.URITemplate)
	}
	if want := []string{"visit://item/{id}"}; !slices.Equal(templates, want) {
		r.Errorf("templates %q", templates)
	}
	for uri, want := range map[string]string{"visit://text": "some text",
		"visit://binary": "\x00\x7f\xff", "visit://item/a%20b": "item a b"} {
		result, err := r.ReadResource(r.ctx, uri)
		if err != nil || len(result.Contents) != 1 {
			r.Errorf("%s: %v, %v", uri, result, err)
			continue
		}
		content := result.Contents[0]
		got := content.Text + string(content.Blob)
		got = strings.ReplaceAll(got, "%20", " ") // libraries differ in decoding it
		if got != want || content.URI != uri {
			r.Errorf("%s: %q of %s", uri, got, content.URI)
		}
	}
	if _, err := r.ReadResource(r.ctx, "visit://nothing"); !hasErrorCode(err,
		mcp.CodeResourceNotFound, rpc.CodeInvalidParams) {
		r.Errorf("an unknown resource: %v", err)
	}
	var prompts []string
	for prompt, err := range r.Prompts(r.ctx) {
		if err != nil {
			r.Fatal(err)
		}
		prompts = append(prompts, prompt.Name)
	}
	if !slices.Equal(prompts, []string{"greet"}) {
		r.Errorf("prompts %q", prompts)
	}
	prompt, err := r.GetPrompt(r.ctx, "greet", map[string]string{"name": "Ada"})
	if err != nil || len(prompt.Messages) != 1 ||
		prompt.Messages[0].Content.(*mcp.TextContent).Text != "Greet Ada." {
		r.Errorf("the prompt: %v, %v", prompt, err)
	}
	completion, err := r.Complete(r.ctx, mcp.CompleteReference{Type: mcp.RefPrompt, Name: "greet"},
		"name", "A", nil)
	if err != nil || !slices.Equal(completion.Values, []string{"Ada", "Alan"}) {
		r.Errorf("the completion: %v, %v", completion, err)
	}
}

// testListChanged tests notifications of a changed list of tools and an updated resource.
func (r *serverTest) testListChanged() {
	r.Helper()
	r.mu.Lock()
	r.grown++
	r.mu.Unlock()
	r.expectNotification("one tool more", r.tools, "grow", false)
	if err := r.Subscribe(r.ctx, "visit://text"); err != nil {
		r.Fatal(err)
	}
	r.expectNotification("the resource", r.updated, "touch", false)
}

// testDisconnects tests connections that are closed during a call, by the proxy or the server.
func (r *serverTest) testDisconnects() {
	r.Helper()
	if r.Cut != nil {
		got, err := r.call("hold", nil, client.OnProgress(func(mcp.ProgressParams) {
			r.Cut()
			r.expectResult("done", "release", nil)
		}))
		switch {
		case r.Resumes && (err != nil || got != "held"):
			r.Errorf("a call whose stream was cut: %q, %v", got, err)
		case !r.Resumes && !errors.Is(err, streamable.ErrDisconnected):
			r.Errorf("a call whose stream was cut: %q, %v", got, err)
		}
		r.expectNotificationAfter("the streams were cut")
	}
	if r.Closes {
		r.expectResult("resumed", "cut", nil)
	}
}

// expectNotificationAfter expects notifications to continue after a reconnect. The first may only
// report that some were lost.
func (r *serverTest) expectNotificationAfter(after string) {
	r.Helper()
	for len(r.updated) > 0 {
		<-r.updated
	}
	for range 5 {
		r.expectNotification("the resource, after "+after, r.updated, "touch", true)
	}
}

// testExpiredSession tests a session that the server no longer knows.
func (r *serverTest) testExpiredSession() {
	r.Helper()
	if !r.Forgets {
		return
	}
	r.expectResult("done", "forget", nil)
	r.expectResult("again", "echo", map[string]string{"text": "again"})
	r.expectNotificationAfter("the session was forgotten")
	r.expectResult("Hello, Ada", "ask", nil)
}
