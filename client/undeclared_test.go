package client

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// The client does not send requests for undeclared capabilities. Completion is older than its
// capability.
func TestUndeclared(t *testing.T) {
	for name, test := range map[string]struct {
		handshake func(*scripted)
		options   Options
		asked     string
	}{
		"modern": {(*scripted).modern, Options{}, ""},
		"legacy": {(*scripted).legacy, Options{}, ""},
		"oldest": {func(s *scripted) {
			s.reply(s.read(),
				`{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`)
			s.read()
		}, Options{Revision: mcp.Rev20241105}, "completion/complete"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			c, err := test.options.Connect(t.Context(), stream(func(s *scripted) {
				test.handshake(s)
				for m := s.read(); m.line != ""; m = s.read() {
					asked = append(asked, m.Method)
					assert.Check(t, !strings.Contains(string(m.Params), "settled"), m.line)
					s.reply(m, `{"completion":{"values":["Oslo"]}}`)
				}
			}))
			assert.NilError(t, err)
			ctx := t.Context()
			const sorry = "the server does not declare the capability "
			assert.Equal(t, names(c.Resources(ctx), uriOf), `server "server": resources/list: `+
				sorry+"resources, and was not asked")
			assert.Equal(t, names(c.ResourceTemplates(ctx), templateOf),
				`server "server": resources/templates/list: `+sorry+"resources, and was not asked")
			assert.Equal(t, names(c.Prompts(ctx), promptOf), `server "server": prompts/list: `+
				sorry+"prompts, and was not asked")
			_, read := c.ReadResource(ctx, "a:b")
			_, get := c.GetPrompt(ctx, "p", nil)
			for _, err := range []error{read, get} {
				assert.ErrorIs(t, err, rpc.ErrMethodNotFound)
				assert.ErrorIs(t, err.(*CallError).Err, ErrUndeclared)
			}
			_, complete := c.Complete(ctx, mcp.CompleteReference{Type: mcp.RefPrompt, Name: "p"},
				"a", "", map[string]string{"settled": "x"})
			if test.asked == "" {
				assert.ErrorIs(t, complete, rpc.ErrMethodNotFound)
			} else {
				assert.NilError(t, complete)
			}
			assert.NilError(t, c.Close())
			assert.Equal(t, strings.Join(asked, " "), test.asked)
		})
	}
}
