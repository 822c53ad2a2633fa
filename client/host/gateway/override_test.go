package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/lockedbuffer"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A listedInput is the input of a tool of TestOverrides.
type listedInput struct {
	Path  []string `json:"path" doc:"Where to look."`
	Limit int      `json:"limit"`
	Root  string   `json:"root"`
}

// overrides are those of the server of overridden.
func overrides() map[string]host.Override {
	return map[string]host.Override{
		"list": {Name: "find", Title: "Find", Description: "Finds files.", Tags: []string{"files"},
			MaxResultSizeChars: 200_000,
			Annotations:        map[string]bool{"readOnlyHint": true},
			Arguments: map[string]host.ArgumentOverride{
				"path":  {Name: "where", Description: "Where."},
				"limit": {Default: json.RawMessage(`10`)},
				"root":  {Value: json.RawMessage(`"/srv"`)}}},
		"secret":                  {Hidden: true},
		"nothing":                 {Title: "No such tool"},
		"taken":                   {Name: "verbatim"},
		"bad":                     {Arguments: map[string]host.ArgumentOverride{"x": {Name: "y"}}},
		"prompt:greet":            {Name: "hello", Title: "Hello"},
		"resource:mem://a":        {Name: "A", Description: "The a."},
		"resource:mem://all/{x}":  {Title: "All of them"},
		"resource:mem://other{x}": {Title: "No such template"},
	}
}

// overridden adds the tools of overrides to the server, and returns it with overrides.
func (w *fixture) overridden(got *[]string) gateway.Upstream {
	w.t.Helper()
	w.readable()
	server.AddTool(w.up, mcp.Tool{Name: "list", Description: "Lists.",
		Meta: mcp.Meta{"k": json.RawMessage(`1.50`)}},
		func(ctx context.Context, in listedInput) (listedInput, error) {
			*got = append(*got, strings.Join(in.Path, " ")+" in "+in.Root)
			return in, nil
		})
	for _, name := range []string{"secret", "taken", "bad"} {
		w.add(name, reads(name))
	}
	s := w.server("up", w.era)
	s.Overrides = overrides()
	return s
}

// A client sees the items as the overrides say, and the server gets what its definitions say.
func TestOverrides(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		var got []string
		var log lockedbuffer.Buffer
		d := &auditWriter{room: -1}
		s := w.overridden(&got)
		w.gateway.Close()
		w.gateway = gateway.Options{Audit: d, AuditKey: auditKey,
			Logger: slog.New(slog.NewTextHandler(&log, nil))}.New(w.downstream)
		assert.NilError(t, w.gateway.Add(s))
		time.Sleep(settle)
		w.client(client.Options{Era: era}, func(c *client.Client) {
			definitions := map[string]json.RawMessage{}
			for _, kind := range []mcp.Kind{mcp.KindTool, mcp.KindPrompt, mcp.KindResource,
				mcp.KindResourceTemplate} {
				for text, err := range c.Integration().Definitions(t.Context(), kind) {
					assert.NilError(t, err)
					definitions[kind.KeyOf(text)] = text
				}
			}
			for key, members := range map[string]map[string]string{
				"up__find": {"title": `"Find"`, "description": `"[up] Finds files."`,
					"_meta": `{"k":1.50,"io.github.stdwire/tags":["files"],"anthropic/maxResultSizeChars":200000}`,
					"inputSchema": `{"type":"object","properties":{` +
						`"where":{"type":"array","description":"Where.","items":{"type":"string"}},` +
						`"limit":{"type":"integer","default":10}},"required":["where"],"additionalProperties":false}`,
					"annotations": `{"readOnlyHint":true}`},
				"up__hello":     {"title": `"Hello"`},
				"mem://a":       {"name": `"A"`, "description": `"The a."`},
				"mem://all/{x}": {"name": `"all"`, "title": `"All of them"`},
				"up__verbatim":  {"description": `"[up] Does it."`},
			} {
				for member, want := range members {
					got := string(jsonscan.Member(definitions[key], member))
					assert.Check(t, cmp.Equal(got, want), "%s %s", key, member)
				}
				assert.Check(t, definitions[key] != nil, key)
				delete(definitions, key)
			}
			assert.Equal(t, len(definitions), 0, "%s", definitions)

			call := func(name, arguments string) (json.RawMessage, error) {
				return c.CallToolRaw(t.Context(), name, json.RawMessage(arguments))
			}
			raw, err := call("up__find", `{"where":["a"]}`)
			assert.NilError(t, err)
			assert.Equal(t, string(jsonscan.Member(raw, "structuredContent")),
				`{"path":["a"],"limit":10,"root":"/srv"}`)
			assert.DeepEqual(t, got, []string{"a in /srv"})
			sent := `{"path":["a"],"root":"/srv","limit":10}`
			audited := `{"server":"up","tool":"list","offered_as":"up__find","arguments":[` +
				`{"name":"path","type":"array","size":5},{"name":"root","type":"string","size":6},` +
				`{"name":"limit","type":"number","size":2}],"arguments_size":39,"arguments_hmac":"` +
				sum(`{"limit":10,"path":["a"],"root":"/srv"}`) + `","duration_ms":0,"outcome":"ok"`
			assert.Equal(t, len(sent), 39)
			line := d.take(t)[0]
			assert.Assert(t, strings.HasPrefix(line, audited), "%s\n%s", line, audited)

			_, err = call("up__find", `{"where":["a",7]}`)
			assert.ErrorContains(t, err, `invalid arguments: where[1] must be a string`)
			_, err = call("up__find", `{"where":["a"],"root":"/"}`)
			assert.ErrorContains(t, err, `it has no argument "root": leave it out`)
			_, err = call("up__find", `{"path":["a"]}`)
			assert.ErrorContains(t, err, `it has no argument "path": it is called "where" here`)
			for _, line := range d.take(t) {
				assert.Assert(t, cmp.Contains(line, `"tool":"list","offered_as":"up__find"`))
				assert.Assert(t, cmp.Contains(line, `"outcome":"refused","refused_by":"override"`))
			}
			for _, absent := range []string{"up__list", "up__secret", "up__taken", "up__bad"} {
				_, err = call(absent, `{}`)
				assert.ErrorContains(t, err, absent)
			}
			_, err = c.GetPrompt(t.Context(), "up__hello", map[string]string{"who": "Ada"})
			assert.NilError(t, err)
			assert.Assert(t, strings.HasPrefix(d.take(t)[0],
				`{"server":"up","prompt":"greet","offered_as":"up__hello",`))
			_, err = c.ReadResource(t.Context(), "mem://a")
			assert.NilError(t, err)
			assert.Equal(t, len(got), 1)
		})
		for _, want := range []string{`override=nothing`, `override=resource:mem://other{x}`} {
			assert.Equal(t, strings.Count(log.String(), want), 1, log.String())
		}
		withheld := map[string]string{}
		for _, item := range w.gateway.Withheld()["up"] {
			withheld[item.Name] = string(item.Reason) + ": " + item.Detail
		}
		assert.DeepEqual(t, withheld, map[string]string{
			"taken": `unusable: its public name "up__verbatim" is also that of "verbatim" of its server`,
			"bad":   `unusable: its override cannot be applied: arguments: "x": the tool has no such argument`})
	})
}

// What a server of stdwire says about arguments names them as callers do.
func TestOverridePointers(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		const problem = `{"errors":[{"path":"/own","reason":"bad"}]}`
		definition := func(name string) json.RawMessage {
			return json.RawMessage(
				`{"name":"` + name + `","inputSchema":{"type":"object","properties":{"own":{}}}}`)
		}
		assert.NilError(t, w.up.Integration().AddItem(defined(definition("error"),
			func(context.Context, json.RawMessage) (json.RawMessage, error) {
				failure := rpc.Errorf(rpc.CodeInvalidParams, "no")
				failure.Data = json.RawMessage(problem)
				return nil, failure
			})))
		assert.NilError(t, w.up.Integration().AddItem(defined(definition("result"),
			gives(`{"content":[],"structuredContent":{"error":{"message":"invalid: own bad","details":`+
				problem+`}},"isError":true}`))))
		s := w.server("up", w.era)
		o := host.Override{Arguments: map[string]host.ArgumentOverride{"own": {Name: "public"}}}
		s.Overrides = map[string]host.Override{"error": o, "result": o}
		w.reopen(gateway.Options{}, s)
		w.client(client.Options{Era: era}, func(c *client.Client) {
			public := strings.ReplaceAll(problem, "own", "public")
			_, err := c.CallToolRaw(t.Context(), "up__error", json.RawMessage(`{"public":1}`))
			failure, ok := errors.AsType[*rpc.Error](err)
			assert.Assert(t, ok, "%v", err)
			assert.Equal(t, string(failure.Data), public)
			raw, err := c.CallToolRaw(t.Context(), "up__result", json.RawMessage(`{"public":1}`))
			assert.NilError(t, err)
			assert.Assert(t, cmp.Contains(string(raw), `"details":`+public))
		})
	})
}

// Pins hold the server's own definitions: an override changes none of them, and a change of the
// server's is noticed whatever the override hides. The remembered lists are offered overridden too.
func TestOverridesPinsAndCache(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		dir := t.TempDir()
		o := gateway.Options{Logger: quiet, PinFile: filepath.Join(dir, "pins"),
			CacheDir: filepath.Join(dir, "cache")}
		s := w.server("up", w.era)
		s.Digest = "d"
		w.reopen(o, s)
		for _, description := range []string{"Mine.", "Mine too."} {
			s.Overrides = map[string]host.Override{"verbatim": {Name: "v", Description: description}}
			w.reopen(o, s)
			w.client(client.Options{Era: era}, func(c *client.Client) {
				assert.DeepEqual(t, w.names(c), []string{"up__v"})
				_, err := c.CallToolRaw(t.Context(), "up__v", nil)
				assert.NilError(t, err)
			})
		}
		assert.Equal(t, len(w.gateway.Withheld()), 0)
		w.up.Remove(mcp.KindTool, "verbatim")
		assert.NilError(t, w.up.Integration().AddItem(forwarded(mcp.Tool{Name: "verbatim",
			Description: "Something else."}, reads("x"))))
		time.Sleep(settle)
		assert.Equal(t, w.gateway.Withheld()["up"][0].Reason, gateway.ReasonChanged)
	})
}

// Operations have the overridden names, arguments and hints too.
func TestOverrideOfOperation(t *testing.T) {
	asOperations(t, gateway.Options{}, func(s *gateway.Upstream) {
		s.Overrides = map[string]host.Override{"verbatim": {Name: "v",
			Annotations: map[string]bool{"readOnlyHint": true}},
			"echo": {Arguments: map[string]host.ArgumentOverride{"a": {Name: "b"},
				"h": {Value: json.RawMessage(`1`)}}}}
	}, func(t *testing.T, w *fixture, c *dispatch.Catalog, call func(_, _ string) string) {
		assert.NilError(t, w.up.Integration().AddItem(defined(json.RawMessage(
			`{"name":"echo","inputSchema":{"type":"object","properties":{"a":{},"h":{}},"required":["a","h"]}}`),
			func(_ context.Context, arguments json.RawMessage) (json.RawMessage, error) {
				return text("%s", arguments), nil
			})))
		time.Sleep(settle)
		assert.DeepEqual(t, operationNames(c), []string{"up.echo", "up.v"})
		op, _ := c.Lookup("up.v")
		assert.Equal(t, op.Spec().Type, dispatch.Read)
		assert.Assert(t, cmp.Contains(call("up.echo", `{"b":1.50}`), `{\"a\":1.50,\"h\":1}`))
		assert.Assert(t, cmp.Contains(call("up.echo", `{}`), `"property":"b"`))
		assert.Assert(t, cmp.Contains(call("up.echo", `{"b":1,"h":2}`), `"refused_by":"override"`))
	})
}

// A hidden resource is not read: neither by its URI, nor by a template, nor by a tool.
func TestHiddenResources(t *testing.T) {
	inEveryEra(t, func(t *testing.T, w *fixture, era mcp.Era) {
		w.readable()
		s := w.server("up", w.era)
		s.AsTools = true
		s.Overrides = map[string]host.Override{"resource:mem://a": {Hidden: true},
			"resource:mem://all/{x}": {Hidden: true}}
		w.reopen(gateway.Options{}, s)
		w.client(client.Options{Era: era}, func(c *client.Client) {
			for _, uri := range []string{"mem://a", "mem://all/7"} {
				_, err := c.ReadResource(t.Context(), uri)
				assert.ErrorContains(t, err, "not found", uri)
				raw, err := c.CallToolRaw(t.Context(), "up__read_resource",
					map[string]string{"uri": uri})
				assert.Assert(t, err != nil || strings.Contains(string(raw), "not found"), "%s", raw)
			}
		})
	})
}
