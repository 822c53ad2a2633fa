package cli

import (
	"context"
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/growth"
)

// The flags that are made of a schema are found in time linear in its size.
func TestFlagsAreLinear(t *testing.T) {
	for name, schema := range map[string]func(n int) string{
		"properties": func(n int) string {
			return `"properties":{` + growth.List(n, `"p*":{"type":"string"}`) + `},"required":[` +
				growth.List(n, `"p*"`) + `]`
		},
		"references": func(n int) string {
			return `"$defs":{` + growth.List(n, `"d*":{"properties":{"p*":{"type":"string"}}}`) +
				`},"allOf":[` + growth.List(n, `{"$ref":"#/$defs/d*"}`) + `]`
		},
	} {
		t.Run(name, func(t *testing.T) {
			growth.Linear(t, 3000, func(n int) func() {
				op, err := dispatch.NewOperation(
					dispatch.Spec{Name: "a", Summary: "A.", Type: dispatch.Read,
						Input: json.RawMessage(`{"type":"object",` + schema(n) + `}`)},
					func(context.Context, json.RawMessage) (json.RawMessage, error) {
						return nil, nil
					})
				assert.NilError(t, err)
				return func() {
					s := shapeOf(op)
					assert.Equal(t, len(s.flags()), min(n+1, maxFlags))
					s.find("p-7")
				}
			})
		})
	}
}
