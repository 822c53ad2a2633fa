//go:build linux

package conformance_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/conformance"
)

type toolResult struct {
	Content []struct{ Type, Text string }
	IsError bool
	// StructuredContent is missing in old revisions; the text of the content is the same, or that
	// of a file.
	StructuredContent *result
}

type result struct {
	Success bool
	Data    struct {
		Content string
		N       int
	}
	Error struct{ Code, Message string }
}

func (r toolResult) result(t *testing.T) (decoded result) {
	t.Helper()
	assert.Equal(t, len(r.Content), 1)
	text := r.Content[0].Text
	if s := r.StructuredContent; s != nil && s.Data.Content != "" {
		assert.Equal(t, text, s.Data.Content) // see dispatch.Spec.Text
		decoded = *s
	} else {
		assert.NilError(t, json.Unmarshal([]byte(text), &decoded))
		if s != nil {
			assert.DeepEqual(t, *s, decoded)
		}
	}
	assert.Equal(t, r.IsError, !decoded.Success)
	return decoded
}

// failed is the error of a call.
type failed struct {
	Result        json.RawMessage
	Name, Message string
	Code          any
}

// seen is the output of client.mjs.
type seen struct {
	Server                                        struct{ Name, Version string }
	Instructions                                  string
	Tools                                         []string
	Unknown, Cancelled                            failed
	Read, Missing, Invalid, Add, Failed, Panicked toolResult
	Ended, After                                  toolResult
	Progress                                      []float64
	Changed                                       []string
	Closing                                       float64
}

type sdkClient struct {
	name, sdk string
	era       any
}

var sdkClients = []sdkClient{
	{"v1", "v1", nil},
	{"v2 modern", "v2", map[string]string{"pin": "2026-07-28"}},
	{"v2 auto", "v2", "auto"},
	{"v2 legacy", "v2", "legacy"},
}

func (b *bench) client(c sdkClient, files bool, server []string) (got seen) {
	b.t.Helper()
	return b.clientOf(c, map[string]any{"command": server, "files": files})
}

// clientOf runs client.mjs with the server that the argument selects.
func (b *bench) clientOf(c sdkClient, argument map[string]any) (got seen) {
	b.t.Helper()
	script, err := os.ReadFile("node/client.mjs")
	assert.NilError(b.t, err)
	b.write("client.mjs", string(script))
	argument["sdk"], argument["era"] = c.sdk, c.era
	what, err := json.Marshal(argument)
	assert.NilError(b.t, err)
	o := b.must("node", "client.mjs", string(what))
	assert.NilError(b.t, json.Unmarshal([]byte(o.stdout), &got), "%v", o)

	// An unknown tool is an error of the protocol.
	assert.Equal(b.t, len(got.Unknown.Result), 0, "%s", got.Unknown.Result)
	assert.Equal(b.t, got.Unknown.Code, -32602.0, "%v", got.Unknown)
	assert.Assert(b.t, strings.Contains(got.Unknown.Message, "nothing"), "%v", got.Unknown)
	// A cancelled call was in progress, and has no result.
	assert.Assert(b.t, len(got.Progress) > 0)
	assert.Equal(b.t, len(got.Cancelled.Result), 0, "%s", got.Cancelled.Result)
	assert.Assert(b.t, strings.Contains(got.Cancelled.Message, "enough"), "%v", got.Cancelled)
	// The SDKs close stdin, wait 2 s, and then send SIGTERM: the server must end earlier.
	assert.Assert(b.t, got.Closing < 2000, "closing took %v ms", got.Closing)
	return got
}

func TestSDKClientsOnTheBinary(t *testing.T) {
	for _, c := range sdkClients {
		t.Run(c.name, func(t *testing.T) {
			b := newNodeBench(t)
			assert.NilError(t, conformance.FillRoot(b.path("root")))
			got := b.client(c, true, b.tapped("record", binary(t), "serve", "--root", "root"))
			assert.Equal(t, got.Server.Name, "stdwire")
			assert.Assert(t, strings.Contains(got.Instructions, "relative to a root"))
			assert.DeepEqual(t, got.Tools, builtinTools(t))
			assert.Equal(t, got.Read.result(t).Data.Content, "Hello, world.\n")
			assert.Equal(t, got.After.result(t).Data.Content, "Hello, world.\n")
			assert.Equal(t, got.Missing.result(t).Error.Code, "not_found")
			assert.Equal(t, got.Invalid.result(t).Error.Code, "invalid_input")
			b.checkServer("record")
			b.unanswered("record", "fs_search")
		})
	}
}

func TestSDKClientsOnTheFixture(t *testing.T) {
	for _, c := range sdkClients {
		t.Run(c.name, func(t *testing.T) {
			b := newNodeBench(t)
			b.client(c, false, b.tapped("record", fixture(t)...)).onFixture(t)
			b.checkServer("record")
			b.unanswered("record", "block")
		})
	}
}

// onFixture asserts that the client has used all operations of the fixture.
func (got seen) onFixture(t *testing.T) {
	t.Helper()
	assert.Equal(t, got.Add.result(t).Data.N, 3)
	assert.Equal(t, got.After.result(t).Data.N, 7)
	assert.Equal(t, got.Failed.result(t).Error.Code, "not_found")
	assert.Equal(t, got.Panicked.result(t).Error.Code, "internal_error")
	assert.Equal(t, got.Ended.result(t).Data.N, 1)
	assert.Assert(t, strings.Contains(strings.Join(got.Changed, " "), "grown_1"), "%v", got.Changed)
}

// unanswered asserts that each call of a tool in a record was cancelled, and that none has a
// response.
func (b *bench) unanswered(record, tool string) {
	b.t.Helper()
	connections, err := conformance.ReadRecords(b.path(record))
	assert.NilError(b.t, err)
	total, cancelled := 0, 0
	for _, lines := range connections {
		calls := map[string]bool{}
		for _, line := range lines {
			var m struct {
				ID     json.RawMessage
				Method string
				Params struct {
					Name      string
					RequestID json.RawMessage
				}
			}
			assert.NilError(b.t, json.Unmarshal(line[1:], &m))
			switch {
			case m.Method == "tools/call" && m.Params.Name == tool:
				calls[string(m.ID)] = true
				total++
			case m.Method == "notifications/cancelled" && calls[string(m.Params.RequestID)]:
				cancelled++
			case line[0] == '<' && m.Method == "":
				assert.Assert(b.t, !calls[string(m.ID)], "a cancelled call was answered: %s", line)
			}
		}
	}
	assert.Equal(b.t, total, 1)
	assert.Equal(b.t, cancelled, 1)
}

// The inspector's command line can list and call. It can neither cancel nor show progress.
func TestInspectorOnTheBinary(t *testing.T) {
	for _, era := range []string{"legacy", "modern", "auto"} {
		t.Run(era, func(t *testing.T) {
			b := newNodeBench(t)
			b.write("root/hello.txt", "Hello, world.\n")
			inspect := func(args ...string) outcome {
				inspector := []string{"mcp-inspector", "--cli", "--format", "json",
					"--protocol-era", era}
				return b.run(slices.Concat(inspector, args, []string{"--"},
					b.tapped("record", binary(t), "serve", "--root", "root"))...)
			}
			call := func(tool string, args ...string) (toolResult, outcome) {
				o := inspect(append([]string{"--method", "tools/call", "--tool-name", tool},
					args...)...)
				var answer struct{ Result toolResult }
				if o.stdout != "" {
					assert.NilError(t, json.Unmarshal([]byte(o.stdout), &answer), "%v", o)
				}
				return answer.Result, o
			}

			// fails if a schema is not one that most clients support
			o := inspect("--method", "tools/list", "--strict")
			assert.Equal(t, o.code, 0, "%v", o)
			var list struct {
				Result struct{ Tools []struct{ Name string } }
			}
			assert.NilError(t, json.Unmarshal([]byte(o.stdout), &list), "%v", o)
			assert.Equal(t, len(list.Result.Tools), 4)

			r, o := call("fs_read", "--tool-arg", "path=hello.txt")
			assert.Equal(t, o.code, 0, "%v", o)
			assert.Equal(t, r.result(t).Data.Content, "Hello, world.\n")

			r, o = call("fs_read", "--tool-arg", "path=missing.txt")
			assert.Equal(t, o.code, 5, "%v", o)
			assert.Equal(t, r.result(t).Error.Code, "not_found")

			_, o = call("nothing")
			assert.Equal(t, o.code, 5, "%v", o)
			b.checkServer("record")
		})
	}
}
