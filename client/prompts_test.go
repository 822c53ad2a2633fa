package client

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

func TestPrompts(t *testing.T) {
	s := newServer(server.Options{PageSize: 2})
	for i := range 5 {
		addPrompt(t, s, fmt.Sprint("p", i), say("Weather in "))
	}
	eras(t, func(t *testing.T, era mcp.Era) {
		c := connectTo(t, s, Options{Era: era})
		assert.Equal(t, names(c.Prompts(t.Context()), promptOf), "p0 p1 p2 p3 p4")
		got, err := c.GetPrompt(t.Context(), "p1", map[string]string{"city": "Oslo"})
		assert.NilError(t, err)
		assert.Equal(t, got.Messages[0].Content.(*mcp.TextContent).Text, "Weather in Oslo")
		_, err = c.GetPrompt(t.Context(), "p9", nil)
		assert.ErrorContains(t, err, `server "server": prompts/get "p9": `)
		assert.ErrorIs(t, err, rpc.ErrInvalidParams)
		completion, err := c.Complete(t.Context(),
			mcp.CompleteReference{Type: mcp.RefPrompt, Name: "p1"}, "city", "Os",
			map[string]string{"country": "NO"})
		assert.NilError(t, err)
		assert.DeepEqual(t, completion.Values, []string{"cityOsmap[country:NO]"})
	})
}
