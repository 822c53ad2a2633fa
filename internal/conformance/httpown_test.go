//go:build linux

package conformance_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// ownDefaults are the defaults that a form adds to ownAnswer.
const ownDefaults = `,"age":30,"status":"active","verified":true}`

// ownCalls are the tools of the everything-server, and the results of their calls.
var ownCalls = map[string]struct{ arguments, want string }{
	"confirm_delete": {`{"filename":"x"}`, "x: accept"},
	"failing_job":    {`{}`, "The job has failed|(error)"},
	"greet":          {`{"name":"Ada"}`, "Hello, Ada!"},
	"json_schema_2020_12_tool": {`{"contactMethod":"phone","phone":"1"}`,
		"The schema fits."},
	"multi_input":        {`{}`, ownAnswer + " " + ownAnswer},
	"protocol_error_job": {`{}`, "error: The job broke (code -32603)"},
	"slow_compute": {`{"seconds":0.1,"label":"l"}`,
		"l: done after 0.1 s"},
	"test_audio_content": {`{}`, "audio/wav"},
	"test_elicitation": {`{"message":"Who?"}`,
		"User response: action=accept, content=" + ownAnswer},
	"test_elicitation_sep1034_defaults": {`{}`,
		"Elicitation completed: action=accept, content=" +
			strings.Replace(ownAnswer, "}", ownDefaults, 1)},
	"test_elicitation_sep1330_enums": {`{}`,
		"Elicitation completed: action=accept, content=" + ownAnswer},
	"test_embedded_resource": {`{}`, "This is an embedded resource content."},
	"test_error_handling": {`{}`,
		"This tool intentionally returns an error for testing|(error)"},
	"test_image_content":                         {`{}`, "image/png"},
	"test_input_required_result_capabilities":    {`{}`, "Answers: AdaParis"},
	"test_input_required_result_elicitation":     {`{}`, "Hello, Ada!"},
	"test_input_required_result_list_roots":      {`{}`, "2 roots"},
	"test_input_required_result_multi_round":     {`{}`, "Both steps are done"},
	"test_input_required_result_multiple_inputs": {`{}`, "Paris, Ada, 2 roots"},
	"test_input_required_result_request_state":   {`{}`, "state-ok"},
	"test_input_required_result_sampling":        {`{}`, "Paris"},
	"test_input_required_result_tampered_state":  {`{}`, "Hello, Ada!"},
	"test_logging_tool":                          {`{}`, "Logged"},
	"test_missing_capability":                    {`{}`, "Paris"},
	"test_multiple_content_types": {`{}`,
		"Multiple content types test:|image/png|This is an embedded resource content."},
	"test_reconnection": {`{}`, "Reconnection test completed successfully"},
	"test_sampling":     {`{"prompt":"Capital?"}`, "LLM response: Paris"},
	"test_simple_text":  {`{}`, "This is a simple text response for testing."},
	"test_streaming_elicitation": {`{}`, "Elicitation completed: action=accept, content=" +
		ownAnswer},
	"test_tool_with_logging":       {`{}`, "Tool with logging executed successfully"},
	"test_tool_with_progress":      {`{}`, "Done"},
	"test_tool_with_task":          {`{}`, "Hello, Ada!"},
	"test_trigger_prompt_change":   {`{}`, "Changed"},
	"test_trigger_resource_update": {`{}`, "Changed"},
	"test_trigger_tool_change":     {`{}`, "Changed"},
	"test_x_mcp_header":            {`{"region":"Zürich ","level":1}`, "region Zürich "},
}

// elicits are the tools that ask the user, which revisions before 2025-06-18 do not support.
var elicits = []string{
	"confirm_delete", "multi_input", "test_elicitation", "test_elicitation_sep1034_defaults",
	"test_elicitation_sep1330_enums", "test_input_required_result_capabilities",
	"test_input_required_result_elicitation", "test_input_required_result_multi_round",
	"test_input_required_result_multiple_inputs",
	"test_input_required_result_request_state", "test_input_required_result_tampered_state",
	"test_streaming_elicitation", "test_tool_with_task",
}

// The client and the server of this module, with only a tap between them, in every revision and
// with all features of the server.
func TestOwnClientOverHTTP(t *testing.T) {
	t.Parallel()
	for _, revision := range mcp.Supported() {
		t.Run(string(revision), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			s := b.serve()
			o := newOwn(t, s.tapped, revision)
			assert.Equal(t, o.Instructions(), "For tests.")
			o.everyTool()
			o.meanwhile()
			o.resourcesAndPrompts()
			o.changes()
			o.cancels()
			if o.Era() == mcp.Legacy {
				_, err := o.Call(t.Context(), mcp.MethodPing, nil)
				assert.NilError(t, err)
				assert.Assert(t, o.lastSession() != "")
			} else {
				assert.Equal(t, o.lastSession(), "")
			}
			o.quiet()
			assert.NilError(t, o.Close())
			if o.Era() == mcp.Legacy {
				w := &wire{url: s.direct, revision: revision, session: o.lastSession(),
					http: http.DefaultClient}
				assert.Equal(t, w.status(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`),
					http.StatusNotFound)
			}
			b.checkServer("record")
			b.checkClient("record")
			// A modern server detects by the end of the stream that a call was given up.
			assert.Equal(t, b.passed("record", '>', mcp.NotificationCancelled) > 0,
				o.Era() == mcp.Legacy)
		})
	}
}

// passed returns how many messages with a method a client ('>') or server ('<') has sent according
// to a record.
func (b *bench) passed(record string, from byte, method string) (n int) {
	b.t.Helper()
	talks, err := conformance.ReadRecords(b.path(record))
	assert.NilError(b.t, err)
	for _, lines := range talks {
		for _, line := range lines {
			if m, err := rpc.ParseMessage(line[1:]); line[0] == from && err == nil &&
				m.Method == method {
				n++
			}
		}
	}
	return n
}

func (o *own) everyTool() {
	t := o.t
	t.Helper()
	var names []string
	for tool, err := range o.Tools(t.Context()) {
		assert.NilError(t, err)
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	assert.DeepEqual(t, names, slices.Sorted(maps.Keys(ownCalls)))
	for _, name := range names {
		want := ownCalls[name].want
		switch revision := o.Revision(); {
		case name == "test_elicitation_sep1330_enums" && revision < mcp.Rev20251125:
			continue // its form has later features, which the server logs
		case revision < mcp.Rev20251125 && name == "failing_job":
			want = "error: runs as a task only"
		case revision < mcp.Rev20250618 && slices.Contains(elicits, name):
			want = "error: the client does not declare the capability elicitation"
		case revision == mcp.Rev20241105 && name == "test_audio_content":
			want = "[sound, audio/wav, 44 bytes]"
		}
		got, err := o.text(name, ownCalls[name].arguments)
		if wrong, ok := strings.CutPrefix(want, "error: "); ok {
			assert.ErrorContains(t, err, wrong, name)
			continue
		}
		assert.NilError(t, err, name)
		assert.Equal(t, got, want, name)
	}
	_, err := o.text("nothing", `{}`)
	assert.ErrorIs(t, err, rpc.ErrInvalidParams)
}

// meanwhile checks the messages that tools send while they work.
func (o *own) meanwhile() {
	t := o.t
	t.Helper()
	var done []float64
	o.says("Done", "test_tool_with_progress", `{}`, client.OnProgress(func(p mcp.ProgressParams) {
		assert.Check(t, p.Total != nil && *p.Total == 100)
		done = append(done, p.Progress)
	}))
	// if progress arrives too fast, only the newest is reported
	assert.Assert(t, len(done) > 0 && done[len(done)-1] == 100 && slices.IsSorted(done), "%v", done)

	assert.NilError(t, o.SetLogLevel(t.Context(), mcp.LevelInfo))
	o.says("Tool with logging executed successfully", "test_tool_with_logging", `{}`)
	for _, want := range []string{"Tool execution started", "Tool processing data",
		"Tool execution completed"} {
		for { // messages of earlier calls may still arrive
			if m := next(t, o.logs); strings.Contains(string(m.Data), want) {
				assert.Equal(t, m.Level, mcp.LevelInfo)
				break
			}
		}
	}
}

func (o *own) resourcesAndPrompts() {
	t := o.t
	ctx := t.Context()
	t.Helper()
	var uris []string
	for r, err := range o.Resources(ctx) {
		assert.NilError(t, err)
		uris = append(uris, r.URI)
	}
	assert.DeepEqual(t, uris, everythingResources)
	for r, err := range o.ResourceTemplates(ctx) {
		assert.NilError(t, err)
		assert.Equal(t, r.URITemplate, "test://template/{id}/data")
	}
	for uri, want := range map[string]string{
		"test://static-text":         "This is the content of the static text resource.",
		"test://template/a%20b/data": `{"id":"a b","templateTest":true,"data":"Data for ID: a b"}`,
	} {
		r, err := o.ReadResource(ctx, uri)
		assert.NilError(t, err)
		assert.Equal(t, r.Contents[0].Text, want)
	}
	r, err := o.ReadResource(ctx, "test://static-binary")
	assert.NilError(t, err)
	assert.Equal(t, string(r.Contents[0].Blob[1:4]), "PNG")
	_, err = o.ReadResource(ctx, "test://nothing")
	refusal, ok := errors.AsType[*rpc.Error](err)
	assert.Assert(t, ok, "%v", err)
	notFound := rpc.CodeInvalidParams
	if o.Era() == mcp.Legacy {
		notFound = mcp.CodeResourceNotFound
	}
	assert.Equal(t, int(refusal.Code), notFound)

	for p, err := range o.Prompts(ctx) {
		assert.NilError(t, err)
		if p.Name != "test_input_required_result_prompt" || o.Revision() >= mcp.Rev20250618 {
			got, err := o.GetPrompt(ctx, p.Name,
				map[string]string{"arg1": "x", "arg2": "y",
					"resourceUri": "test://example-resource"})
			assert.NilError(t, err, p.Name)
			assert.Assert(t, len(got.Messages) > 0)
		}
	}
	c, err := o.Complete(ctx,
		mcp.CompleteReference{Type: mcp.RefPrompt, Name: "test_prompt_with_arguments"}, "arg1",
		"test", nil)
	assert.NilError(t, err)
	assert.DeepEqual(t, c.Values, []string{"test", "testValue1"})
}

// changes makes changes to which the client has subscribed.
func (o *own) changes() {
	t := o.t
	t.Helper()
	assert.NilError(t, o.Subscribe(t.Context(), watched))
	o.says("Changed", "test_trigger_resource_update", `{}`)
	assert.Equal(t, next(t, o.updated), watched)
	assert.NilError(t, o.Unsubscribe(t.Context(), watched))
	o.says("Changed", "test_trigger_tool_change", `{}`)
	o.says("Changed", "test_trigger_prompt_change", `{}`)
	named := func(name string) bool { return strings.HasPrefix(name, "transient_") }
	assert.Assert(t, slices.ContainsFunc(next(t, o.tools), func(t *mcp.Tool) bool {
		return named(t.Name)
	}))
	assert.Assert(t, slices.ContainsFunc(next(t, o.prompts), func(p *mcp.Prompt) bool {
		return named(p.Name)
	}))
	o.says("Nothing", "transient_tool", `{}`)
}

// cancels gives up a call that reports progress, and one that asks the user. The question is then
// cancelled.
func (o *own) cancels() {
	t := o.t
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := o.CallTool(ctx, "test_tool_with_progress", nil,
		client.OnProgress(func(mcp.ProgressParams) { cancel() }))
	assert.ErrorIs(t, err, context.Canceled)
	if o.Revision() >= mcp.Rev20250618 {
		ctx, cancel = context.WithCancel(t.Context())
		withdrawn := make(chan struct{})
		o.asked = func(asking context.Context) error {
			cancel()
			<-asking.Done()
			close(withdrawn)
			return asking.Err()
		}
		_, err = o.CallTool(ctx, "test_elicitation", map[string]string{"message": "Still there?"})
		assert.ErrorIs(t, err, context.Canceled)
		next(t, withdrawn)
		o.asked = nil
	}
	o.says("Hello, Ada!", "greet", `{"name":"Ada"}`)
}
