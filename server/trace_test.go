package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

const traceMeta = `"baggage":"k=v","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=b"`

func TestQuestionsByHandInTheModernEra(t *testing.T) {
	c := byHand(t, 2).Integration().Stateless("", mcp.Latest)
	more := ""
	for round := range 3 {
		response, err := rpc.AppendResponse(t.Context(), nil,
			func(ctx context.Context, req *rpc.Request) (any, error) {
				return c.Handle(ctx, req, nil)
			}, &rpc.Request{
				ID: rpc.IntID(1), Method: "tools/call",
				Params: json.RawMessage(`{"name":"ask","_meta":{` + elicits + `,` + traceMeta +
					`}` + more + `}`)})
		assert.NilError(t, err)
		if round == 2 {
			assert.Assert(t,
				strings.Contains(string(response),
					`xx {\"action\":\"accept\",\"n\":0} {\"action\":\"accept\",\"n\":1}`),
				string(response))
			return
		}
		got := decode(t, string(response))
		name := fmt.Sprint("q", round)
		assert.Equal(t, got.Requests[name].Params.Message, "Round "+strings.Repeat("x", round))
		assert.Assert(t,
			strings.Contains(string(response),
				`"_meta":{"baggage":"k=v","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=b"}`),
			string(response))
		more = fmt.Sprintf(`,"inputResponses":{%q:{"action":"accept","n":%d}},"requestState":%q`,
			name, round, got.State)
	}
}

func TestTraceReachesHandlers(t *testing.T) {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "trace", Summary: "Trace.", Type: dispatch.Read},
		func(ctx context.Context, _ struct{}) (mcp.Meta, error) {
			return server.MetaFrom(ctx), nil
		})
	l := dial(t, quiet, c)
	for meta, want := range map[string]string{
		"," + traceMeta:        `"data":{` + traceMeta + `}`,
		"":                     `"data":{}`,
		`,"traceparent":7`:     `"data":{}`,
		`,"baggage":"only it"`: `"data":{"baggage":"only it"}`,
	} {
		got := l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"trace","_meta":{%s%s}}}`,
			modern, meta)
		assert.Assert(t, strings.Contains(got, want), got)
	}
	assert.Assert(t, server.MetaFrom(t.Context()) == nil)
}
