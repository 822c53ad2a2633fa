//go:build linux

package conformance_test

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A refusal is a tool that a host refuses, in the output of schemas.mjs.
type refusal struct{ By, Tool, Why string }

// refusals returns the number of tools, and each refusal once.
func (b *bench) refusals(argument map[string]any) (tools int, refused []refusal) {
	b.t.Helper()
	script, err := os.ReadFile("node/schemas.mjs")
	assert.NilError(b.t, err)
	b.write("schemas.mjs", string(script))
	what, err := json.Marshal(argument)
	assert.NilError(b.t, err)
	o := b.must("node", "schemas.mjs", string(what))
	var got struct {
		Tools   int
		Refused []refusal
	}
	assert.NilError(b.t, json.Unmarshal([]byte(o.stdout), &got), "%v", o)
	slices.SortFunc(got.Refused, func(a, b refusal) int {
		return strings.Compare(a.By+a.Tool+a.Why, b.By+b.Tool+b.Why)
	})
	return got.Tools, slices.Compact(got.Refused)
}

const notStrict = "it is not converted to strict mode"

// Hosts and model providers accept every tool of the built-in server.
func TestSchemasOfBuiltinTools(t *testing.T) {
	b := newNodeBench(t)
	serve := []string{binary(t), "serve", "--root", b.dir, "--write", "--allow-exec",
		"--allow-eval"}
	for _, projection := range []string{"operation", "service"} {
		command := slices.Concat(serve, []string{"--tools", projection})
		tools, refused := b.refusals(map[string]any{"command": command})
		want := []refusal{}
		if projection == "service" { // the params of any action
			want = []refusal{{"openai", "fs", notStrict}, {"openai", "proc", notStrict}}
		}
		assert.Assert(t, tools >= 6, "%d", tools)
		assert.DeepEqual(t, refused, want)
		for _, era := range []string{"legacy", "modern"} {
			o := b.must(slices.Concat([]string{"mcp-inspector", "--cli", "--protocol-era", era,
				"--method", "tools/list", "--strict", "--"}, command)...)
			assert.Assert(t, !strings.Contains(o.stderr, "Error: tool"), "%v", o)
			assert.Assert(t, !strings.Contains(o.stderr, "is an array"), "%v", o)
		}
	}
}

type color int // defines its own schema

func (color) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"string","enum":["red","green"]}`)
}

func (color) MarshalText() ([]byte, error)  { return []byte("red"), nil }
func (*color) UnmarshalText(b []byte) error { return nil }

type node struct {
	Name     string `json:"name"`
	Parent   *node  `json:"parent,omitempty"`
	Children []node `json:"children"`
}

// They also accept the schemas of Go types, for input and output.
func TestSchemasOfGoTypes(t *testing.T) {
	b := newNodeBench(t)
	var tools []mcp.Tool
	for name, v := range map[string]any{
		"empty": struct{}{},
		"scalars": struct {
			A string  `json:"a" enum:"x,y" default:"x"`
			B *int    `json:"b" min:"1" max:"9"`
			C float64 `json:"c,omitempty"`
			D bool    `json:"d" doc:"Whether."`
			E int64   `json:"e,string"`
			F *color  `json:"f" doc:"Which."`
		}{},
		"text": struct {
			A time.Duration
			B time.Time
			C *url.URL
			D big.Int
			E netip.Addr
			F []byte
			G *color `default:"red"`
		}{},
		"lists": struct {
			A []string
			B [][]*int
			C [2]bool
			D *struct{ X *string }
			E []struct {
				X int
				Y *[]string
			}
		}{},
		"recursive": node{},
		"map":       struct{ A map[string]string }{},
		"by_number": struct{ A map[int]*color }{},
		"anything": struct {
			A any
			B json.RawMessage
		}{},
	} {
		in, err := schema.ForType(reflect.TypeOf(v))
		assert.NilError(t, err)
		out, err := schema.ForType(reflect.TypeOf(v), schema.Output)
		assert.NilError(t, err)
		tools = append(tools, mcp.Tool{Name: name, InputSchema: in, OutputSchema: out})
	}
	n, refused := b.refusals(map[string]any{"tools": tools})
	assert.Equal(t, n, len(tools))
	assert.DeepEqual(t, refused,
		[]refusal{{"openai", "by_number", notStrict}, {"openai", "map", notStrict}})

	// The exact form of the same schema is refused: the hosts do check it.
	exact, err := schema.For[struct {
		A map[int]string
		B *string
	}](schema.Exact)
	assert.NilError(t, err)
	_, refused = b.refusals(map[string]any{
		"tools": []mcp.Tool{{Name: "exact", InputSchema: exact}}})
	assert.Assert(t, slices.ContainsFunc(refused,
		func(r refusal) bool { return r.By == "rules" }), "%v", refused)
}
