package scan

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Each rule finds what the API of a model refuses, at its place, and nothing in what it takes.
func TestPortabilityRules(t *testing.T) {
	deep := func(levels int) string {
		return strings.Repeat(`{"type":"object","properties":{"p":`, levels) + `{"type":"string"}` +
			strings.Repeat("}}", levels)
	}
	rules := PortabilityRules()
	for _, tt := range []struct{ tools, name, schema, want, good string }{
		{"longer than 64", strings.Repeat("n", 65), "{}", "name", ""},
		{"names model providers refuse", "a.b", "{}", "name", ""},
		{"choice at the top level", "a", `{"type":"object","anyOf":[]}`, "inputSchema.anyOf",
			`{"type":"object","properties":{"anyOf":{"anyOf":[]}}}`},
		{"arrays that do not say", "a", `{"properties":{"p":{"anyOf":[{"type":"array"}]}}}`,
			"inputSchema.properties.p.anyOf[0]",
			`{"properties":{"p":{"type":"array","items":{}},"type":{"enum":["array"]}}}`},
		{"properties that model providers refuse", "a", `{"properties":{"$f":{}}}`,
			"inputSchema.properties.$f", `{"properties":{"f.g-1_":{}}}`},
		{"Gemini does not know", "a",
			`{"properties":{"p":{"items":{"const":1,"additionalProperties":false}}}}`,
			"inputSchema.properties.p.items.const inputSchema.properties.p.items.additionalProperties",
			`{"properties":{"const":{"type":"string","description":"x","anyOf":[]}}}`},
		{"OpenAI refuses in strict mode", "a", `{"properties":{"p":{"not":{}}}}`,
			"inputSchema.properties.p.not", `{"properties":{"p":{"anyOf":[]}}}`},
		{"several types", "a", `{"properties":{"p":{"type":["string","null"]}}}`,
			"inputSchema.properties.p.type", `{"properties":{"p":{"type":"string"}}}`},
		{"enum of other values", "a", `{"properties":{"p":{"enum":["a",1]}}}`,
			"inputSchema.properties.p.enum", `{"properties":{"p":{"enum":["a","1"]}}}`},
		{"values of no type", "a", `{"properties":{"p":{"description":"x"}}}`,
			"inputSchema.properties.p", `{"properties":{"p":{"$ref":"#"},"q":{"enum":["a"]}}}`},
		{"deeply nested", "a", deep(11), "inputSchema" + strings.Repeat(".properties.p", 11),
			deep(10)},
	} {
		i := 0
		for !strings.Contains(rules[i].Tools, tt.tools) {
			i++
		}
		var places []string
		for _, o := range rules[i].Find(tt.name, []byte(tt.schema)) {
			places = append(places, o.Where)
		}
		assert.Equal(t, strings.Join(places, " "), tt.want, tt.tools)
		assert.Equal(t, len(rules[i].Find("a", []byte(tt.good))), 0, tt.tools)
		rules = append(rules[:i], rules[i+1:]...)
	}
	assert.Equal(t, len(rules), 0, "a rule has no test")
}

// A rule accepts JSON that is not a schema, and finds at most 10 places.
func TestPortabilityOfOddSchemas(t *testing.T) {
	many := `{"properties":{` + strings.TrimSuffix(strings.Repeat(`"$":{},`, 50), ",") + `}}`
	for _, schema := range []string{"", "7", "null", "[]", `{"properties":7,"allOf":{},"type":[]}`,
		`{"properties":["x"],"items":[{}],"enum":7,"anyOf":"x"}`, many} {
		for _, r := range PortabilityRules() {
			assert.Assert(t, len(r.Find("a", []byte(schema))) <= maxPerRule, schema)
		}
	}
}
