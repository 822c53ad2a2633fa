package client

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

type point struct {
	X int `json:"x"`
}

func TestCallAs(t *testing.T) {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "point.get", Summary: "Gets.", Type: dispatch.Read,
		Errors: []dispatch.Code{dispatch.NotFound}},
		func(_ context.Context, in point) (point, error) {
			if in.X == 0 {
				return in, dispatch.Errorf(dispatch.NotFound, "no such point")
			}
			return in, nil
		})
	s := server.New(server.Info{Name: "real", Version: "1"}, catalog)
	server.AddTool(s, mcp.Tool{Name: "typed"},
		func(_ context.Context, in point) (point, error) { return in, nil })
	server.AddTool(s, mcp.Tool{Name: "text"},
		func(context.Context, struct{}) (string, error) { return `{"x":3}`, nil })
	server.AddTool(s, mcp.Tool{Name: "silent"},
		func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	server.AddTool(s, mcp.Tool{Name: "failing"},
		func(context.Context, struct{}) (string, error) {
			return "", dispatch.Errorf(dispatch.StateError, "closed")
		})
	for _, revision := range mcp.Supported() {
		t.Run(string(revision), func(t *testing.T) {
			c := connectTo(t, s, Options{Name: "real", Revision: revision})
			ctx := t.Context()
			for _, tool := range []string{"point_get", "typed"} {
				got, err := CallAs[point](ctx, c, tool, point{2})
				assert.NilError(t, err)
				assert.Equal(t, got, point{2}, tool)
			}
			fromText, err := CallAs[point](ctx, c, "text", nil)
			assert.NilError(t, err)
			assert.Equal(t, fromText, point{3})
			text, err := CallAs[string](ctx, c, "text", nil)
			assert.NilError(t, err)
			assert.Equal(t, text, `{"x":3}`)
			raw, err := CallAs[json.RawMessage](ctx, c, "typed", point{4})
			assert.NilError(t, err)
			assert.Equal(t, string(raw), `{"x":4}`)

			_, err = CallAs[point](ctx, c, "point_get", point{})
			failure, ok := errors.AsType[*ToolError](err)
			assert.Assert(t, ok, "%v", err)
			assert.Equal(t, failure.Code, "not_found")
			assert.Error(t, err, `server "real": tool "point_get": not_found: no such point`)
			_, err = CallAs[string](ctx, c, "failing", nil)
			assert.Error(t, err, `server "real": tool "failing": closed`)
			_, err = CallAs[point](ctx, c, "silent", nil)
			assert.Assert(t, cmp.ErrorContains(err, "neither structured content nor text"))
			_, err = CallAs[int](ctx, c, "typed", point{1})
			assert.Assert(t, cmp.ErrorContains(err, "the result cannot be decoded"))
			_, err = CallAs[int](ctx, c, "nothing", nil)
			_, ok = errors.AsType[*ToolError](err)
			assert.Assert(t, err != nil && !ok, "%v", err)
		})
	}
}
