//go:build unix

package client

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A message over the limit ends the connection and the server. The error names the message, and not
// the exit of the server.
func TestMessageOverLimitIsNoDeath(t *testing.T) {
	for limit, size := range map[int]int64{
		1 << 20: 5 << 20,   // it is read to its end
		100_000: 1_600_000, // it is not read to its end
	} {
		o := oneProbe
		o.Limits = limitFrame(limit)
		c, err := o.Spawn(t.Context(), fake("large"))
		assert.NilError(t, err)
		_, err = c.CallTool(t.Context(), "t", nil)
		large, ok := errors.AsType[*TooLargeError](err)
		assert.Assert(t, ok, "%v", err)
		assert.Equal(t, large.Limit, limit)
		assert.Assert(t, large.Size >= size && large.Size < 6<<20, "%d", large.Size)
		assert.ErrorIs(t, err, framing.ErrTooLarge)
		assert.ErrorIs(t, err, rpc.ErrClosed)
		_, exited := errors.AsType[*ExitError](err)
		assert.Assert(t, !exited, "%v", err)
		assert.ErrorContains(t, err,
			`server "x": tool "t": the connection broke: the server sent a message of `)
		assert.ErrorContains(t, err, ` (Options.Limits.MaxFrame)`)
		assert.ErrorIs(t, c.Wait(), framing.ErrTooLarge)
	}
}

// A result must be an object, whatever the request.
func TestResultThatIsNoObject(t *testing.T) {
	for _, result := range []string{`null`, `7`, `"fine"`, `[1]`, ` true `} {
		for method, call := range map[string]func(c *Client) error{
			mcp.MethodCallTool: func(c *Client) error {
				_, err := c.CallToolRaw(t.Context(), "t", nil)
				return err
			},
			"tools/call again": func(c *Client) error {
				_, err := c.CallTool(t.Context(), "t", nil)
				return err
			},
			mcp.MethodGetPrompt: func(c *Client) error {
				_, err := c.GetPrompt(t.Context(), "p", nil)
				return err
			},
			mcp.MethodReadResource: func(c *Client) error {
				_, err := c.ReadResource(t.Context(), "x:1")
				return err
			},
			mcp.MethodListTools: func(c *Client) error {
				for _, err := range c.Tools(t.Context()) {
					return err
				}
				return nil
			},
			"prompts/get again": func(c *Client) error {
				_, err := c.Call(t.Context(), mcp.MethodGetPrompt, json.RawMessage(`{"name":"p"}`))
				return err
			},
		} {
			for _, era := range []mcp.Era{mcp.Modern, mcp.Legacy} {
				c := connect(t, Options{Name: "up", Era: era}, func(s *scripted) {
					answer := discovered
					if era == mcp.Legacy {
						answer = initialized
					}
					s.reply(s.read(),
						strings.Replace(answer, `"capabilities":{`,
							`"capabilities":{"resources":{},"prompts":{},`, 1))
					for m := s.read(); m.line != ""; m = s.read() {
						s.reply(m, result)
					}
				})
				err := call(c)
				assert.Assert(t, err != nil, "%s of %s", result, method)
				assert.ErrorIs(t, err, rpc.ErrProtocol)
				assert.ErrorContains(t, err, `server "up": `)
				assert.ErrorContains(t, err, `: its result is not an object: `)
				shut(t, c)
			}
		}
	}
}
