//go:build linux

package conformance_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/internal/conformance"
)

// Tasks of calls, and of others, are listed, answered, read and cancelled.
func TestWebTasks(t *testing.T) {
	path, err := everything()
	assert.NilError(t, err)
	tests := []struct{ name, era string }{{"modern", "modern"}, {"legacy", "legacy"},
		{"HTTP", "modern"}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newNodeBench(t)
			args, id := []string{"--era", test.era, "--", path}, "everything-server"
			others := []string{}
			if test.name == "HTTP" {
				s := b.serving(path, "-http")
				args = []string{"--era", test.era, "--url", s.direct}
				host := strings.TrimSuffix(strings.TrimPrefix(s.direct, "http://"), "/mcp")
				id = strings.ReplaceAll(host, ":", "-")
				others = append(others, strings.TrimSpace(b.must(binary(t), "call", "slow_compute",
					"seconds=2", "label=other", "--task", "--url", s.direct).stdout))
			}
			w := openWeb(t, b, args...)
			var got struct {
				Asking, Object, Result, Call, Working, Other, Unknown string
			}
			w.seeIn("webcalls.mjs", "tasks", map[string]any{"server": id, "others": others}, &got)
			assert.Assert(t, cmp.Contains(got.Asking, "a call of confirm_delete"))
			assert.Assert(t, cmp.Contains(got.Asking, "poll interval"))
			assert.Assert(t, cmp.Contains(got.Object, "status: \"completed\""))
			assert.Assert(t, cmp.Contains(got.Result, "a.txt: accept"))
			assert.Assert(t, cmp.Contains(got.Call, "a.txt: accept"))
			assert.Assert(t, cmp.Contains(got.Working, "Cancel the task"))
			if len(others) > 0 {
				assert.Assert(t, cmp.Contains(got.Other, "other: done after 2 s"))
			}
			assert.Assert(t, cmp.Contains(got.Unknown, "-32602"))
		})
	}
}

// A JSON-RPC error is shown as such, and a refusal of a tool names who refuses it.
func TestWebErrors(t *testing.T) {
	server := pageServer(t, "Echoes.")
	w := openWeb(t, newNodeBench(t), append([]string{"--"}, server...)...)
	failure := func(code int, data string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"code":%d,"message":"<b>no</b>","data":%s}`, code, data))
	}
	var got struct {
		Shown                map[string]string
		Hacked               int
		Message, Portability string
		Badges               []string
		Findings1            []string
	}
	w.seeIn("webcalls.mjs", "errors", map[string]any{"server": filepath.Base(server[0]),
		"failures": map[string]any{
			"params":     failure(-32602, `{"uri":"file:///a"}`),
			"header":     failure(-32020, `null`),
			"capability": failure(-32021, `{"requiredCapabilities":{"sampling":{},"extensions":{"a.b/c":{}}}}`),
			"version":    failure(-32022, `{"supported":["2025-11-25","2024-11-05"],"requested":"2026-07-28"}`),
			"odd":        failure(-32021, `[{"requiredCapabilities":7}]`),
			"own":        failure(-32050, `"what"`),
			"other":      failure(7, `{"n":1}`),
		}}, &got)
	for name, want := range map[string][]string{
		"params":     {"Invalid params", "-32602", "resource", "file:///a", "<b>no</b>"},
		"header":     {"Header mismatch", "List the tools again"},
		"capability": {"The server says: <b>no</b>", "Missing client capability", "extensions a.b/c, sampling"},
		"version":    {"Unsupported protocol version", "2025-11-25, 2024-11-05", "2026-07-28"},
		"odd":        {"Missing client capability", `"requiredCapabilities": 7`},
		"own":        {"Server error", `"what"`}, "other": {"JSON-RPC error 7", `"n": 1`},
	} {
		for _, text := range want {
			assert.Check(t, cmp.Contains(got.Shown[name], text), name)
		}
	}
	assert.Equal(t, got.Hacked, 0)
	assert.Assert(t, cmp.Contains(got.Message, "JSON-RPC error"))
	assert.Assert(t, slices.Contains(got.Badges, "excluded"), "%q", got.Badges)
	all := strings.Join(got.Findings1, "\n")
	for _, text := range []string{"OpenAI and Anthropic refuse it", "inputSchema.oneOf",
		"An array has no items", "a client must not offer it over HTTP"} {
		assert.Check(t, cmp.Contains(all, text))
	}
	assert.Assert(t, cmp.Contains(got.Portability, "Gemini has no such keyword"))
	assert.Assert(t, cmp.Contains(got.Portability, "inputSchema.properties.kind.const"))
}

// A tool is called many times, and stops with its panel.
func TestWebLoad(t *testing.T) {
	server := pageServer(t, "Echoes.")
	w := openWeb(t, newNodeBench(t), append([]string{"--"}, server...)...)
	var got struct {
		Done, Failed, Refused, Released string
	}
	w.seeIn("webcalls.mjs", "load", map[string]any{"server": filepath.Base(server[0])}, &got)
	for _, text := range []string{"calls\n200", "calls/s\n", "p50\n", "p99\n", "errors\n0"} {
		assert.Check(t, cmp.Contains(got.Done, text))
	}
	assert.Assert(t, cmp.Contains(got.Failed, "errors\n5"))
	assert.Assert(t, cmp.Contains(got.Failed, "5 ×\nJSON-RPC error -32602: no error is given"))
	assert.Assert(t, cmp.Contains(got.Refused, "the number of calls must be from 1 to 100000"))
	assert.Assert(t, cmp.Contains(got.Released, "Done"))
}

// Log messages are shown by level, logger and text, in both eras.
func TestWebLogs(t *testing.T) {
	eachEra(t, func(t *testing.T, era string) {
		path, err := everything()
		assert.NilError(t, err)
		w := openWeb(t, newNodeBench(t), "--era", era, "--", path)
		var got struct {
			All, Text []string
			Message   string
		}
		w.seeIn("webcalls.mjs", "logs", map[string]any{"server": "everything-server"}, &got)
		assert.Equal(t, len(got.All), 3, "%q", got.All)
		assert.Assert(t, cmp.Contains(got.All[0], "info"))
		assert.Assert(t, cmp.Contains(got.Text[0], "processing"))
		assert.Assert(t, cmp.Contains(got.Message, "notifications/message"))
	})
}

// HTTP requests to servers are listed, with bodies and without secrets.
func TestWebNetwork(t *testing.T) {
	eachEra(t, func(t *testing.T, era string) {
		path, err := everything()
		assert.NilError(t, err)
		b := newNodeBench(t)
		s := b.serving(path, "-http")
		w := openWeb(t, b, "--era", era, "--url", s.direct, "--header", "X-Key: hunter2")
		host := strings.TrimSuffix(strings.TrimPrefix(s.direct, "http://"), "/mcp")
		var got struct {
			Lines []string
			Open  string
		}
		w.seeIn("webcalls.mjs", "network", map[string]any{
			"server": strings.ReplaceAll(host, ":", "-")}, &got)
		all := strings.Join(got.Lines, "\n")
		assert.Assert(t, cmp.Contains(all, "200 OK"))
		if era == "legacy" { // the stream of the server, and a notification
			assert.Assert(t, cmp.Contains(all, "GET"))
			assert.Assert(t, cmp.Contains(all, "202 Accepted"))
		}
		assert.Assert(t, cmp.Contains(got.Open, "Body of the request"))
		assert.Assert(t, cmp.Contains(got.Open, `"jsonrpc":"2.0"`))
		assert.Assert(t, cmp.Contains(got.Open, "(not shown)"))
		assert.Assert(t, !strings.Contains(got.Open+all, "hunter2"))
	})
}

// HTML of a result is shown as text. Its preview neither runs scripts, nor fetches, nor leaves its
// frame.
func TestWebDocuments(t *testing.T) {
	server := pageServer(t, "Echoes.")
	w := openWeb(t, newNodeBench(t), append([]string{"--"}, server...)...)
	var got struct {
		Text, Shown, File      string
		Frames, Alone, Blocked int
		Other                  bool
	}
	w.seeIn("webcalls.mjs", "documents", map[string]any{"server": filepath.Base(server[0])}, &got)
	assert.Assert(t, cmp.Contains(got.Text, "<h1>Heading</h1>"))
	assert.Assert(t, cmp.Contains(got.Text, "application/pdf, 9 B"))
	assert.Equal(t, got.Frames, 0)
	assert.Assert(t, got.Other)
	assert.Equal(t, got.Shown, "before")
	assert.Assert(t, got.Blocked > 0)
	assert.Equal(t, got.File, "paper")
	assert.Equal(t, got.Alone, 403)
}

// No schema, question or result of a server keeps the page busy.
func TestWebHostileServer(t *testing.T) {
	server := pageServer(t, conformance.PageHostile)
	open := func(t *testing.T, scenario string, more map[string]any, into any) {
		w := openWeb(t, newNodeBench(t), append([]string{"--"}, server...)...)
		more["server"] = filepath.Base(server[0])
		w.seeIn("webcalls.mjs", scenario, more, into)
	}
	const tooLarge = "too large for a form"
	for _, tools := range [][]string{{"all", "array", "object"}, {"options", "prefix", "wide"},
		{"any", "cycle", "default", "more"}, {"pointer", "required", "texts", "values"}} {
		t.Run(tools[0], func(t *testing.T) {
			var got struct {
				Forms map[string]struct {
					Elements int
					Hint     string
				}
			}
			open(t, "hostileforms", map[string]any{"tools": tools}, &got)
			for _, name := range tools {
				f := got.Forms[name]
				t.Logf("%s: %d elements; %s", name, f.Elements, f.Hint)
				assert.Check(t, f.Elements > 0 && f.Elements < 60_000, name)
				small := name == "any" || name == "cycle" || name == "more"
				assert.Check(t, strings.Contains(f.Hint, tooLarge) != small, name)
			}
		})
	}
	t.Run("results", func(t *testing.T) {
		var got struct{ Elements, More int }
		open(t, "hostileresults", map[string]any{}, &got)
		assert.Assert(t, got.Elements < 60_000, "%d", got.Elements)
		assert.Equal(t, got.More, 150)
	})
	t.Run("questions", func(t *testing.T) {
		var got struct{ Edited, Refused, Question string }
		open(t, "hostile", map[string]any{}, &got)
		assert.Equal(t, strings.Join(strings.Fields(got.Edited), ""), `{"a":[[],[]]}`)
		assert.Assert(t, cmp.Contains(got.Refused, "$ref is not allowed in a form"))
		assert.Assert(t, cmp.Contains(got.Question, tooLarge))
	})
}
