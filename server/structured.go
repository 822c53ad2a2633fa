package server

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Structured is the result of a tool of [AddTool] whose content is not the JSON of its structured
// content:
//
//	server.AddTool(s, mcp.Tool{Name: "forecast"},
//		func(ctx context.Context, in Query) (server.Structured[Forecast], error) {
//			f := forecast(in)
//			return server.Structured[Forecast]{Value: f,
//				Content: []mcp.Content{mcp.Text(f.Summary())}}, nil
//		})
type Structured[T any] struct {
	Content []mcp.Content // for models; nil: the JSON of Value as text
	// Value is the structured content. The output schema is inferred from T, unless the tool has
	// one, and the encoding is that of [dispatch.New].
	Value T
}

// A structured is a Structured.
type structured interface {
	result() (mcp.CallToolResult, error)
	schema() (json.RawMessage, error)
}

func (s Structured[T]) result() (r mcp.CallToolResult, err error) {
	r.Content = s.Content
	if r.StructuredContent, err = resultCodec.Append(nil, &s.Value); err != nil {
		err = fmt.Errorf("encode the structured content: %w", err)
	}
	return r, err
}

// schema returns the output schema of the type, or nil if it allows everything.
func (Structured[T]) schema() (json.RawMessage, error) {
	inferred, err := schema.ForType(reflect.TypeFor[T](), schema.Output())
	if err != nil || string(inferred) == "{}" {
		return nil, err
	}
	return inferred, nil
}

// resultCodec encodes structured content as its inferred schema describes it.
var resultCodec = jsonexact.NewPortable()
