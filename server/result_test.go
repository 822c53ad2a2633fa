package server_test

import (
	"context"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server"
)

// Middleware gets each result as a *Result, and what it encodes is what the client gets.
func TestMiddlewareEncodesResults(t *testing.T) {
	for _, revision := range []string{"2025-11-25", newest} {
		var seen *server.Result
		o := quiet
		o.Middleware = []rpc.Middleware{func(next rpc.Handler) rpc.Handler {
			return func(ctx context.Context, req *rpc.Request) (any, error) {
				result, err := next(ctx, req)
				if req.IsNotification() {
					return result, err
				}
				assert.NilError(t, err, req.Method)
				seen = result.(*server.Result)
				seen.JSON()
				_, err = seen.AppendJSON(nil)
				return result, err
			}
		}}
		k := speak(t, interceptedServer(t, o), revision, `{}`)
		for _, call := range []struct {
			method, params string
			isError        bool
		}{
			{"tools/list", `{}`, false},
			{"tools/call", `{"name":"a_op","arguments":{"n":1}}`, false},
			{"tools/call", `{"name":"a_op","arguments":{"n":-1}}`, true},
			{"tools/call", `{"name":"typed","arguments":{"n":1}}`, false},
			{"tools/call", `{"name":"typed","arguments":{"n":""}}`, true},
			{"tools/call", `{"name":"raw"}`, false},
			{"tools/call", `{"name":"forwarded"}`, true},
			{"prompts/get", `{"name":"prompt"}`, false},
			{"resources/read", `{"uri":"x:1"}`, false},
			{"resources/templates/list", `{}`, false},
		} {
			m := k.request(call.method, call.params)
			assert.Equal(t, string(m.Result), string(seen.JSON()), call.params)
			assert.Equal(t, seen.IsError(), call.isError, call.params)
		}
	}
}
