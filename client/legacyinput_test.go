package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// ask sends a request of the server.
func (s *scripted) ask(id int, method, params string) {
	s.send(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
}

const formParams = `{"message":"?","requestedSchema":` + nameForm + `}`

// The responses to input requests of a legacy server do not contain the error of a callback.
func TestLegacyInputRequests(t *testing.T) {
	elicits := func(r *mcp.ElicitResult, err error) Options {
		return Options{OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult,
			error) {
			return r, err
		}}
	}
	const sorry = `"error":{"code":-32603,"message":"Internal error: the client could not answer"}`
	for name, test := range map[string]struct {
		o              Options
		method, params string
		want, log      string
	}{
		"accepted": {Options{OnElicit: accept("{\n\"name\":\"Ada\"}")}, "elicitation/create",
			formParams, `"result":{"action":"accept","content":{"name":"Ada","size":"M"}}`, ""},
		"declined": {elicits(&mcp.ElicitResult{Action: "decline"}, nil),
			"elicitation/create", formParams, `"result":{"action":"decline"}`, ""},
		"does not fit": {Options{OnElicit: accept(`{"name":7}`)}, "elicitation/create",
			formParams, sorry, "name must be a string"},
		"fails": {elicits(nil, errors.New("secret")), "elicitation/create", formParams,
			sorry, "secret"},
		"refuses": {elicits(nil, rpc.Errorf(-1, "User rejected")), "elicitation/create",
			formParams, `"error":{"code":-1,"message":"User rejected"}`, ""},
		"another's error": {elicits(nil, fmt.Errorf("x: %w", rpc.Errorf(-1, "secret"))),
			"elicitation/create", formParams, sorry, "secret"},
		"a mode not declared": {elicits(nil, nil), "elicitation/create",
			`{"mode":"url","message":"?","url":"https://x"}`,
			`"error":{"code":-32602,"message":"Invalid params: this client does not elicit in the mode \"url\""}`,
			""},
		"not flat": {elicits(nil, nil), "elicitation/create",
			`{"message":"?","requestedSchema":{"type":"object","properties":{"x":{"$ref":"#"}}}}`,
			`"error":{"code":-32602,"message":"Invalid params: requestedSchema: \"x\": $ref is not allowed in a form`,
			""},
		"wrong params": {elicits(nil, nil), "elicitation/create", `{"message":7}`,
			`"error":{"code":-32602,"message":"Invalid params: message: want a string`, ""},
		"panics": {Options{
			OnSample: func(context.Context, mcp.CreateMessageParams) (*mcp.CreateMessageResult,
				error) {
				panic("boom")
			}},
			"sampling/createMessage", `{"messages":[],"maxTokens":1}`, sorry,
			"callback=OnSample panic=boom"},
		"no callback": {Options{}, "sampling/createMessage", `{"messages":[],"maxTokens":1}`,
			`"error":{"code":-32601,"message":"Method not found: this client does not serve sampling/createMessage"}`,
			""},
		"unknown": {elicits(nil, nil), "elicitation/dream", `{}`, `"error":{"code":-32601,`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			test.o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			answer := make(chan message, 1)
			c := connect(t, test.o, func(s *scripted) {
				s.legacy()
				s.ask(7, test.method, test.params)
				answer <- s.read()
			})
			got := <-answer
			assert.Assert(t, strings.Contains(got.line, test.want), got.line)
			shut(t, c)
			assert.Equal(t, log.Len() > 0, test.log != "")
			assert.Assert(t, strings.Contains(log.String(), test.log), log.String())
		})
	}
}

// Questions are answered concurrently, the call that they belong to continues, and a cancelled
// question gets no answer.
func TestAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		o := Options{CallTimeout: time.Minute,
			OnElicit: func(ctx context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
				if p.Message == "hang" {
					<-ctx.Done()
					cause = context.Cause(ctx)
					return nil, ctx.Err()
				}
				time.Sleep(time.Second)
				return accept(`{"name":"Ada"}`)(ctx, p)
			}}
		answered := 0
		began := time.Now()
		c, err := o.Connect(t.Context(), stream(func(s *scripted) {
			s.legacy()
			call := s.read()
			s.ask(1, "elicitation/create", strings.Replace(formParams, "?", "hang", 1))
			for id := range 100 {
				s.ask(id+2, "elicitation/create", formParams)
			}
			for range 100 {
				assert.Check(t, strings.Contains(s.read().line, `"action":"accept"`))
				answered++
			}
			s.notify("notifications/cancelled", `{"requestId":1}`)
			s.reply(call, done)
			s.hold()
		}))
		assert.NilError(t, err)
		_, err = c.CallTool(t.Context(), "t", nil)
		assert.NilError(t, err)
		assert.Equal(t, time.Since(began), time.Second)
		assert.Equal(t, answered, 100)
		synctest.Wait()
		assert.ErrorIs(t, cause, rpc.ErrCancelled)
		shut(t, c)
	})
}

// A callback that waits for the user is cancelled when the connection ends, and delays only Wait.
func TestAskedAndGone(t *testing.T) {
	for name, end := range map[string]func(c *Client, s *scripted){
		"closed":  func(c *Client, _ *scripted) { c.Close() },
		"hung up": func(_ *Client, s *scripted) { s.out.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cause error
				o := Options{OnElicit: func(ctx context.Context,
					p mcp.ElicitParams) (*mcp.ElicitResult, error) {
					<-ctx.Done()
					cause = context.Cause(ctx)
					return nil, ctx.Err()
				}}
				var server *scripted
				c, err := o.Connect(t.Context(), stream(func(s *scripted) {
					server = s
					s.legacy()
					s.ask(1, "elicitation/create", formParams)
					s.hold()
				}))
				assert.NilError(t, err)
				synctest.Wait()
				end(c, server)
				_ = c.Wait()
				assert.ErrorIs(t, cause, rpc.ErrClosed)
			})
		})
	}
}
