package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Middleware finds the members of a request's params, and does not confuse them with those of other
// params.
func TestRequestParams(t *testing.T) {
	var j journal
	note := func(next rpc.Handler) rpc.Handler {
		return func(ctx context.Context, req *rpc.Request) (any, error) {
			p, _ := ctx.Value(contextkey.RequestParams{}).(interface {
				Of(params json.RawMessage) bool
				Param(name string) json.RawMessage
				MetaValue(key string) json.RawMessage
			})
			if p != nil {
				j.note("%s %v %s %s %s", req.Method, p.Of(req.Params), p.Param("uri"),
					p.MetaValue(mcp.MetaTraceparent), p.MetaValue("other"))
			} else {
				j.note("%s", req.Method)
			}
			return next(ctx, req)
		}
	}
	o := quiet
	o.Middleware = []rpc.Middleware{note,
		replaces("resources/read", func(next rpc.Handler) rpc.Handler {
			return func(ctx context.Context, req *rpc.Request) (any, error) {
				changed := *req
				changed.Params = json.RawMessage(
					strings.Replace(string(req.Params), "y:1", "x:r", 1))
				return next(ctx, &changed)
			}
		}), note}
	k := speak(t, made(o, completes), "2025-11-25", `{}`)
	k.expectNothing() // the notification of the handshake was handled
	j.take()
	k.want("resources/read", `{"uri":"y:1","_meta":{"traceparent":"T","other":1}}`,
		`{"contents":[{"uri":"x:r","mimeType":"text/plain","text":"of x:r"}]}`)
	k.want("ping", "", `{}`)
	k.write(`{"jsonrpc":"2.0","method":"notifications/unheard-of"}`)
	k.expectError("resources/read", `{"uri":"x:r","uri":"x:r"}`, -32602, "twice")
	assert.DeepEqual(t, j.take(), []string{
		`resources/read true "y:1" "T" `, `resources/read false "y:1" "T" `,
		"ping true   ", "ping true   ",
		"notifications/unheard-of", "notifications/unheard-of",
		`resources/read true "x:r"  `, `resources/read false "x:r"  `,
	})
}

// Middleware may call the next handler more than once, even concurrently.
func TestMiddlewareMayRepeat(t *testing.T) {
	o := quiet
	o.Middleware = []rpc.Middleware{
		replaces("resources/read", func(next rpc.Handler) rpc.Handler {
			return func(ctx context.Context, req *rpc.Request) (any, error) {
				done := make(chan error, 2)
				for range cap(done) {
					go func() {
						_, err := next(ctx, req)
						done <- err
					}()
				}
				for range cap(done) {
					if err := <-done; err != nil {
						return nil, err
					}
				}
				return next(ctx, req)
			}
		})}
	k := speak(t, made(o, completes), "2025-11-25", `{}`)
	for range 10 {
		k.want("resources/read", `{"uri":"x:r"}`,
			`{"contents":[{"uri":"x:r","mimeType":"text/plain","text":"of x:r"}]}`)
	}
}
