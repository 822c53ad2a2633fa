package web

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// What overrides make of a definition is shown beside it, and not the values that they send.
func TestOverriddenDefinitions(t *testing.T) {
	list := []json.RawMessage{
		json.RawMessage(`{"name":"a","description":"Old.","inputSchema":{"type":"object","properties":{"p":{"type":"string"},"q":{"type":"string"}}}}`),
		json.RawMessage(`{"name":"b","inputSchema":{"type":"object"}}`),
		json.RawMessage(`{"name":"c","inputSchema":{"type":"object"}}`),
		json.RawMessage(`{"name":"d","inputSchema":{"type":"object"}}`)}
	all := &definitions{Lists: map[mcp.Kind][]definition{}}
	for _, text := range list {
		all.Lists[mcp.KindTool] = append(all.Lists[mcp.KindTool], definition{Definition: text})
	}
	all.override(mcp.KindTool, list, map[string]host.Override{
		"a": {Name: "z", Arguments: map[string]host.ArgumentOverride{
			"p": {Value: json.RawMessage(`"secret"`)}}},
		"b": {Hidden: true},
		"c": {Arguments: map[string]host.ArgumentOverride{"none": {Name: "x"}}}})
	got, err := json.Marshal(all.Lists[mcp.KindTool])
	assert.NilError(t, err)
	assert.Assert(t, !strings.Contains(string(got), "secret"), "%s", got)
	a, b, c, d := all.Lists[mcp.KindTool][0].Offered, all.Lists[mcp.KindTool][1].Offered,
		all.Lists[mcp.KindTool][2].Offered, all.Lists[mcp.KindTool][3].Offered
	assert.Equal(t, a.Name, "z")
	var paths []string
	for _, line := range a.Diff {
		paths = append(paths, line.Path)
	}
	assert.DeepEqual(t, paths, []string{"inputSchema.properties.p", "name"})
	assert.DeepEqual(t, b, &offered{Hidden: true})
	assert.Assert(t, c.Why != "", "%v", c)
	assert.Assert(t, d == nil)
}

// A finding is shown at the definition that it is about, of every kind.
func TestFindingsOfDefinitions(t *testing.T) {
	const hidden = `"description":"a\u200b\u200b\u200bb"`
	lists := map[mcp.Kind][]json.RawMessage{
		mcp.KindTool:             {json.RawMessage(`{"name":"a","inputSchema":{},` + hidden + `}`)},
		mcp.KindPrompt:           {json.RawMessage(`{"name":"a",` + hidden + `}`)},
		mcp.KindResource:         {json.RawMessage(`{"name":"a","uri":"x:/a",` + hidden + `}`)},
		mcp.KindResourceTemplate: {json.RawMessage(`{"name":"a","uriTemplate":"x:/{a}",` + hidden + `}`)},
	}
	all := &definitions{Lists: map[mcp.Kind][]definition{}}
	for kind, list := range lists {
		all.Lists[kind] = []definition{{Definition: list[0]}}
	}
	all.scan(scan.Server{ID: "s", Lists: lists})
	assert.Equal(t, len(all.Findings), 0)
	for kind, list := range all.Lists {
		assert.Assert(t, len(list[0].Findings) > 0, kind)
	}
}
