package web

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

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
