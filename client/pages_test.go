package client

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Pages contain every byte that the server wrote.
func TestPages(t *testing.T) {
	const page = `{"resultType":"complete", "resources":[ {"uri":"a:b","name":"b","x":1.0} ],"resourceTemplates":[],"prompts":[] }`
	c := connect(t, Options{}, func(s *scripted) {
		s.reply(s.read(),
			strings.Replace(discovered, `"capabilities":{`,
				`"capabilities":{"resources":{},"prompts":{},`, 1))
		s.serve(map[string]string{mcp.MethodListResources: page,
			mcp.MethodListResourceTemplates: page, mcp.MethodListPrompts: page})
	})
	for _, pages := range []iter.Seq2[json.RawMessage, error]{
		c.Integration().Pages(t.Context(), mcp.KindResource),
		c.Integration().Pages(t.Context(), mcp.KindResourceTemplate),
		c.Integration().Pages(t.Context(), mcp.KindPrompt)} {
		assert.Equal(t, names(pages, func(raw json.RawMessage) string { return string(raw) }), page)
	}
	c = connect(t, Options{}, (*scripted).modern)
	for _, pages := range []iter.Seq2[json.RawMessage, error]{
		c.Integration().Pages(t.Context(), mcp.KindResource),
		c.Integration().Pages(t.Context(), mcp.KindResourceTemplate),
		c.Integration().Pages(t.Context(), mcp.KindPrompt)} {
		for _, err := range pages {
			assert.ErrorIs(t, err, rpc.ErrMethodNotFound)
		}
	}
}

// A kind without a list method has neither pages nor definitions.
func TestKindsWithoutLists(t *testing.T) {
	c := connect(t, Options{}, (*scripted).modern)
	for _, kind := range []mcp.Kind{mcp.KindApp, "x"} {
		for _, all := range []iter.Seq2[json.RawMessage, error]{
			c.Integration().Pages(t.Context(), kind),
			c.Integration().Definitions(t.Context(), kind)} {
			n := 0
			for _, err := range all {
				n++
				assert.Error(t, err,
					fmt.Sprintf("client: no method lists items of the kind %q", kind))
			}
			assert.Equal(t, n, 1)
		}
	}
}
