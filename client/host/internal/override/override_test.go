package override

import (
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func value(text string) json.RawMessage { return json.RawMessage(text) }

// arguments returns a small override of arguments: renamed by "name", fixed to JSON by "=value",
// with a default by "?value".
func arguments(words map[string]string) map[string]host.ArgumentOverride {
	all := map[string]host.ArgumentOverride{}
	for own, word := range words {
		switch word[0] {
		case '=':
			all[own] = host.ArgumentOverride{Value: value(word[1:])}
		case '?':
			all[own] = host.ArgumentOverride{Default: value(word[1:])}
		default:
			all[own] = host.ArgumentOverride{Name: word}
		}
	}
	return all
}

// What a definition has becomes what the override says; all else stays byte by byte.
func TestApply(t *testing.T) {
	for _, tt := range []struct {
		kind mcp.Kind
		own  string
		o    host.Override
		want string
	}{
		{mcp.KindTool, `{"name":"a","x":1.50,"_meta":{"k":1e2},"inputSchema":{"type":"object"}}`,
			host.Override{Name: "b", Title: "T", Description: "D", Tags: []string{"t"}},
			`{"name":"a","x":1.50,"_meta":{"k":1e2,"io.github.stdwire/tags":["t"]},"inputSchema":{"type":"object"},"title":"T","description":"D"}`},
		{mcp.KindTool, `{"name":"a","annotations":{"title":"O","destructiveHint":true},"inputSchema":{}}`,
			host.Override{Title: "T", Annotations: map[string]bool{"destructiveHint": false, "readOnlyHint": true}},
			`{"name":"a","annotations":{"title":"T","destructiveHint":false,"readOnlyHint":true},"inputSchema":{},"title":"T"}`},
		{mcp.KindTool, `{"name":"a","inputSchema":{"type":"object","properties":{"p":{"type":"string"},"h":true,"d":{"type":"integer"}},"required":["p","h","d"],"additionalProperties":false}}`,
			host.Override{Arguments: map[string]host.ArgumentOverride{
				"p": {Name: "q", Description: "Q"}, "h": {Hidden: true, Default: value(`[1]`)},
				"d": {Default: value("7")}}},
			`{"name":"a","inputSchema":{"type":"object","properties":{"q":{"type":"string","description":"Q"},"d":{"type":"integer","default":7}},"required":["q"],"additionalProperties":false}}`},
		{mcp.KindTool, `{"name":"a","inputSchema":{"$ref":"#/$defs/all","patternProperties":{},"properties":{"p":{"pattern":"(?=x)"},"r":true}}}`,
			host.Override{Arguments: map[string]host.ArgumentOverride{"p": {Description: "P"}}},
			`{"name":"a","inputSchema":{"$ref":"#/$defs/all","patternProperties":{},"properties":{"p":{"pattern":"(?=x)","description":"P"},"r":true}}}`},
		{mcp.KindPrompt, `{"name":"a"}`, host.Override{Name: "b", Title: "T"}, `{"name":"a","title":"T"}`},
		{mcp.KindResource, `{"uri":"mem://a","name":"a"}`, host.Override{Name: "b", Description: "D"},
			`{"uri":"mem://a","name":"b","description":"D"}`},
	} {
		got, _, err := Apply(tt.kind, value(tt.own), &tt.o)
		assert.NilError(t, err)
		assert.Check(t, cmp.Equal(string(got), tt.want))
	}
}

// A schema whose keywords name arguments is rewritten, or refused with the keyword that prevents
// it.
func TestSchemas(t *testing.T) {
	const properties = `"properties":{"p":{"type":"object","properties":{"p":{"type":"string"}}},"r":{"$ref":"#/properties/p/properties/p"},"s":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"array","items":{"$ref":"#/properties/p"}}}`
	for _, tt := range []struct {
		input string
		words map[string]string
		want  string // the schema, or, without '{', a part of the error
	}{
		{`{"type":"object",` + properties + `}`, map[string]string{"p": "q~/ %"},
			`{"type":"object","properties":{"q~/ %":{"type":"object","properties":{"p":{"type":"string"}}},"r":{"$ref":"#/properties/q~0~1%20%25/properties/p"},"s":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"array","items":{"$ref":"#/properties/q~0~1%20%25"}}}}`},
		{`{"type":"object",` + properties + `}`, map[string]string{"p": "=1"}, `does not accept its value: must be an object`},
		{`{"type":"object",` + properties + `}`, map[string]string{"p": "={}"}, `refers to the schema of a hidden argument`},
		{`{"type":"object","properties":{"p":{"items":{"$ref":"#"}}}}`, map[string]string{"p": "q"}, "a part of it refers to the whole"},
		{`{"type":"object","properties":{"p":{},"r":{"$ref":"http://x/y"}}}`, map[string]string{"p": "q"}, "another document"},
		{`{"type":"object","properties":{"p":{},"r":{"$id":"u"}}}`, map[string]string{"p": "q"}, `a part of it has "$id"`},
		{`{"type":"object","properties":{"p":{}},"patternProperties":{"^p":{}}}`, map[string]string{"p": "q"}, `"patternProperties" may depend`},
		{`{"type":"object","properties":{"p":{},"r":{}},"anyOf":[{"required":["p"]},{"required":["r"],"properties":{"p":false}}],"dependentRequired":{"p":["r"]},"examples":[{"p":1}],"default":{"p":2}}`,
			map[string]string{"p": "q"},
			`{"type":"object","properties":{"q":{},"r":{}},"anyOf":[{"required":["q"]},{"required":["r"],"properties":{"q":false}}],"dependentRequired":{"q":["r"]},"examples":[{"q":1}],"default":{"q":2}}`},
		{`{"type":"object","properties":{"p":{},"r":{}},"anyOf":[{"required":["p"]}]}`, map[string]string{"p": "?1"}, `a condition depends on "p"`},
		{`{"type":"object","properties":{"p":{},"r":{}},"dependencies":{"p":["r"]}}`, map[string]string{"p": "=1"}, `a condition depends on "p"`},
		{`{"type":"object","properties":{"p":{},"r":{}},"allOf":[{"additionalProperties":false}]}`, map[string]string{"p": "=1"}, `forbids to add`},
		{`{"type":"object","properties":{"p":{}},"minProperties":1}`, map[string]string{"p": "=1"}, `"minProperties" counts`},
		{`{"type":"object","properties":{"p":{},"r":{}}}`, map[string]string{"p": "r"}, `"p" and "r" would both be called "r"`},
		{`{"type":"object","properties":{"p":{"type":"string"},"r":{}}}`, map[string]string{"p": "r", "r": "p"},
			`{"type":"object","properties":{"r":{"type":"string"},"p":{}}}`},
		{`{"type":"object","properties":{"path":{}}}`, map[string]string{"pat": "q"}, `"pat": the tool has no such argument; did you mean path?`},
		{`{"type":"object","properties":{"p":{"type":"string"}},"$id":"http://a.example/s"}`, map[string]string{"p": `="x"`},
			`{"type":"object","properties":{},"$id":"http://a.example/s"}`},
		{`{"type":"object","properties":{"p":{"pattern":"(?=a)"},"r":{}}}`, map[string]string{"r": "q"}, `cannot be adapted`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"p":{"$ref":"#/definitions/d"}},"definitions":{"d":{"type":"string"}},"required":["p"]}`,
			map[string]string{"p": `="x"`},
			`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{},"definitions":{"d":{"type":"string"}},"required":[]}`},
	} {
		got, a, err := rewrite(value(tt.input), arguments(tt.words))
		if tt.want[0] != '{' {
			assert.Check(t, cmp.ErrorContains(err, tt.want), tt.input)
			continue
		}
		if assert.Check(t, cmp.Nil(err), tt.input) {
			assert.Check(t, cmp.Equal(string(got), tt.want))
			assert.Check(t, a != nil)
		}
	}
	_, _, err := rewrite(value(`{"type":"object","properties":{"p":{}}}`),
		map[string]host.ArgumentOverride{"p": {Hidden: true}})
	assert.ErrorContains(t, err, "it is hidden and has no value")
}

// Own renames, adds, and refuses what a caller must not send.
func TestOwn(t *testing.T) {
	_, a, err := rewrite(value(`{"type":"object","properties":{"p":{},"h":{},"d":{},"r":{"type":"integer"}}}`),
		arguments(map[string]string{"p": "q", "h": `="x"`, "d": "?1"}))
	assert.NilError(t, err)
	for public, want := range map[string]string{
		`{"q":1.50,"r":2,"z":null}`: `{"p":1.50,"r":2,"z":null,"h":"x","d":1}`,
		`{"\u0071":1,"d":null}`:     `{"p":1,"d":null,"h":"x"}`,
		``:                          `{"h":"x","d":1}`,
		`{}`:                        `{"h":"x","d":1}`,
		`{"r":"x"}`:                 `invalid arguments: r must be an integer, not "x"`,
		`[]`:                        `its arguments are not an object`,
		`{"h":"x"}`:                 `it has no argument "h": leave it out`,
		`{"\u0068":"x"}`:            `it has no argument "h": leave it out`,
		`{"p":1}`:                   `it has no argument "p": it is called "q" here`,
	} {
		got, err := a.Own(value(public))
		if want[0] != '{' {
			assert.Check(t, cmp.Error(err, want), public)
			continue
		}
		assert.Check(t, cmp.Nil(err))
		assert.Check(t, cmp.Equal(string(got), want), public)
	}
	none, err := (*Arguments)(nil).Own(value(`{"p":1}`))
	assert.NilError(t, err)
	assert.Equal(t, string(none), `{"p":1}`)
}

// What stdwire says about invalid arguments names them as callers do; other errors stay.
func TestProblems(t *testing.T) {
	_, a, err := rewrite(value(`{"type":"object","properties":{"p/x":{},"r":{}}}`),
		arguments(map[string]string{"p/x": "q"}))
	assert.NilError(t, err)
	const own = `{"success":false,"data":null,"error":{"code":"invalid_input","message":` +
		`"invalid arguments: [\"p/x\"][0] must be text; missing required property \"p/x\"; r must be set",` +
		`"details":{"errors":[{"path":"/p~1x/0","reason":"must be text"},` +
		`{"path":"","property":"p/x","reason":"missing required property \"p/x\""},` +
		`{"path":"/r","reason":"must be set"}]},"recoverable":true}}`
	const public = `{"success":false,"data":null,"error":{"code":"invalid_input","message":` +
		`"invalid arguments: q[0] must be text; missing required property \"q\"; r must be set",` +
		`"details":{"errors":[{"path":"/q/0","reason":"must be text"},` +
		`{"path":"","property":"q","reason":"missing required property \"q\""},` +
		`{"path":"/r","reason":"must be set"}]},"recoverable":true}}`
	result := func(structured, text string, isError bool) string {
		quoted := jsonscan.AppendString(nil, text)
		return fmt.Sprintf(
			`{"content":[{"type":"text","text":%s}],"structuredContent":%s,"isError":%t}`, quoted,
			structured, isError)
	}
	for own, public := range map[string]string{
		result(own, own, true):    result(public, public, true),
		result(own, "text", true): result(public, "text", true),
		result(own, own, false):   "",
		result(`{"error":{"details":{"path":"/p~1x"}}}`, "x", true):         "",
		result(`{"error":{"details":{"errors":[{"path":"p"}]}}}`, "", true): "",
		`{"content":[]}`: "",
	} {
		assert.Check(t, cmp.Equal(string(a.Result(value(own))), stdcmp.Or(public, own)))
	}
	assert.Equal(t, string(a.Data(value(`{"errors":[{"path":"/p~1x","reason":"x"}]}`))),
		`{"errors":[{"path":"/q","reason":"x"}]}`)
	assert.Equal(t, string(a.Data(value(`{"path":"/p~1x"}`))), `{"path":"/p~1x"}`)
}

// Arguments that are valid under the public schema are valid under the server's after Own, for
// random schemas, overrides and arguments; what is valid under the server's and has the values that
// the override sets is valid under the public one.
func TestInverse(t *testing.T) {
	const seeds = 2000
	rewritten, valid, invalid := 0, 0, 0
	for seed := range uint64(seeds) {
		r := random{rand.New(rand.NewPCG(seed, 1))}
		input, overrides := r.input(), r.overrides()
		own, err := schema.Compile(input)
		assert.NilError(t, err, "seed %d: %s", seed, input)
		text, a, err := rewrite(input, overrides)
		if err != nil || a == nil {
			continue
		}
		rewritten++
		public, err := schema.Compile(text)
		assert.NilError(t, err, "seed %d", seed)
		for range 30 {
			given := r.arguments(text)
			converted, err := a.convert(given)
			if err != nil {
				continue
			}
			isValid, ownValid := public.Validate(given) == nil, own.Validate(converted) == nil
			if isValid {
				valid++
			} else {
				invalid++
			}
			// Additional arguments have a public name that is free, so both directions hold.
			assert.Equal(t, isValid, ownValid, "seed %d\nschema %s\npublic %s\ngiven  %s\nsent   %s\n%v",
				seed, input, text, given, converted, own.Validate(converted))
		}
	}
	assert.Assert(t, rewritten > seeds/8 && valid > 500 && invalid > 500, "%d %d %d", rewritten,
		valid, invalid)
}

// FuzzInverse is TestInverse for one seed.
func FuzzInverse(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		r := random{rand.New(rand.NewPCG(a, b))}
		input, overrides := r.input(), r.overrides()
		text, mapping, err := rewrite(input, overrides)
		if err != nil || mapping == nil {
			return
		}
		given := r.arguments(text)
		own, err := mapping.Own(given)
		if err != nil || schema.MustCompile(string(text)).Validate(given) != nil {
			return
		}
		assert.NilError(t, schema.MustCompile(string(input)).Validate(own), "%s\n%s\n%s", input, text,
			given)
	})
}

// A random makes random schemas, overrides and arguments.
type random struct{ *rand.Rand }

var ownNames = []string{"a", "b", "c", "d~/", "e"}

func (r random) chance(percent int) bool { return r.IntN(100) < percent }
func (r random) name() string            { return ownNames[r.IntN(len(ownNames))] }

// scalars are values of arguments.
var scalars = []string{`1`, `2`, `"x"`, `"y"`, `null`, `true`, `{"a":1}`, `[1]`, `{"b":"x"}`}

func (r random) scalar() json.RawMessage { return value(scalars[r.IntN(len(scalars))]) }

// schema returns the schema of an argument.
func (r random) schema() string {
	switch r.IntN(7) {
	case 0:
		return `{"type":"integer","description":"n"}`
	case 1:
		return `{"type":"string"}`
	case 2:
		return fmt.Sprintf(`{"enum":[1,"x",%s]}`, r.scalar())
	case 3:
		return `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`
	case 4:
		return fmt.Sprintf(`{"$ref":"#/%s"}`, []string{"$defs/n", "$defs/to",
			"properties" + fragment("a")}[r.IntN(3)])
	case 5:
		return `true`
	}
	return `{"type":["array","null"],"items":{"$ref":"#/$defs/n"}}`
}

// condition returns a schema that applies to the arguments as a whole.
func (r random) condition(depth int) string {
	switch r.IntN(6) {
	case 0:
		return fmt.Sprintf(`{"required":[%q]}`, r.name())
	case 1:
		return fmt.Sprintf(`{"properties":{%q:%s}}`, r.name(), r.value())
	case 2:
		if depth > 0 {
			return fmt.Sprintf(`{"not":%s}`, r.condition(depth-1))
		}
	case 3:
		if depth > 0 {
			return fmt.Sprintf(`{"anyOf":[%s,%s]}`, r.condition(depth-1), r.condition(depth-1))
		}
	case 4:
		return fmt.Sprintf(`{"dependentRequired":{%q:[%q]}}`, r.name(), r.name())
	}
	return fmt.Sprintf(`{"properties":{%q:{"type":"integer"}},"additionalProperties":%s}`, r.name(),
		[]string{"true", "false", `{"type":"string"}`}[r.IntN(3)])
}

func (r random) value() string { return []string{`{"type":"string"}`, "true", "false"}[r.IntN(3)] }

func (r random) input() json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"type":"object","$defs":{"n":{"type":"integer"},"to":{"type":["integer","string"]}},"properties":{`)
	for i, name := range ownNames {
		if i == 0 {
			fmt.Fprintf(&b, `%q:{"type":["integer","string","object"]}`, name)
			continue
		}
		if i < 3 || r.chance(70) {
			fmt.Fprintf(&b, `,%q:%s`, name, r.schema())
		}
	}
	b.WriteString("}")
	if r.chance(60) {
		fmt.Fprintf(&b, `,"required":[%q]`, r.name())
	}
	if r.chance(50) {
		fmt.Fprintf(&b, `,"additionalProperties":%s`, r.value())
	}
	if r.chance(30) {
		fmt.Fprintf(&b, `,"anyOf":[%s,%s]`, r.condition(2), r.condition(1))
	}
	if r.chance(15) {
		fmt.Fprintf(&b, `,"if":%s,"then":%s`, r.condition(1), r.condition(1))
	}
	if r.chance(10) {
		fmt.Fprintf(&b, `,"dependentSchemas":{%q:%s}`, r.name(), r.condition(1))
	}
	if r.chance(10) {
		fmt.Fprintf(&b, `,"%sProperties":%d`, []string{"min", "max"}[r.IntN(2)], r.IntN(4))
	}
	if r.chance(5) {
		b.WriteString(`,"patternProperties":{"^a":{"type":"integer"}}`)
	}
	return value(b.String() + "}")
}

func (r random) overrides() map[string]host.ArgumentOverride {
	words := map[string]string{}
	for range 1 + r.IntN(3) {
		own := r.name()
		switch r.IntN(4) {
		case 0:
			words[own] = "=" + string(r.scalar())
		case 1:
			words[own] = "?" + string(r.scalar())
		default:
			words[own] = []string{"q", "r~/ %", "a", "b", "c"}[r.IntN(5)]
		}
	}
	return arguments(words)
}

// arguments returns arguments, some of which the schema has.
func (r random) arguments(text json.RawMessage) json.RawMessage {
	var names []string
	for token := range jsonscan.Members(jsonscan.Member(text, "properties")) {
		name, _ := jsonscan.Text(token)
		names = append(names, name)
	}
	names = append(names, "extra")
	out := []byte{'{'}
	for _, name := range names {
		if r.chance(60) {
			out = jsonscan.AppendMember(out, jsonscan.AppendString(nil, name), r.scalar())
		}
	}
	return append(out, '}')
}
