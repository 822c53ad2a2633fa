package conformance

import (
	"fmt"
	"strings"
)

// PageHostile is the description with which [ServePage] lists tools whose schemas, questions and
// results are meant to keep a page busy, in place of the others.
const PageHostile = "hostile"

// repeated returns n texts of a format with a number, separated by commas.
func repeated(n int, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// hostileForms are schemas by the name of the tool that has them. Each is small, and stands for a
// form that is not.
func hostileForms() map[string]string {
	object := func(properties, definition string) string {
		return `{"type":"object","required":["a"],"properties":{` + properties + `},"$defs":{"a":` +
			definition + `}}`
	}
	const one, self = `"a":{"$ref":"#/$defs/a"}`, `{"$ref":"#/$defs/a"}`
	many := repeated(20, `"p%d":`+self)
	refs := strings.TrimSuffix(strings.Repeat(self+",", 20), ",")
	text := strings.Repeat("long text ", 20_000)
	return map[string]string{
		"array":  object(one, `{"type":"array","minItems":20,"items":`+self+`}`),
		"prefix": object(one, `{"type":"array","minItems":20,"prefixItems":[`+refs+`],"items":`+self+`}`),
		"object": object(one, `{"type":"object","properties":{`+many+`},"required":[`+
			repeated(20, `"p%d"`)+`]}`),
		"all":     object(one, `{"allOf":[`+refs+`]}`),
		"any":     object(one, `{"anyOf":[`+refs+`]}`),
		"cycle":   object(one, self),
		"more":    object(one, `{"type":"object","additionalProperties":`+self+`}`),
		"options": object(repeated(500, `"a%d":`+self), `{"enum":[`+repeated(50_000, `"v%d"`)+`]}`),
		"values":  object(repeated(500, `"a%d":`+self), `{"oneOf":[{"const":{"x":"`+text+`"}},{"const":1}]}`),
		"texts": object(repeated(500, `"a%d":`+self), `{"type":"string","title":"`+text+
			`","description":"`+text+`","default":"`+text+`","pattern":"`+text+`"}`),
		"required": object(repeated(1000, `"a%d":`+self), `{"type":"object","required":[`+
			repeated(100_000, `"r%d"`)+`],"properties":{"x":{"type":"string"}}}`),
		"pointer": object(repeated(1000, `"a%d":`+self), `{"$ref":"#`+strings.Repeat("/$defs", 50_000)+`"}`),
		"wide":    object(repeated(5_000, `"a%d":{"type":"string"}`), `{}`),
		"default": object(one, `{"type":"array","items":{"type":"integer"},"default":[`+repeated(10_000, "%d")+`]}`),
	}
}

// hostileTools are the tools of PageHostile.
func hostileTools() string {
	tools := []string{}
	for name, schema := range hostileForms() {
		tools = append(tools, fmt.Sprintf(`{"name":%q,"inputSchema":%s}`, name, schema))
	}
	for _, name := range []string{"ask", "ask-flat", "results"} {
		tools = append(tools, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
	}
	return `{"tools":[` + strings.Join(tools, ",") + `]}`
}

// hostileQuestion is the form of a question, which is flat or not.
func hostileQuestion(flat bool) string {
	if flat {
		return `{"type":"object","properties":{` + repeated(5_000, `"a%d":{"type":"string"}`) + `}}`
	}
	return hostileForms()["array"]
}

// hostileResult is a result of which each part is large.
func hostileResult() string {
	cell := `[` + repeated(100, `{"n":[%d]}`) + `]`
	row := `{` + repeated(10, `"c%d":`+cell) + `}`
	rows := strings.TrimSuffix(strings.Repeat(row+",", 150), ",")
	empty := strings.TrimSuffix(strings.Repeat("[],", 600), ",")
	block := `{"type":"text","text":"[` + empty + `]"},`
	blocks := strings.TrimSuffix(strings.Repeat(block, 2000), ",")
	return `{"content":[` + blocks + `],"structuredContent":{"rows":[` + rows + `]}}`
}
