package server

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/projection"
	"github.com/stdwire/stdwire/server/internal/results"
)

// AddTool adds a tool whose function has Go types; it is a function because methods have no type
// parameters. It panics with the tool's name if the declaration is invalid or the name is taken, as
// http.ServeMux.Handle does; [NewTool] and [Server.AddRawTool] return an error instead.
//
//	server.AddTool(s, mcp.Tool{Name: "add", Description: "Adds two numbers."},
//		func(ctx context.Context, in struct{ A, B float64 }) (float64, error) {
//			return in.A + in.B, nil
//		})
//
// The input schema is inferred from In by [schema.For], unless t has one. The arguments are
// validated, their defaults are filled in, and they are decoded into In. Out determines the result:
//
//   - string: one block of text
//   - []mcp.Content: these blocks, such as those of [mcp.Text]
//   - *mcp.CallToolResult: this result; nil is an error
//   - struct{}: no content
//   - [Structured]: its Content, and its Value as structured content
//   - any other type, json.RawMessage included: structured content, and its JSON as text. The
//     output schema is inferred from Out, unless t has one.
//
// An error becomes a result with IsError, which the model sees. If the error is or wraps a
// [*dispatch.Error] or an [*rpc.Error], the text is the message of that error, without the text
// around it; for a [dispatch.Code] it is the summary of the code. The code itself is not part of
// the result. Otherwise it is a fixed text, because errors can contain secrets;
// [Options].ShowErrors changes that for a server, and [dispatch.ShowError] for one error. A panic
// has the same effect, with a fixed text. Content that the client's revision does not support is
// replaced by text or left out.
//
// fn may call [Elicit], [Sample], [Roots] and [Once], [dispatch.Progress], [dispatch.Logger] and
// [dispatch.Reserve]. Its context ends when the call is cancelled, or after the timeout of
// [dispatch.Options], whose interceptors also wrap fn. fn must be safe for concurrent use. The tool
// may become a task if t.Execution says so.
func AddTool[In, Out any](s *Server, t mcp.Tool, fn func(context.Context, In) (Out, error)) {
	tool, err := NewTool(t, fn)
	switch {
	case err != nil:
	case s.addedTools.Has(t.Name) || slices.ContainsFunc(s.catalog.Operations(),
		func(op *dispatch.Operation) bool { return projection.ToolName(op.Name()) == t.Name }):
		err = fmt.Errorf("server: tool %q: the name is taken", t.Name)
	default:
		err = s.AddRawTool(tool)
	}
	Must(err)
}

// NewTool returns the tool that [AddTool] would add.
func NewTool[In, Out any](t mcp.Tool, fn func(context.Context, In) (Out, error)) (RawTool, error) {
	if fn == nil {
		return RawTool{}, fmt.Errorf("server: tool %q: the function is nil", t.Name)
	}
	if !itemname.IsToolName(t.Name) {
		return RawTool{}, fmt.Errorf("server: tool %q: %w", t.Name, errToolName)
	}
	spec := dispatch.Spec{Name: t.Name, Summary: t.Description, Type: dispatch.Write, AnyCode: true,
		Input: t.InputSchema, Output: t.OutputSchema}
	if spec.Summary == "" {
		spec.Summary = t.Name // a tool needs no description
	}
	if t.Annotations.ReadOnly() {
		spec.Type = dispatch.Read
	}
	typed, err := &operationTool{}, error(nil)
	switch zero := any(*new(Out)).(type) {
	case string, struct{}:
		typed.form = results.FormText
		if zero == any(struct{}{}) {
			typed.form = results.FormEmpty
		}
		if spec.Output != nil {
			err = fmt.Errorf("a result of type %T has no structured content for an OutputSchema", zero)
			break
		}
		typed.op, err = dispatch.NewOperation(spec, fn)
	case []mcp.Content, *mcp.CallToolResult, structured:
		typed.form = results.FormComplete
		var output *schema.Schema
		if spec.Output != nil {
			output, err = schema.Compile(spec.Output)
		} else if s, ok := zero.(structured); ok {
			if reflect.TypeFor[Out]().Kind() == reflect.Pointer {
				err = fmt.Errorf("a result of type %T must not be a pointer", zero)
				break
			}
			if t.OutputSchema, err = s.schema(); err != nil {
				err = fmt.Errorf("output schema: %w", err)
			}
		}
		spec.Output = nil
		if err == nil {
			typed.op, err = dispatch.NewOperation(spec, encodeComplete(fn, output))
		}
	default:
		typed.form = results.FormStructured
		if typed.op, err = dispatch.NewOperation(spec, fn); err == nil {
			t.OutputSchema = typed.op.Spec().Output
		}
	}
	if err != nil {
		return RawTool{}, fmt.Errorf("server: tool %q: %w", t.Name, err)
	}
	t.InputSchema = typed.op.Spec().Input
	tool := RawTool{Tool: t, typed: typed}
	if t.Execution != nil {
		tool.Tasks = t.Execution.TaskSupport
	}
	return tool, nil
}

// encodeComplete returns a function that calls fn and encodes its result, which is []mcp.Content,
// *mcp.CallToolResult or Structured, as JSON.
func encodeComplete[In, Out any](fn func(context.Context, In) (Out, error),
	output *schema.Schema) func(context.Context, In) (json.RawMessage, error) {
	return func(ctx context.Context, in In) (json.RawMessage, error) {
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		var result mcp.CallToolResult
		switch out := any(out).(type) {
		case []mcp.Content:
			result.Content = out
		case *mcp.CallToolResult:
			if out == nil {
				return nil, errNoResult
			}
			result = *out // the function may return a shared result
		case structured:
			if result, err = out.result(); err != nil {
				return nil, err
			}
		}
		if output != nil && !result.IsError {
			if err := output.Validate(result.StructuredContent); err != nil {
				return nil, fmt.Errorf("the result breaks the output schema: %w", err)
			}
		}
		result.ResultType = ""
		if result.Content == nil {
			result.Content = []mcp.Content{}
			if result.StructuredContent != nil {
				result.Content = append(result.Content, mcp.Text(string(result.StructuredContent)))
			}
		}
		return mcp.Marshal(&result)
	}
}

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
	// one, and the encoding is that of [dispatch.NewOperation].
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
	inferred, err := schema.ForType(reflect.TypeFor[T](), schema.Output)
	if err != nil || string(inferred) == "{}" {
		return nil, err
	}
	return inferred, nil
}

// resultCodec encodes structured content as its inferred schema describes it.
var resultCodec = jsonexact.NewPortable()
