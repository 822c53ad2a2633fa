package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A legacy client that refuses a question sends the error itself, and the request ends with that
// error.
func TestLegacyClientAnswersWithAnError(t *testing.T) {
	s := everywhere(quiet, elicitName)
	inPlaces(t, func(t *testing.T, p place) {
		k := speak(t, s, "2025-11-25", everything)
		m := k.request(p.method, p.params)
		k.write(fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"the user is not there"}}`,
			m.ID))
		if p == places["operation"] {
			assert.Assert(t, strings.Contains(k.next().raw, `"code":"internal_error"`))
			return
		}
		k.next().fails(-1, "the user is not there")
	})
}

// Responses to unknown requests, and invalid messages, do not affect an open question.
func TestLegacyClientAnswersNonsense(t *testing.T) {
	s := everywhere(quiet, elicitName)
	k := speak(t, s, "2025-11-25", everything)
	k.check = nil // the refusals have no id
	p := places["tool"]
	m := k.request(p.method, p.params)
	k.write(`{"jsonrpc":"2.0","id":"no such","result":{"action":"accept","content":{"name":"evil"}}}`)
	k.write(`{"jsonrpc":"2.0","id":null,"result":{}}`)
	k.write(`{"jsonrpc":"2.0","method":"elicitation/create"}`)
	k.write(fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"A"}}}`, m.ID))
	for m = k.next(); m.Result == nil; m = k.next() {
		assert.Assert(t, m.Error != nil, m.raw)
	}
	m.expectText(`accept {"name":"A","n":3}`)
	k.write(fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"late"}}}`, m.ID))
	k.expectNothing()
}

func TestAskingOutsideOfARequest(t *testing.T) {
	check := func(ctx context.Context) {
		t.Helper()
		_, err := elicitName(ctx)
		assert.ErrorIs(t, err, server.ErrNoRequest)
		_, err = server.Sample(ctx, "k", mcp.CreateMessageParams{})
		assert.ErrorIs(t, err, server.ErrNoRequest)
		_, err = server.Roots(ctx, "k")
		assert.ErrorIs(t, err, server.ErrNoRequest)
		_, err = server.Once(ctx, "k", func(context.Context) (int, error) { panic("it ran") })
		assert.ErrorIs(t, err, server.ErrNoRequest)
	}
	check(t.Context())
	o := quiet
	o.Middleware = []rpc.Middleware{func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, req *rpc.Request) (any, error) {
			check(ctx)
			return next(ctx, req)
		}
	}}
	o.Visible = func(ctx context.Context, _ mcp.Kind, key string) bool {
		if key != "p" { // prompts/list is not a request during which the client can be asked
			check(ctx)
		}
		return true
	}
	speak(t, made(o, func(s *server.Server) { must(t, s.AddResource(resource("x:1"))) }), newest,
		everything).request("resources/list", "")

	// One key is reserved for the server.
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		_, err := server.Roots(ctx, "confirm_operation")
		return fmt.Sprint(err), nil
	})
	speak(t, s, newest, everything).request("tools/call",
		`{"name":"t"}`).expectText(
		`server: the key "confirm_operation" is reserved for the confirmation of a call; use another key`)
}

// If a client cancels its request while it is being asked, the question is cancelled too, and the
// handler gets the reason.
func TestRequestIsCancelledWhileItsClientIsAsked(t *testing.T) {
	inPlaces(t, func(t *testing.T, p place) {
		ended := make(chan error, 1)
		var log bytes.Buffer
		s := everywhere(server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))},
			func(ctx context.Context) (string, error) {
				_, err := elicitName(ctx)
				ended <- errors.Join(err, context.Cause(ctx))
				return "", err
			})
		k := speak(t, s, "2025-11-25", everything)
		question := k.request(p.method, p.params).expectMethod("elicitation/create", "")
		k.write(fmt.Sprintf(
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, k.id))
		m := k.next().expectMethod("notifications/cancelled", "")
		assert.Assert(t, strings.Contains(m.raw, `"requestId":`+string(question.ID)), m.raw)
		err := <-ended
		assert.ErrorIs(t, err, rpc.ErrCancelled)
		k.reply(question, `{"action":"accept","content":{"name":"late"}}`)
		k.expectNothing()
		k.stream.Close()
		<-k.ended
		k.ended <- nil
		assert.Equal(t, log.String(), "") // no error is logged
	})
}

// If a client disconnects while it is being asked, no handler is left waiting.
func TestClientHangsUpWhileItIsAsked(t *testing.T) {
	ended := make(chan error, 1)
	s := everywhere(quiet, func(ctx context.Context) (string, error) {
		_, err := elicitName(ctx)
		ended <- err
		return "", err
	})
	k := speak(t, s, "2025-11-25", everything)
	k.request("tools/call", `{"name":"t"}`).expectMethod("elicitation/create", "")
	k.stream.Close()
	assert.ErrorIs(t, <-ended, rpc.ErrClosed)
}

// An unanswered question is not a failure and is not logged.
func TestAskingIsNotLogged(t *testing.T) {
	var log bytes.Buffer
	s := everywhere(server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, elicitName)
	inPlaces(t, func(t *testing.T, p place) {
		speak(t, s, newest, everything).request(p.method, p.params).asks("name")
		speak(t, s, newest, `{}`).expectError(p.method, p.params, -32021, "elicitation")
		speak(t, s, "2025-11-25", `{}`).expectError(p.method, p.params, -32602, "elicitation")
	})
	assert.Equal(t, log.String(), "")
}

// A handler that continues without an answer returns its own result. That may be a mistake, because
// a legacy client is asked, so it is logged.
func TestHandlerNeedNotAsk(t *testing.T) {
	var log bytes.Buffer
	o := server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	s := everywhere(o, func(ctx context.Context) (string, error) {
		_, err := elicitName(ctx)
		return fmt.Sprint("fine: ", err), nil
	})
	inPlaces(t, func(t *testing.T, p place) {
		log.Reset()
		speak(t, s, newest, everything).request(p.method,
			p.params).expectText("fine: server: the client has not answered yet; return this error from the handler, which runs again with the answer")
		assert.Assert(t, strings.Contains(log.String(), "level=WARN") &&
			strings.Contains(log.String(), "the client is not asked"), &log)
	})
}

// A handler that returns an error of its own in place of the one of a pending question, as with %v
// in place of %w, asks all the same. The mistake is logged.
func TestHiddenQuestionIsAsked(t *testing.T) {
	for name, hide := range map[string]func(error) error{
		"%v":           func(err error) error { return fmt.Errorf("asking failed: %v", err) },
		"a code":       func(err error) error { return dispatch.Errorf(dispatch.NotFound, "no: %v", err) },
		"an rpc error": func(err error) error { return rpc.Errorf(-31000, "no: %v", err) },
	} {
		for _, show := range []bool{false, true} {
			var log bytes.Buffer
			o := server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), ShowErrors: show}
			s := everywhere(o, func(ctx context.Context) (string, error) {
				answer, err := elicitName(ctx)
				if err != nil {
					return "", hide(err)
				}
				return answer, nil
			})
			inPlaces(t, func(t *testing.T, p place) {
				log.Reset()
				k := speak(t, s, newest, everything)
				a := k.request(p.method, p.params).asks("name")
				assert.Assert(t, strings.Contains(log.String(), "wrap it with %w"), "%s: %s", name, &log)
				assert.Assert(t, !strings.Contains(log.String(), "level=ERROR"), "%s: %s", name, &log)
				assert.Equal(t, strings.Count(log.String(), "\n"), 1, "%s: %s", name, &log)
				log.Reset()
				k.again(p, a, `{"name":{"action":"accept","content":{"name":"A"}}}`).
					expectText(`accept {"name":"A","n":3}`)
				assert.Equal(t, log.String(), "")

				k = speak(t, s, "2025-11-25", everything)
				k.reply(k.request(p.method, p.params), `{"action":"accept","content":{"name":"A"}}`)
				k.next().expectText(`accept {"name":"A","n":3}`)
				// no question is pending
				m := speak(t, s, newest, `{}`).request(p.method, p.params)
				assert.Assert(t, !strings.Contains(m.raw, "input_required"), m.raw)
			})
		}
	}
}

// The same for a tool that reports the error in its result, and for an interceptor that sees the
// question as such.
func TestQuestionHiddenInAResultIsAsked(t *testing.T) {
	var seen []mcp.ResultType
	o := quiet
	o.Interceptors = []dispatch.Interceptor{func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
			result, err := next(ctx, i)
			seen = append(seen, result.(*server.Result).Type())
			return result, err
		}
	}}
	s := made(o)
	server.AddTool(s, mcp.Tool{Name: "t"},
		func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			answer, err := elicitName(ctx)
			if err != nil {
				return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(err.Error())},
					IsError: true}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(answer)}}, nil
		})
	k := speak(t, s, newest, everything)
	p := places["tool"]
	a := k.request(p.method, p.params).asks("name")
	k.again(p, a, `{"name":{"action":"accept","content":{"name":"A"}}}`).
		expectText(`accept {"name":"A","n":3}`)
	assert.DeepEqual(t, seen, []mcp.ResultType{mcp.ResultInputRequired, mcp.ResultComplete})
}
