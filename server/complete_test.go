package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// suggests is a Completer that returns its arguments.
func suggests(_ context.Context, argument, typed string, settled map[string]string) (mcp.Completion,
	error) {
	encoded, err := json.Marshal(settled)
	return mcp.Completion{Values: []string{argument, typed, string(encoded)}}, err
}

func completes(s *server.Server) {
	p := recites("p")
	p.Complete = suggests
	template := echoes("x:{a}/{b}")
	template.Complete = suggests
	if err := errors.Join(s.AddPrompt(p), s.AddPrompt(recites("silent")),
		s.AddResourceTemplate(template), s.AddResourceTemplate(echoes("y:{a}")),
		s.AddResource(resource("x:r"))); err != nil {
		panic(err)
	}
}

func TestCompletion(t *testing.T) {
	s := made(quiet, completes)
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		for params, want := range map[string]string{
			`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"lang","value":"py"}}`:                                              `["lang","py","null"]`,
			`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"lang","value":""},"context":{"arguments":{"a":"1","b":"\u00e9"}}}`: `["lang","","{\"a\":\"1\",\"b\":\"é\"}"]`,
			`{"ref":{"type":"ref/prompt","name":"p","title":"P"},"argument":{"name":"l","value":"x"},"context":{}}`:                         `["l","x","null"]`,
			`{"ref":{"type":"ref/resource","uri":"x:{a}/{b}"},"argument":{"name":"b","value":"1"},"context":{"arguments":{"a":"0"}}}`:       `["b","1","{\"a\":\"0\"}"]`,
			`{"ref":{"type":"ref/prompt","name":"silent"},"argument":{"name":"l","value":"x"}}`:                                             `[]`,
			`{"ref":{"type":"ref/resource","uri":"y:{a}"},"argument":{"name":"a","value":"x"}}`:                                             `[]`,
			`{"ref":{"type":"ref/resource","uri":"x:r"},"argument":{"name":"a","value":"x"}}`:                                               `[]`,
		} {
			k.want("completion/complete", params, `{"completion":{"values":`+want+`}}`)
		}
		for params, want := range map[string]string{
			`{"ref":{"type":"ref/prompt","name":"q"},"argument":{"name":"l","value":"x"}}`:                            `Unknown prompt: q`,
			`{"ref":{"type":"ref/resource","uri":"z:{a}"},"argument":{"name":"l","value":"x"}}`:                       `Unknown resource template: z:{a}`,
			`{"ref":{"type":"ref/tool","name":"p"},"argument":{"name":"l","value":"x"}}`:                              `ref.type "ref/tool"`,
			`{"argument":{"name":"l","value":"x"}}`:                                                                   `ref`,
			`{"ref":{"type":"ref/prompt","name":"p"}}`:                                                                `argument`,
			`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"value":"x"}}`:                                       `argument`,
			`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"l","value":7}}`:                              `value`,
			`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"l","name":"m","value":"x"}}`:                 `name`,
			`{"ref":"p","argument":{"name":"l","value":"x"}}`:                                                         `ref`,
			`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"l","value":"x"},"context":{"arguments":[]}}`: `arguments`,
		} {
			k.expectError("completion/complete", params, -32602, want)
		}
		k.request("completion/complete", "").fails(-32602, "Invalid params")
	})
}

func TestCompletionsAreCapped(t *testing.T) {
	all := make([]string, 250)
	for i := range all {
		all[i] = fmt.Sprint("v", i)
	}
	kept := slices.Clone(all)
	var c mcp.Completion
	s := made(quiet, func(s *server.Server) {
		p := recites("p")
		p.Complete = func(context.Context, string, string, map[string]string) (mcp.Completion,
			error) {
			return c, nil
		}
		must(t, s.AddPrompt(p))
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		for name, tc := range map[string]struct {
			completion mcp.Completion
			values     int
			rest       string
		}{
			"many": {mcp.Completion{Values: all}, 100, `,"total":250,"hasMore":true`},
			"many of more": {mcp.Completion{Values: all, Total: new(int64(1000))}, 100,
				`,"total":1000,"hasMore":true`},
			"101": {mcp.Completion{Values: all[:101]}, 100,
				`,"total":101,"hasMore":true`},
			"as many as may": {mcp.Completion{Values: all[:100]}, 100, ``},
			"few of more": {mcp.Completion{Values: all[:2], Total: new(int64(5)), HasMore: true},
				2, `,"total":5,"hasMore":true`},
			"none at all": {mcp.Completion{}, 0, ``},
		} {
			t.Run(name, func(t *testing.T) {
				c = tc.completion
				values, _ := json.Marshal(append([]string{}, tc.completion.Values[:tc.values]...))
				k.want("completion/complete",
					`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"l","value":""}}`,
					`{"completion":{"values":`+string(values)+tc.rest+`}}`)
			})
		}
	})
	assert.DeepEqual(t, all, kept)
}

func TestCompletionFailures(t *testing.T) {
	s := made(quiet, func(s *server.Server) {
		for name, f := range failures {
			p := recites(name)
			p.Complete = func(ctx context.Context, _, _ string,
				_ map[string]string) (mcp.Completion, error) {
				if _, err := server.Roots(ctx, "r"); !errors.Is(err, server.ErrNoRequest) {
					panic("a completion may not ask its client")
				}
				return mcp.Completion{}, f.fail()
			}
			must(t, s.AddPrompt(p))
		}
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{"roots":{}}`)
		for name, f := range failures {
			m := k.request("completion/complete",
				fmt.Sprintf(`{"ref":{"type":"ref/prompt","name":%q},"argument":{"name":"l","value":""}}`,
					name))
			if name == "nothing" {
				m.is(k, `{"completion":{"values":[]}}`)
				continue
			}
			m.fails(f.code, f.text)
			assert.Assert(t, !strings.Contains(m.raw, "secret"), m.raw)
		}
	})
}
