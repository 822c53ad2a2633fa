package main

import (
	"strings"
	"testing"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Whatever is typed and whatever a server says: the arguments are a JSON object on one line, and what is shown is printable.
func FuzzArgumentsAndSignature(f *testing.F) {
	f.Add("i", "5", `{"a":1}`, everyType)
	f.Add("o.y.deep", "true", `{"o":{"y":{}}}`, everyType)
	f.Add("a.b.c", "[1]", `{}`, `{"properties":{"a":{"$ref":"#"},"b":{"anyOf":[{"$ref":"#/properties/a"},{"items":{"$ref":"#"}}]}}}`)
	f.Add("x", "\x00\u202e", `{}`, `{"properties":{"x\u0000\n":{"enum":["\u001b[1m",{}]}}}`)
	f.Fuzz(func(t *testing.T, name, text, data, schema string) {
		if jsonscan.Valid([]byte(schema)) != nil || jsonscan.Valid([]byte(data)) != nil || strings.HasPrefix(text, "@") {
			return
		}
		shown := describe(&mcp.Tool{Name: name, Description: text, InputSchema: []byte(schema)})
		if strings.ContainsFunc(shown, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r == '\u202e' }) {
			t.Fatalf("shown: %q", shown)
		}
		var assignments []assignment
		for _, word := range []string{name + "=" + text, name + "=" + text, "other=" + text, name + ":=" + text} {
			if a, err := parseAssignment(word); err == nil {
				assignments = append(assignments, a)
			}
		}
		object, err := buildArguments(compact([]byte(data)), assignments, []byte(schema))
		if err == nil && (jsonscan.Valid(object) != nil || object[0] != '{' || strings.ContainsAny(string(object), "\r\n")) {
			t.Fatalf("arguments: %q", object)
		}
	})
}
