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

// byHand returns a server with a tool that asks two questions in two rounds, and counts the rounds
// in the state.
func byHand(t *testing.T, rounds int) *server.Server {
	s := quiet.New(server.Info{Name: "test", Version: "1.2"}, dispatch.NewCatalog())
	assert.NilError(t,
		s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "ask"},
			Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
				answers, state := server.Inputs(ctx)
				if len(state) < rounds {
					question, err := mcp.NewInputRequest(mcp.MethodElicit,
						mcp.ElicitParams{Message: "Round " + state,
							RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
					assert.NilError(t, err)
					return nil, server.RequireInput(ctx,
						mcp.InputRequests{fmt.Sprint("q", len(state)): question}, state+"x")
				}
				text := state
				for i := range rounds {
					text += " " + string(answers[fmt.Sprint("q", i)])
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}},
					nil
			}}))
	return s
}

// legacyLink answers every question.
type legacyLink struct{ asked []string }

func (l *legacyLink) Notify(context.Context, string, any) error { return nil }
func (l *legacyLink) Call(_ context.Context, method string, params, result any) error {
	text, err := params.(rpc.Appender).AppendJSON(nil)
	l.asked = append(l.asked, method+" "+string(text))
	*result.(*json.RawMessage) = json.RawMessage(
		fmt.Sprintf(`{"action":"accept","n":%d}`, len(l.asked)-1))
	return err
}

func TestQuestionsByHandInTheLegacyEra(t *testing.T) {
	for rounds, want := range map[int]string{
		2:  `xx {\"action\":\"accept\",\"n\":0} {\"action\":\"accept\",\"n\":1}`,
		20: `"code":-32603`} {
		link := &legacyLink{}
		c := byHand(t, rounds).Integration().NewConn(t.Context(), server.ConnOptions{Link: link})
		defer c.Close()
		ask := func(method, params string) string {
			response, _ := rpc.AppendResponse(t.Context(), nil,
				func(ctx context.Context, req *rpc.Request) (any, error) {
					return c.Handle(ctx, req, link)
				},
				&rpc.Request{ID: rpc.IntID(1), Method: method, Params: json.RawMessage(params)})
			return string(response)
		}
		ask("initialize",
			`{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}`)
		got := ask("tools/call", `{"name":"ask","_meta":{`+traceMeta+`}}`)
		assert.Assert(t, strings.Contains(got, want), got)
		assert.Equal(t, len(link.asked), min(rounds, 10))
		assert.Assert(t,
			strings.HasPrefix(link.asked[0],
				`elicitation/create {"_meta":{"baggage":"k=v","traceparent":"00-0af`),
			link.asked[0])
	}
}

// An operation that continues without an answer returns its own result.
func TestOperationGoesOnWithoutAnAnswer(t *testing.T) {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "note.find", Summary: "Find.", Type: dispatch.Read,
		Errors: []dispatch.Code{dispatch.NotFound}},
		func(ctx context.Context, _ struct{}) (string, error) {
			if _, err := server.Roots(ctx, "roots"); err == nil {
				return "asked", nil
			}
			return "", dispatch.Errorf(dispatch.NotFound, "nothing was found")
		})
	got := dial(t, quiet,
		c).ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note_find","_meta":{%s}}}`,
		modern)
	assert.Assert(t, strings.Contains(got, `"code":"not_found"`), got)
}

func TestQuestionsByHandMustBeOnesThatTheClientAnswers(t *testing.T) {
	for method, want := range map[string]string{
		mcp.MethodElicit: `"code":-32021`, mcp.MethodCreateMessage: `"code":-32021`,
		mcp.MethodListRoots: `"code":-32021`, mcp.MethodListTools: `"code":-32603`,
	} {
		s := quiet.New(server.Info{Name: "test", Version: "1"}, dispatch.NewCatalog())
		assert.NilError(t,
			s.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "ask"},
				Call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
					return nil, server.RequireInput(ctx,
						mcp.InputRequests{
							"q": {Method: method, Params: json.RawMessage(`{"message":"m"}`)}}, "")
				}}))
		c := s.Integration().Stateless("", mcp.Latest)
		response, _ := rpc.AppendResponse(t.Context(), nil,
			func(ctx context.Context, req *rpc.Request) (any, error) {
				return c.Handle(ctx, req, nil)
			},
			&rpc.Request{ID: rpc.IntID(1), Method: "tools/call",
				Params: json.RawMessage(`{"name":"ask","_meta":{` + modern + `}}`)})
		assert.Assert(t, strings.Contains(string(response), want), "%s: %s", method, response)
	}
}
