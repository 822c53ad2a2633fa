package shell_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/elicit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/shell"
	"github.com/stdwire/stdwire/internal/growth"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// several repeats format n times with commas between, and replaces each * by the index.
func several(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(format, "*", fmt.Sprint(i)))
	}
	return b.String()
}

// Reading a server's schemas takes time linear in their size.
func TestSchemasAreReadInLinearTime(t *testing.T) {
	for name, schema := range map[string]func(n int) string{
		"required": func(n int) string {
			return `{"properties":{` + several(n, `"p*":{"type":"string"}`) + `},"required":[` +
				several(n, `"p*"`) + `]}`
		},
		"allOf with required": func(n int) string {
			return `{"allOf":[` +
				several(n, `{"properties":{"p*":{"type":"string"}},"required":["p*"]}`) + `]}`
		},
		"alternatives": func(n int) string {
			return `{"properties":{"a":{"anyOf":[` + several(n, `{"const":"*"}`) + `]}}}`
		},
		"references": func(n int) string {
			return `{"properties":{` + several(n, `"p*":{"$ref":"#/$defs/d*"}`) + `},"$defs":{` +
				several(n, `"d*":{"type":"string"}`) + `}}`
		},
		"references to one that is long": func(n int) string {
			return `{"properties":{` + several(n, `"p*":{"$ref":"#/$defs/d"}`) +
				`},"$defs":{"d":{"enum":[` + several(n, `"*"`) + `]}}}`
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
