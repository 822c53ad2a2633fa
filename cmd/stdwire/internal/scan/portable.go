package scan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/lazyregexp"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A PortabilityRule is about something in a tool that the API of a model refuses. Such an API
// usually refuses the whole request, with all tools in it.
type PortabilityRule struct {
	Tools  string // a phrase for the affected tools, such as "tools with …"
	What   string // the defect at the place, and which APIs refuse it
	Remedy string
	// Converted is set if hosts usually convert the schema for the API, and so lose a constraint.
	// Scan does not report it.
	Converted bool

	name   func(name string) bool
	schema func(s *subschema, found func(where, evidence string))
}

// A subschema is a schema in the input schema of a tool.
type subschema struct {
	text  []byte
	where string
	depth int // 0 for the input schema itself
}

var (
	portableName     = lazyregexp.New(`^[a-zA-Z0-9_-]*$`)
	portableProperty = lazyregexp.New(`^[a-zA-Z0-9_.-]{1,64}$`)
)

// maxPortableName is the maximum length of a tool name that every model provider accepts, in bytes.
const maxPortableName = 64

// geminiKeywords are the keywords of JSON Schema that function declarations of Gemini have no field
// for (Gemini API, Schema).
var geminiKeywords = strings.Fields(`$ref $defs definitions additionalProperties allOf oneOf not
	if then else const patternProperties propertyNames prefixItems contains uniqueItems multipleOf
	exclusiveMinimum exclusiveMaximum dependentRequired dependentSchemas unevaluatedProperties
	unevaluatedItems`)

// strictKeywords are the keywords that a function of OpenAI with "strict": true may not have
// (OpenAI API, Structured Outputs, "Supported schemas").
var strictKeywords = strings.Fields(`allOf oneOf not if then else dependentRequired
	dependentSchemas patternProperties`)

// maxStrictDepth is the number of levels of objects that OpenAI takes with "strict": true.
const maxStrictDepth = 10

// PortabilityRules returns the rules about features of tools that the APIs of models refuse.
func PortabilityRules() []PortabilityRule {
	return []PortabilityRule{
		{Tools: "tools whose names are longer than 64 bytes",
			What:   "the name has more than 64 bytes; model providers refuse it",
			Remedy: "model providers refuse them",
			name:   func(name string) bool { return len(name) > maxPortableName }},
		{Tools: "tools whose names model providers refuse",
			What:   "the name has other characters than letters, digits, '_' and '-'; OpenAI and Anthropic refuse it",
			Remedy: "OpenAI and Anthropic accept letters, digits, '_' and '-'",
			name:   func(name string) bool { return !portableName().MatchString(name) }},
		{Tools: "tools with a choice at the top level of their inputSchema",
			What:   "the top level of a schema has this keyword; OpenAI and Anthropic refuse it",
			Remedy: "OpenAI and Anthropic refuse oneOf, anyOf and allOf there, OpenAI also enum and not: say it in the description",
			schema: topLevel("oneOf", "anyOf", "allOf", "enum", "not")},
		{Tools: "tools with arrays that do not say what is in them",
			What:   "an array has no items; OpenAI and Gemini refuse it",
			Remedy: `OpenAI and Gemini refuse an array without "items"`,
			schema: withoutItems},
		{Tools: "tools with properties that model providers refuse",
			What:   "model providers refuse a property of this name",
			Remedy: "they accept 1 to 64 letters, digits, '_', '.' and '-'",
			schema: refusedProperties},
		{Converted: true, Tools: "tools with keywords that Gemini does not know",
			What: "Gemini has no such keyword", schema: keywords(geminiKeywords)},
		{Converted: true, Tools: "tools with keywords that OpenAI refuses in strict mode",
			What: "OpenAI refuses the keyword in strict mode", schema: keywords(strictKeywords)},
		{Converted: true, Tools: "tools with several types for a value",
			What:   "Gemini takes one type; null is a member nullable there",
			schema: memberThat("type", func(v []byte) bool { return v[0] == '[' })},
		{Converted: true, Tools: "tools with an enum of other values than strings",
			What: "Gemini takes strings in an enum", schema: memberThat("enum", hasOtherThanStrings)},
		{Converted: true, Tools: "tools with values of no type",
			What: "Gemini needs a type", schema: withoutType},
		{Converted: true, Tools: "tools with deeply nested arguments",
			What: fmt.Sprintf("it is below %d levels; OpenAI refuses it in strict mode", maxStrictDepth),
			schema: func(s *subschema, found func(where, evidence string)) {
				if s.depth == maxStrictDepth+1 {
					found(s.where, "")
				}
			}},
	}
}

// topLevel finds members of the input schema itself.
func topLevel(names ...string) func(*subschema, func(where, evidence string)) {
	every := keywords(names)
	return func(s *subschema, found func(where, evidence string)) {
		if s.depth == 0 {
			every(s, found)
		}
	}
}

// keywords finds members of all schemas.
func keywords(names []string) func(*subschema, func(where, evidence string)) {
	return func(s *subschema, found func(where, evidence string)) {
		for key := range jsonscan.Members(s.text) {
			if name, _ := jsonscan.Text(key); slices.Contains(names, name) {
				found(join(s.where, name), name)
			}
		}
	}
}

// memberThat finds a member by its value.
func memberThat(name string, wrong func(value []byte) bool) func(*subschema,
	func(where, evidence string)) {
	return func(s *subschema, found func(where, evidence string)) {
		if v := jsonscan.Member(s.text, name); v != nil && wrong(v) {
			found(join(s.where, name), "")
		}
	}
}

func hasOtherThanStrings(enum []byte) bool {
	if enum[0] != '[' {
		return false
	}
	for v := range jsonscan.Elements(enum) {
		if v[0] != '"' {
			return true
		}
	}
	return false
}

func withoutItems(s *subschema, found func(where, evidence string)) {
	kind, _ := jsonscan.Text(jsonscan.Member(s.text, "type"))
	if kind == "array" && jsonscan.Member(s.text, "items") == nil &&
		jsonscan.Member(s.text, "prefixItems") == nil {
		found(s.where, "")
	}
}

// withoutType finds schemas without a type, except for those that say it elsewhere.
func withoutType(s *subschema, found func(where, evidence string)) {
	for key := range jsonscan.Members(s.text) {
		switch name, _ := jsonscan.Text(key); name {
		case "type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const":
			return
		}
	}
	if s.depth > 0 {
		found(s.where, "")
	}
}

func refusedProperties(s *subschema, found func(where, evidence string)) {
	for key := range jsonscan.Members(jsonscan.Member(s.text, "properties")) {
		if name, _ := jsonscan.Text(key); !portableProperty().MatchString(name) {
			found(join(join(s.where, "properties"), name), name)
		}
	}
}

// walkSchema calls visit for a schema and all schemas in it that are objects.
func walkSchema(schema []byte, where string, depth int, visit func(*subschema)) {
	if len(schema) == 0 || schema[0] != '{' {
		return
	}
	visit(&subschema{schema, where, depth})
	for keyword, value := range jsonscan.Named(schema) {
		below := join(where, keyword)
		switch keyword {
		case "properties", "$defs", "definitions", "patternProperties", "dependentSchemas":
			if value[0] != '{' {
				continue
			}
			for name, schema := range jsonscan.Named(value) {
				walkSchema(schema, join(below, name), depth+1, visit)
			}
		case "allOf", "anyOf", "oneOf", "prefixItems":
			if value[0] != '[' {
				continue
			}
			n := 0
			for schema := range jsonscan.Elements(value) {
				walkSchema(schema, fmt.Sprintf("%s[%d]", below, n), depth+1, visit)
				n++
			}
		case "items", "additionalProperties", "not", "if", "then", "else", "contains":
			walkSchema(value, below, depth+1, visit)
		}
	}
}

// An Obstacle is a place in a tool that a PortabilityRule is about.
type Obstacle struct {
	Where    string `json:"where"`
	Evidence string `json:"evidence,omitempty"` // a name in the tool
}

// Find returns what the rule finds in a tool, at most 10 places. schema is its input schema, valid
// JSON, or nil.
func (r *PortabilityRule) Find(name string, schema []byte) (all []Obstacle) {
	if r.name != nil {
		if r.name(name) {
			all = append(all, Obstacle{Where: "name"})
		}
		return all
	}
	walkSchema(schema, "inputSchema", 0, func(s *subschema) {
		if len(all) < maxPerRule {
			r.schema(s, func(where, evidence string) {
				all = append(all, Obstacle{where, evidence})
			})
		}
	})
	return all[:min(len(all), maxPerRule)]
}

// isUntyped reports whether a schema has other members than a type. Hosts add the type.
func isUntyped(schema []byte) bool {
	if jsonscan.Member(schema, "type") != nil {
		return false
	}
	for range jsonscan.Members(schema) {
		return true
	}
	return false
}

// unportableTool finds reasons for hosts or model providers to refuse a tool, or all tools of its
// server.
func unportableTool(_ *scanner, d *definition) (found []Finding) {
	if d.kind != mcp.KindTool || d.raw == nil {
		return nil
	}
	add := func(where, what string) {
		found = append(found, Finding{Severity: Info, Place: d.place(where), What: what})
	}
	for _, member := range []string{"inputSchema", "outputSchema"} {
		schema := jsonscan.Member(d.raw, member)
		kind, _ := jsonscan.Text(jsonscan.Member(schema, "type"))
		switch {
		case schema == nil:
			continue
		case kind == "object":
		case member == "inputSchema" && isUntyped(schema):
		case member == "inputSchema":
			add(member, `it does not say "type": "object"; strict clients take no list with it`)
		default:
			add(member, `it does not say "type": "object"; strict clients of revisions before `+
				"2026-07-28 take no list with it")
		}
		if required := jsonscan.Member(schema, "required"); required != nil && required[0] != '[' {
			add(member+".required", "it is not an array; strict clients refuse lists with such a tool")
		}
	}
	for _, r := range PortabilityRules() {
		if r.Converted {
			continue
		}
		for _, o := range r.Find(d.name, jsonscan.Member(d.raw, "inputSchema")) {
			found = append(found, Finding{Severity: Info, Place: d.place(o.Where), What: r.What,
				Evidence: o.Evidence})
		}
	}
	return found[:min(len(found), maxPerRule)]
}
