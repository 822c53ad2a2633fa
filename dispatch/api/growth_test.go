package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/internal/growth"
)

// several is n texts with commas between them; a * in them is their number.
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

// A schema of a server is moved in time linear in its size, or not at all.
func TestRelocateIsLinear(t *testing.T) {
	for name, schema := range map[string]func(n int) string{
		"references": func(n int) string {
			return `{"$defs":{` + several(n, `"d*":{"type":"string"}`) + `},"allOf":[` +
				several(n, `{"$ref":"#/$defs/d*"}`) + `]}`
		},
		"draft-07 keywords": func(n int) string {
			return `{"$schema":"http://json-schema.org/draft-07/schema#",` + several(n, `"x*":1`) +
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
			return `{"$defs":{"d":` + deep + `},"allOf":[` + several(n, `{"$ref":"#a"}`) + `]}`
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
