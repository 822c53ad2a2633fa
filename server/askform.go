package server

import (
	"context"
	"fmt"
	"reflect"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// formCodec decodes answers in the form that package schema publishes.
var formCodec = jsonexact.NewPortable()

// Ask asks the client's user with a form, and returns the values that the user entered. The fields
// of the struct T become the fields of the form: strings, numbers, booleans, and slices of strings
// with an enum. Their tags set titles, defaults, choices and limits, as [schema.For] describes. A
// field with omitempty is optional. With T = struct{} the user only accepts or declines the
// message.
//
//	type order struct {
//		Size  string `json:"size" enum:"small,large"`
//		Count int    `json:"count" default:"1" min:"1"`
//	}
//	o, action, err := server.Ask[order](ctx, "order", "What shall it be?")
//	if err != nil || action != mcp.ElicitAccept {
//		return "nothing was ordered", err
//	}
//
// The value is the zero T unless action is [mcp.ElicitAccept]. Ask follows the rules of [Elicit]:
// the handler returns its error, and may run again.
func Ask[T any](ctx context.Context, key, message string) (value T, action mcp.ElicitAction,
	err error) {
	form, err := schema.ForType(reflect.TypeFor[T](), schema.Open())
	if err != nil {
		return value, "", fmt.Errorf("server: Ask %q: %w", key, err)
	}
	if reflect.TypeFor[T]() == reflect.TypeFor[struct{}]() {
		form = nil
	}
	result, err := Elicit(ctx, key, mcp.ElicitParams{Message: message, RequestedSchema: form})
	switch {
	case err != nil:
		return value, "", err
	case result.Action == mcp.ElicitAccept:
		if err := formCodec.Unmarshal(result.Content, &value); err != nil {
			return *new(T), "", fmt.Errorf("server: Ask %q: %w", key, err)
		}
	}
	return value, result.Action, nil
}
