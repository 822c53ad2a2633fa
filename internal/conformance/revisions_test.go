package conformance_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

func schemas(t *testing.T) *conformance.Schemas {
	t.Helper()
	s := conformance.OpenSchemas()
	if s == nil {
		t.Skip("STDWIRE_SUITES is not set: messages are not checked against the schemas of the revisions")
	}
	return s
}

// A driver talks to a server in this process. All messages of the server are checked if the schemas
// are available.
type driver struct {
	t        *testing.T
	revision mcp.Revision
	stream   net.Conn
	in       *bufio.Reader
	id       int
	heard    []string        // the methods of the notifications so far
	answered map[string]bool // the methods of the requests that had a result
}

// drive returns a driver of a new server, and the checked conversation, which is nil without the
// schemas.
func drive(t *testing.T, revision mcp.Revision) (*driver, *conformance.Conversation) {
	var talk *conformance.Conversation
	if s := conformance.OpenSchemas(); s != nil {
		talk = s.Server()
	}
	var mu sync.Mutex // hooks are called concurrently
	options := server.Options{
		Logger: slog.New(slog.DiscardHandler), PageSize: 2, Instructions: "Try everything.",
		Hooks: rpc.Hooks{Frame: func(_ context.Context, d rpc.Direction, frame []byte) {
			if talk == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if err := talk.Frame(d == rpc.Outbound, frame); err != nil {
				t.Error(err)
			}
		}},
	}
	srv := options.New(server.Info{Name: "fixture", Version: "1"}, conformance.Fixture())
	addItems(t, srv)
	near, far := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(context.Background(), far) }()
	t.Cleanup(func() {
		go io.Copy(io.Discard, near) // the messages of subscriptions at the end
		near.Close()
		assert.NilError(t, <-ended)
	})
	return &driver{t: t, revision: revision, stream: near, in: bufio.NewReader(near),
		answered: map[string]bool{}}, talk
}

func (d *driver) modern() bool { return mcp.EraOf(d.revision) == mcp.Modern }

// params adds the members that every request of the revision has to the members of params.
func (d *driver) params(members string, meta ...string) string {
	if d.modern() {
		extensions := fmt.Sprintf(`{"extensions":{%q:{},%q:{}}}`, mcp.ExtensionTasks, mcp.ExtensionSkills)
		meta = append(meta,
			fmt.Sprintf(`%q:%q,%q:%s,%q:{"name":"driver","version":"1"}`, mcp.MetaProtocolVersion,
				d.revision, mcp.MetaClientCapabilities, extensions, mcp.MetaClientInfo))
	}
	if len(meta) > 0 {
		members = strings.TrimPrefix(members+`,"_meta":{`+strings.Join(meta, ",")+`}`, ",")
	}
	return "{" + members + "}"
}

func (d *driver) send(method, params string) int {
	d.t.Helper()
	d.id++
	_, err := fmt.Fprintf(d.stream, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", d.id,
		method, params)
	assert.NilError(d.t, err)
	return d.id
}

func (d *driver) notify(method, params string) {
	d.t.Helper()
	_, err := fmt.Fprintf(d.stream, `{"jsonrpc":"2.0","method":%q,"params":%s}`+"\n", method,
		params)
	assert.NilError(d.t, err)
}

type answer struct {
	ID     int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *rpc.Error
}

func (d *driver) read() answer {
	d.t.Helper()
	line, err := d.in.ReadBytes('\n')
	assert.NilError(d.t, err)
	var a answer
	assert.NilError(d.t, json.Unmarshal(line, &a), string(line))
	if a.Method != "" {
		d.heard = append(d.heard, a.Method)
	}
	return a
}

// await reads until the response to a request arrives.
func (d *driver) await(id int) answer {
	d.t.Helper()
	for {
		if a := d.read(); a.Method == "" {
			assert.Equal(d.t, a.ID, id)
			return a
		}
	}
}

// until reads until a notification with this method arrives, unless it arrived before.
func (d *driver) until(method string) {
	d.t.Helper()
	for !slices.Contains(d.heard, method) {
		assert.Assert(d.t, d.read().Method != "", "an answer came, but not %s", method)
	}
}

func (d *driver) ask(method, members string, meta ...string) answer {
	d.t.Helper()
	return d.await(d.send(method, d.params(members, meta...)))
}

func (d *driver) result(method, members string, meta ...string) string {
	d.t.Helper()
	a := d.ask(method, members, meta...)
	assert.Assert(d.t, a.Error == nil, "%s: %v", method, a.Error)
	d.answered[method] = true
	// so that it is the same in structuredContent and in text
	return strings.ReplaceAll(string(a.Result), `\"`, `"`)
}

func (d *driver) fails(code int, method, members string) {
	d.t.Helper()
	a := d.ask(method, members)
	assert.Assert(d.t, a.Error != nil, "%s", a.Result)
	assert.Equal(d.t, int(a.Error.Code), code, "%v", a.Error)
}

// Every method of the server in every revision, with success and with failure.
func TestEveryMethodInEveryRevision(t *testing.T) {
	t.Parallel()
	for _, revision := range mcp.Supported() {
		t.Run(string(revision), func(t *testing.T) {
			d, talk := drive(t, revision)
			progress := `"progressToken":"p"`
			level := `"io.modelcontextprotocol/logLevel":"info"`
			if d.modern() {
				d.result(mcp.MethodDiscover, "")
				d.modernFailures()
			} else {
				level = `"x/y":1`
				d.result(mcp.MethodInitialize,
					fmt.Sprintf(`"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"driver","version":"1"}`,
						revision))
				d.notify(mcp.NotificationInitialized, "{}")
				d.result(mcp.MethodPing, "")
				d.result(mcp.MethodSetLevel, `"level":"info"`)
				d.fails(-32602, mcp.MethodSetLevel, `"level":"loud"`)
			}
			d.pages()

			assert.Assert(t,
				strings.Contains(
					d.result(mcp.MethodCallTool, `"name":"add","arguments":{"a":1,"b":2}`),
					`"n":3`))
			d.result(mcp.MethodCallTool, `"name":"steps"`, progress, level)
			d.until(mcp.NotificationProgress)
			d.until(mcp.NotificationMessage)
			for _, failing := range []string{`"name":"fail"`, `"name":"panic"`,
				`"name":"add","arguments":{"a":"one"}`} {
				assert.Assert(t,
					strings.Contains(d.result(mcp.MethodCallTool, failing), `"isError":true`),
					failing)
			}
			d.fails(-32602, mcp.MethodCallTool, `"name":"nothing"`)
			d.fails(-32602, mcp.MethodCallTool, `"arguments":{}`)
			d.fails(-32602, mcp.MethodListTools, `"cursor":"!"`)
			d.fails(-32601, "no/such", "")
			d.items()
			_, tasks := mcp.MethodAt(mcp.MethodGetTask, revision)
			if tasks {
				d.tasks()
			}
			d.cancel()
			d.changes()

			// Each request of the revision that a client sends has had a result.
			for m := range mcp.Methods(revision) {
				if isAnswered(m) {
					assert.Check(t, d.answered[m.Name], "%s has had no result", m.Name)
				}
			}
			if talk == nil {
				t.Run("schemas", func(t *testing.T) { schemas(t) }) // skipped
				return
			}

			// The schema has validated a result of each request of the revision, these errors, and
			// these notifications.
			want := []string{"notifications/message", "notifications/progress",
				"notifications/tools/list_changed", "tools/call error", "tools/list error"}
			if d.modern() {
				want = append(want, "notifications/subscriptions/acknowledged",
					"server/discover error", "subscriptions/listen error")
			} else {
				want = append(want, "logging/setLevel error")
			}
			if tasks && !d.modern() {
				want = append(want, "notifications/tasks/status")
			}
			for m := range mcp.Methods(revision) {
				if isAnswered(m) {
					want = append(want, m.Name+" result")
				}
			}
			slices.Sort(want)
			got := maps.Clone(talk.Checked)
			delete(got, "no/such error")
			assert.DeepEqual(t, slices.Sorted(maps.Keys(got)), want)
		})
	}
}

// isAnswered reports whether a client sends the request and has its result before the connection
// ends. The result of subscriptions/listen arrives when the subscription ends; its first
// notification shows that the server has the method.
func isAnswered(m mcp.Method) bool {
	return m.Sender&mcp.ByClient != 0 && !m.Notification && m.Name != mcp.MethodListen
}

// addItems adds items that the fixture's catalog does not have: resources, a prompt, completion, a
// skill, and tools whose calls become tasks: job ends at once, wait when it is cancelled.
func addItems(t *testing.T, s *server.Server) {
	t.Helper()
	read := func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{
			Contents: []mcp.ResourceContents{{URI: uri, Text: "text of " + uri}}}, nil
	}
	complete := func(context.Context, string, string, map[string]string) (mcp.Completion, error) {
		return mcp.Completion{Values: []string{"blue"}}, nil
	}
	job := func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text("done")}}, nil
	}
	wait := func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	for _, err := range []error{
		s.AddResource(server.Resource{Resource: mcp.Resource{URI: "test://one", Name: "One"},
			Read: read}),
		s.AddResourceTemplate(server.ResourceTemplate{
			ResourceTemplate: mcp.ResourceTemplate{URITemplate: "test://{colour}", Name: "Colours"},
			Read: func(ctx context.Context, uri string,
				_ map[string]string) (*mcp.ReadResourceResult, error) {
				return read(ctx, uri)
			},
			Complete: complete}),
		s.AddPrompt(server.Prompt{Prompt: mcp.Prompt{Name: "paint",
			Arguments: []mcp.PromptArgument{{Name: "colour", Required: true}}},
			Get: func(_ context.Context, a map[string]string) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{
					{Role: mcp.RoleUser, Content: mcp.Text("Paint it " + a["colour"])}}}, nil
			},
			Complete: complete}),
		s.AddSkills(fstest.MapFS{
			"painting/SKILL.md": {Data: []byte("---\nname: painting\ndescription: Paints.\n---\nPaint.\n")},
			"painting/more/a":   {Data: []byte("more")}}),
		s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "job"}, Call: job, Tasks: mcp.TaskOptional}),
		s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "wait"}, Call: wait,
			Tasks: mcp.TaskOptional}),
	} {
		assert.NilError(t, err)
	}
}

// items lists and reads resources, prompts and skills, and completes their arguments.
func (d *driver) items() {
	d.t.Helper()
	for _, one := range []struct{ method, members, want string }{
		{mcp.MethodListResources, "", `"test://one"`},
		{mcp.MethodListResourceTemplates, "", `"test://{colour}"`},
		{mcp.MethodReadResource, `"uri":"test://one"`, "text of test://one"},
		{mcp.MethodReadResource, `"uri":"test://red"`, "text of test://red"},
		{mcp.MethodListPrompts, "", `"paint"`},
		{mcp.MethodGetPrompt, `"name":"paint","arguments":{"colour":"red"}`, "Paint it red"},
		{mcp.MethodComplete,
			`"ref":{"type":"ref/prompt","name":"paint"},"argument":{"name":"colour","value":"b"}`,
			`"blue"`},
		{mcp.MethodComplete,
			`"ref":{"type":"ref/resource","uri":"test://{colour}"},"argument":{"name":"colour","value":"b"}`,
			`"blue"`},
		{mcp.MethodSubscribe, `"uri":"test://one"`, ""},
		{mcp.MethodUnsubscribe, `"uri":"test://one"`, ""},
		{mcp.MethodListSkills, "", `"Paints."`},
		{mcp.MethodGetSkill, `"uri":"skill://painting/SKILL.md"`, `"sha256:`},
		{mcp.MethodReadDirectory, `"uri":"skill://painting"`, `"inode/directory"`},
	} {
		if _, has := mcp.MethodAt(one.method, d.revision); !has {
			continue
		}
		got := d.result(one.method, one.members)
		assert.Assert(d.t, strings.Contains(got, one.want), "%s: %s", one.method, got)
	}
}

// tasks starts two calls as tasks, reads the result of one, and cancels the other.
func (d *driver) tasks() {
	d.t.Helper()
	start := func(tool string) string {
		d.t.Helper()
		var created struct {
			TaskID string // of the extension
			Task   struct{ TaskID string }
		}
		members := fmt.Sprintf(`"name":%q`, tool)
		if !d.modern() {
			members += `,"task":{"ttl":60000}`
		}
		assert.NilError(d.t,
			json.Unmarshal([]byte(d.result(mcp.MethodCallTool, members)), &created))
		id := cmp.Or(created.TaskID, created.Task.TaskID)
		assert.Assert(d.t, id != "", "no task was created")
		return fmt.Sprintf(`"taskId":%q`, id)
	}
	job, wait := start("job"), start("wait")
	if d.modern() {
		d.result(mcp.MethodUpdateTask, wait+`,"inputResponses":{}`)
	} else {
		assert.Assert(d.t, strings.Contains(d.result(mcp.MethodTaskResult, job), `"done"`))
		d.result(mcp.MethodListTasks, "")
		d.until(mcp.NotificationTaskStatus)
	}
	assert.Assert(d.t, strings.Contains(d.result(mcp.MethodGetTask, wait), `"working"`))
	d.result(mcp.MethodCancelTask, wait)
	assert.Assert(d.t, strings.Contains(d.result(mcp.MethodGetTask, wait), `"cancelled"`))
}

// pages reads the list of tools page by page.
func (d *driver) pages() {
	d.t.Helper()
	var names []string
	for cursor := ""; ; {
		var page struct {
			Tools      []struct{ Name string }
			NextCursor string
		}
		assert.NilError(d.t, json.Unmarshal([]byte(d.result(mcp.MethodListTools, cursor)), &page))
		for _, tool := range page.Tools {
			names = append(names, tool.Name)
		}
		if page.NextCursor == "" {
			break
		}
		cursor = fmt.Sprintf(`"cursor":%q`, page.NextCursor)
	}
	assert.DeepEqual(d.t, names,
		[]string{"add", "block", "ended", "fail", "grow", "job", "panic", "steps", "wait"})
}

// cancel calls a tool, cancels it, and waits until it has ended. No response may arrive, otherwise
// await fails.
func (d *driver) cancel() {
	d.t.Helper()
	d.heard = nil
	id := d.send(mcp.MethodCallTool, d.params(`"name":"block"`, `"progressToken":7`))
	d.until(mcp.NotificationProgress)
	d.notify(mcp.NotificationCancelled,
		d.params(fmt.Sprintf(`"requestId":%d,"reason":"enough"`, id)))
	for !strings.Contains(d.result(mcp.MethodCallTool, `"name":"ended"`), `"n":1`) {
	}
}

// changes changes the list of tools while a client listens.
func (d *driver) changes() {
	d.t.Helper()
	d.heard = nil
	listen := 0
	if d.modern() {
		d.fails(-32602, mcp.MethodListen, "")
		listen = d.send(mcp.MethodListen, d.params(`"notifications":{"toolsListChanged":true}`))
		d.until(mcp.NotificationSubscriptionsAcknowledged)
	}
	d.result(mcp.MethodCallTool, `"name":"grow"`)
	d.until(mcp.NotificationToolListChanged)
	if d.modern() {
		d.notify(mcp.NotificationCancelled, d.params(fmt.Sprintf(`"requestId":%d`, listen)))
	}
}

func (d *driver) modernFailures() {
	d.t.Helper()
	a := d.await(d.send(mcp.MethodDiscover,
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}`))
	assert.Equal(d.t, int(a.Error.Code), mcp.CodeUnsupportedProtocolVersion)
	a = d.await(d.send(mcp.MethodDiscover,
		fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/protocolVersion":%q}}`, d.revision)))
	assert.Equal(d.t, int(a.Error.Code), -32602)
}
