package shell_test

import (
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/elicit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/shell"
	"github.com/stdwire/stdwire/internal/growth"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Reading a server's schemas takes time linear in their size.
func TestSchemasAreReadInLinearTime(t *testing.T) {
	for name, schema := range map[string]func(n int) string{
		"required": func(n int) string {
			return `{"properties":{` + growth.List(n, `"p*":{"type":"string"}`) + `},"required":[` +
				growth.List(n, `"p*"`) + `]}`
		},
		"allOf with required": func(n int) string {
			return `{"allOf":[` +
				growth.List(n, `{"properties":{"p*":{"type":"string"}},"required":["p*"]}`) + `]}`
		},
		"alternatives": func(n int) string {
			return `{"properties":{"a":{"anyOf":[` + growth.List(n, `{"const":"*"}`) + `]}}}`
		},
		"references": func(n int) string {
			return `{"properties":{` + growth.List(n, `"p*":{"$ref":"#/$defs/d*"}`) + `},"$defs":{` +
				growth.List(n, `"d*":{"type":"string"}`) + `}}`
		},
		"references to one that is long": func(n int) string {
			return `{"properties":{` + growth.List(n, `"p*":{"$ref":"#/$defs/d"}`) +
				`},"$defs":{"d":{"enum":[` + growth.List(n, `"*"`) + `]}}}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			growth.Linear(t, 1000, func(n int) func() {
				tool := &mcp.Tool{Name: "t", InputSchema: []byte(schema(n))}
				return func() { output.Signature(tool) }
			})
			growth.Linear(t, 1000, func(n int) func() {
				form := []byte(schema(n))
				return func() { elicit.FormFields(form) }
			})
			growth.Linear(t, 1000, func(n int) func() {
				tool := &mcp.Tool{Name: "t", InputSchema: []byte(schema(n))}
				return func() { shell.ToolHelp(tool, printable.NoTerminal) }
			})
		})
	}
}
