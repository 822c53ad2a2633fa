package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/internal/growth"
)

// A schema of a server is moved in time linear in its size, or not at all.
func TestRelocateIsLinear(t *testing.T) {
	for name, schema := range map[string]func(n int) string{
		"references": func(n int) string {
			return `{"$defs":{` + growth.List(n, `"d*":{"type":"string"}`) + `},"allOf":[` +
				growth.List(n, `{"$ref":"#/$defs/d*"}`) + `]}`
		},
		"draft-07 keywords": func(n int) string {
			return `{"$schema":"http://json-schema.org/draft-07/schema#",` + growth.List(n, `"x*":1`) +
				`}`
		},
		"deep": func(n int) string {
			s := `{}`
			for range n / 50 {
				s = `{"properties":{"` + strings.Repeat("x", 500) + `":` + s + `}}`
			}
			return s
		},
		"references to what is deep": func(n int) string {
			deep := `{"$anchor":"a"}`
			for range 50 {
				deep = `{"properties":{"` + strings.Repeat("x", n/10) + `":` + deep + `}}`
			}
			return `{"$defs":{"d":` + deep + `},"allOf":[` + growth.List(n, `{"$ref":"#a"}`) + `]}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			growth.Linear(t, 3000, func(n int) func() {
				text := json.RawMessage(schema(n))
				return func() { relocate(text, "/components/schemas/a") }
			})
		})
	}
}
