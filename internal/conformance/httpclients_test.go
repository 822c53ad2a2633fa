//go:build linux

package conformance_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/conformance"
)

// seenHTTP is the output of http.mjs.
type seenHTTP struct {
	Requests, Notified, Asked, Errors                  []string
	Server                                             struct{ Name string }
	Session                                            string
	Tools, Resources, Templates, Prompts, Completion   []string
	Calls                                              map[string]string
	Unknown, Missing, Cancelled, CancelledQuestion     failed
	Progress                                           []float64
	Prompted, Prompt, Text, Binary, Templated, Updated string
	Changed                                            []bool
	AfterDelete                                        int
}

// How the calls of http.mjs end, in both eras.
var sdkCalls = map[string]string{
	"test_simple_text":            "This is a simple text response for testing.",
	"test_image_content":          "image/png",
	"test_audio_content":          "audio/wav",
	"test_embedded_resource":      "This is an embedded resource content.",
	"test_multiple_content_types": "Multiple content types test:|image/png|This is an embedded resource content.",
	"test_error_handling":         "This tool intentionally returns an error for testing (error)",
	"test_x_mcp_header":           "region Zürich ",
	"test_tool_with_progress":     "Done",
	"test_logging_tool":           "Logged",
	"test_elicitation":            "User response: action=accept, content=" + sdkAnswer,
	"test_sampling":               "LLM response: Paris",
	"list_roots":                  "2 roots",
	"multiple_inputs":             "Paris, Ada, 2 roots",
	"multi_round":                 "Both steps are done",
	"request_state":               "state-ok",
	"test_reconnection":           "Reconnection test completed successfully",
}

// The questions to the user of http.mjs in both eras, in any order: the client chooses the order of
// two concurrent ones.
var sdkAsked = []string{"Who?", "Capital?", "What is your name?", "Say hello.",
	"Step 1: what is your name?", "Step 2: which colour?", "Go on?", "What is it about?"}

// The answer of http.mjs to every question.
const sdkAnswer = `{"name":"Ada","username":"ada","email":"ada@example.com","ok":true,"color":"red","context":"tests"}`

// everythingResources are the URIs of the resources of the everything-server.
var everythingResources = []string{"skill://acme/refunds/SKILL.md",
	"skill://pdf-processing/SKILL.md", "test://example-resource", "test://static-binary",
	"test://static-text", "test://watched-resource"}

func TestSDKClientsOverHTTP(t *testing.T) {
	for _, c := range sdkClients {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // because they mostly wait
			b := newNodeBench(t)
			s := b.serve()
			modern := c.name == "v2 modern" || c.name == "v2 auto"
			got := b.everythingClient(
				map[string]any{"sdk": c.sdk, "era": c.era, "modern": modern, "url": s.tapped})
			assert.Equal(t, got.Server.Name, "everything-server")
			assert.Equal(t, len(got.Tools), 36)
			assert.Equal(t, got.Unknown.Code, -32602.0, "%v", got.Unknown)
			// the SDKs drop the last if it comes together with the answer
			all := []float64{0, 50, 100}
			assert.DeepEqual(t, got.Progress, all[:max(2, min(len(got.Progress), 3))])
			assert.Equal(t, got.Prompted, "Context: "+sdkAnswer)
			assert.DeepEqual(t, got.Resources, everythingResources)
			assert.DeepEqual(t, got.Templates, []string{"test://template/{id}/data"})
			assert.Equal(t, got.Text, "This is the content of the static text resource.")
			assert.Equal(t, got.Binary, "PNG")
			assert.Equal(t, got.Templated, "a b")
			assert.Equal(t, len(got.Prompts), 5)
			assert.Equal(t, got.Prompt, "Prompt with arguments: arg1='x', arg2='y'")
			assert.DeepEqual(t, got.Completion, []string{"test", "testValue1"})
			assert.Equal(t, got.Updated, "test://watched-resource")
			assert.DeepEqual(t, got.Changed, []bool{true, true})
			assert.Assert(t, strings.Contains(got.Cancelled.Message, "enough"), "%v", got.Cancelled)

			calls, asked := maps.Clone(sdkCalls), slices.Clone(sdkAsked)
			resumed := slices.ContainsFunc(got.Requests,
				func(r string) bool { return strings.HasPrefix(r, "GET resumes 200") })
			if modern {
				assert.Equal(t, got.Missing.Code, -32602.0, "%v", got.Missing)
				assert.Equal(t, got.Session, "")
				for _, r := range got.Requests {
					assert.Assert(t, strings.HasPrefix(r, "POST "), r)
				}
			} else {
				asked = append(asked, "Still there?", "After a cut?")
				calls["cut"] = calls["test_elicitation"]
				notFound := -32602.0 // v2 has the newer code in both eras
				if c.sdk == "v1" {
					notFound = -32002
				}
				assert.Equal(t, got.Missing.Code, notFound, "%v", got.Missing)
				assert.Assert(t, strings.Contains(got.CancelledQuestion.Message, "enough"), "%v",
					got.CancelledQuestion)
				assert.Assert(t, got.Session != "")
				assert.Assert(t, resumed, "%v", got.Requests)
				assert.Assert(t, slices.Contains(got.Requests, "GET 200 text/event-stream"), "%v",
					got.Requests)
				assert.Assert(t, slices.Contains(got.Requests, "DELETE 204"), "%v", got.Requests)
				assert.Equal(t, got.AfterDelete, 404)
			}
			assert.DeepEqual(t, got.Calls, calls)
			slices.Sort(asked)
			slices.Sort(got.Asked)
			assert.DeepEqual(t, got.Asked, asked)
			for _, e := range got.Errors {
				// that was us
				assert.Assert(t, !modern && strings.Contains(e, "SSE stream disconnected"), e)
			}
			b.checkServer("record")
			b.checkClient("record")
		})
	}
}

// everythingClient runs http.mjs.
func (b *bench) everythingClient(argument map[string]any) (got seenHTTP) {
	b.t.Helper()
	script, err := os.ReadFile("node/http.mjs")
	assert.NilError(b.t, err)
	b.write("http.mjs", string(script))
	what, err := json.Marshal(argument)
	assert.NilError(b.t, err)
	o := b.must("node", "http.mjs", string(what))
	assert.NilError(b.t, json.Unmarshal([]byte(o.stdout), &got), "%v", o)
	return got
}

func TestInspectorOverHTTP(t *testing.T) {
	for _, era := range []string{"legacy", "modern", "auto"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			b := newNodeBench(t)
			s := b.serve()
			for _, c := range []struct {
				args string
				code int
				want string
			}{
				// fails if a schema is not one that most clients support
				{"tools/list --strict", 0, `"name":"test_simple_text"`},
				{"tools/call --tool-name greet --tool-arg name=Ada --load --load-requests 200", 0,
					`"ok":200,`},
				{"tools/call --tool-name test_error_handling", 5, `"isError":true`},
				{"tools/call --tool-name nothing", 5, ""},
				{"resources/read --uri test://template/7/data", 0, "Data for ID: 7"},
				{"prompts/get --prompt-name test_prompt_with_arguments --prompt-args arg1=a arg2=b",
					0, "arg1='a', arg2='b'"},
			} {
				if era == "auto" && c.code != 0 {
					continue // its era is modern meanwhile
				}
				inspector := []string{"mcp-inspector", "--cli", "--format", "json",
					"--protocol-era", era, s.tapped, "--method"}
				o := b.run(append(inspector, strings.Fields(c.args)...)...)
				assert.Equal(t, o.code, c.code, "%v: %v", c.args, o)
				assert.Assert(t, strings.Contains(o.stdout, c.want), "%v: %v", c.args, o)
			}
			b.checkServer("record")
			b.checkClient("record")
			assert.Equal(t, b.modernCalls("record"), era != "legacy")
		})
	}
}

// modernCalls reports whether the calls of tools in a record were modern, all of them or none.
func (b *bench) modernCalls(record string) (modern bool) {
	b.t.Helper()
	talks, err := conformance.ReadRecords(b.path(record))
	assert.NilError(b.t, err)
	calls := 0
	for _, lines := range talks {
		for _, line := range lines {
			if line[0] != '>' || !strings.Contains(string(line), `"method":"tools/call"`) {
				continue
			}
			is := strings.Contains(string(line),
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`)
			assert.Assert(b.t, calls == 0 || is == modern, "%s", line)
			modern = is
			calls++
		}
	}
	assert.Assert(b.t, calls > 0)
	return modern
}
