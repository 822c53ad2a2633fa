package output

import (
	"strings"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const manyTypes = `{
	"type":"object",
	"properties":{
		"s":{"type":"string"}, "i":{"type":"integer"}, "n":{"type":"number"}, "b":{"type":"boolean"}, "z":{"type":"null"},
		"si":{"type":["string","integer"]}, "is":{"type":["integer","string"]},
		"in":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null},
		"sn":{"type":["string","null"]},
		"e":{"enum":["red","1",2,true,null]}, "ei":{"type":"integer","enum":[1,2]}, "es":{"anyOf":[{"enum":["auto"]},{"type":"integer"}]}, "c":{"const":7},
		"as":{"type":"array","items":{"type":"string"}}, "ai":{"type":"array","items":{"type":"integer"}}, "a":{"type":"array"},
		"sas":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"string"}]},
		"asn":{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"null"}]},
		"o":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"object","properties":{"deep":{"type":"boolean"}}}}},
		"env":{"type":"object","additionalProperties":{"type":"integer"}},
		"r":{"$ref":"#/$defs/color"}, "ro":{"$ref":"#/$defs/point"}, "on":{"anyOf":[{"$ref":"#/$defs/point"},{"type":"null"}]},
		"all":{"allOf":[{"$ref":"#/$defs/point"},{"description":"x"}]},
		"any":{}, "true":true, "dot.ted":{"type":"integer"}, "lost":{"$ref":"#/$defs/missing"}, "loop":{"$ref":"#/$defs/loop"}
	},
	"$defs":{"color":{"enum":["red","blue"]},"point":{"type":"object","properties":{"x":{"type":"number"}}},"loop":{"$ref":"#/$defs/loop"}}
}`

// Whatever a user types and whatever a server says, the arguments are a JSON object on one line,
// and what is shown is printable.
func FuzzArgumentsAndSignature(f *testing.F) {
	f.Add("i", "5", `{"a":1}`, manyTypes)
	f.Add("o.y.deep", "true", `{"o":{"y":{}}}`, manyTypes)
	f.Add("a.b.c", "[1]", `{}`,
		`{"properties":{"a":{"$ref":"#"},"b":{"anyOf":[{"$ref":"#/properties/a"},{"items":{"$ref":"#"}}]}}}`)
	f.Add("x", "\x00\u202e", `{}`, `{"properties":{"x\u0000\n":{"enum":["\u001b[1m",{}]}}}`)
	f.Fuzz(func(t *testing.T, name, text, data, schema string) {
		if jsonscan.Valid([]byte(schema)) != nil || jsonscan.Valid([]byte(data)) != nil ||
			strings.HasPrefix(text, "@") {
			return
		}
		tool := &mcp.Tool{Name: name, Description: text, InputSchema: []byte(schema)}
		shown := ToolItem(tool).long(printable.NoTerminal)
		if strings.ContainsFunc(shown, func(r rune) bool {
			return r < ' ' && r != '\n' || r == 0x7f || r == '\u202e'
		}) {
			t.Fatalf("shown: %q", shown)
		}
		var assignments []arguments.Assignment
		for _, word := range []string{name + "=" + text, name + "=" + text, "other=" + text, name +
			":=" + text} {
			if a, err := arguments.ParseAssignment(word); err == nil {
				assignments = append(assignments, a)
			}
		}
		object, err := arguments.BuildArguments(arguments.Compact([]byte(data)), assignments,
			[]byte(schema))
		if err == nil &&
			(jsonscan.Valid(object) != nil || object[0] != '{' ||
				strings.ContainsAny(string(object), "\r\n")) {
			t.Fatalf("arguments: %q", object)
		}
	})
}
