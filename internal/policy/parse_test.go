package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/policy"
)

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ table, want string }{
		{``, `policy.json:1:1: the file is empty; a table of rules is {"rules":[…]}`},
		{`[]`, `policy.json:1:1: a policy must be an object, and is an array`},
		{`{}`, `a policy needs rules, at least "rules":[]`},
		{`{"rules":{}}`, `rules must be an array, and is an object`},
		{`{"rule":[]}`, `policy.json:1:2: a policy has no member "rule": did you mean rules?; want one of default, rules`},
		{"{\"rules\":[\n{\"effect\":\"alow\"}]}", `policy.json:2:11: effect cannot be "alow": did you mean allow?; want one of allow, ask, deny, hide`},
		{`{"default":"ask","rules":[]}`, `default cannot be "ask": want one of deny, allow`},
		{`{"rules":[{}]}`, `a rule needs an effect: allow, ask, deny, hide`},
		{`{"rules":[7]}`, `a rule must be an object, and is a number`},
		{`{"rules":[{"effect":"deny","effect":"allow"}]}`, `a rule has "effect" twice; remove one of them`},
		{`{"rules":[{"effect":"deny","who":{"groups":"a"}}]}`, `who has no member "groups": did you mean group?; want`},
		{`{"rules":[{"effect":"deny","who":{"group":[]}}]}`, `group must have 1 to 1000 values`},
		{`{"rules":[{"effect":"deny","who":{"group":[""]}}]}`, `a value of group is empty`},
		{`{"rules":[{"effect":"deny","who":{"arguments":{}}}]}`, `who has no member "arguments"`},
		{`{"rules":[{"effect":"deny","unless":{}}]}`, `unless is empty, so that the rule would never apply`},
		{`{"rules":[{"effect":"deny","who":{"claims":{}}}]}`, `claims is empty`},
		{`{"rules":[{"effect":"deny","who":{"claims":{"":{"eq":1}}}}]}`, `the name of a claim is empty`},
		{`{"rules":[{"effect":"deny","what":{"kind":"reads"}}]}`, `kind cannot be "reads": did you mean read?; want`},
		{`{"rules":[{"effect":"hide","arguments":{"/a":{"eq":1}}}]}`, `a rule that hides cannot have arguments`},
		{`{"rules":[{"effect":"deny","arguments":{"a":{"eq":1}}}]}`, `"a" is not a JSON Pointer of an argument: write /a`},
		{`{"rules":[{"effect":"deny","arguments":{"/~2":{"eq":1}}}]}`, `"/~2" is not a JSON Pointer`},
		{`{"rules":[{"effect":"deny","arguments":{"/a":{}}}]}`, `a condition compares with nothing`},
		{`{"rules":[{"effect":"deny","arguments":{"/a":{"default":1}}}]}`, `a condition compares with nothing`},
		{`{"rules":[{"effect":"deny","arguments":{"/a":{"eq":[1]}}}]}`, `a value of eq must be text, a number, true, false or null, and is an array`},
		{`{"rules":[{"effect":"deny","arguments":{"/a":{"eq":{"claims":"x"}}}}]}`, `the value of eq has no member "claims": did you mean claim?; want`},
		{`{"rules":[{"effect":"deny","arguments":{"/a":{"in":"x"}}}]}`, `in must be an array of 1 to 1000 values`},
		{`{"rules":[{"effect":"deny","arguments":{"/a":{"lt":"1"}}}]}`, `lt must be a number or {"claim":"NAME"}, and is text`},
		{`{"rules":[{"effect":"deny","arguments":{"/a":{"prefix":"/a/../b"}}}]}`, `prefix must be a text that is not empty and has no segment ".."`},
		{`{"rules":[{"effect":"deny","arguments":{"/a":{"regex":"x"}}}]}`, `a condition has no member "regex"`},
		{`{"rules":[{"effect":"deny","reason":1}]}`, `reason must be text, and is a number`},
		{`{"rules":[{"effect":"deny"},]} x`, `there is text after the end of the value`},
	} {
		_, err := policy.ParseFile("policy.json", []byte(tt.table))
		assert.ErrorContains(t, err, tt.want, tt.table)
		if tt.table != "" {
			assert.ErrorContains(t, err, "policy.json:", tt.table)
		}
	}
}

func TestParseIsBounded(t *testing.T) {
	rules := strings.Repeat(`{"effect":"deny"},`, policy.MaxRules+1)
	_, err := policy.ParseFile("p", []byte(`{"rules":[`+rules+`]}`))
	assert.ErrorContains(t, err, "more than 10000 rules")
	_, err = policy.ParseFile("p", []byte(`{"rules":[`+strings.Repeat(`{},`, 1000)+`]}`))
	assert.Equal(t, strings.Count(err.Error(), "\n"), 19, "20 problems are reported")
	var pointers strings.Builder
	for i := range 257 {
		fmt.Fprintf(&pointers, `{"effect":"deny","arguments":{"/%d":{"eq":1}}},`, i)
	}
	_, err = policy.ParseFile("p", []byte(`{"rules":[`+pointers.String()+`]}`))
	assert.ErrorContains(t, err, "more than 256 different pointers")
	for _, text := range []string{strings.Repeat("/a", 17), "/" + strings.Repeat("a", 1024)} {
		_, err = policy.ParseFile("p",
			[]byte(`{"rules":[{"effect":"deny","arguments":{"`+text+`":{"eq":1}}}]}`))
		assert.ErrorContains(t, err, "a JSON Pointer may have")
	}
}

// The source of a rule is its line, and a policy of several tables has the stricter default.
func TestMerge(t *testing.T) {
	one, err := policy.ParseFile("one", []byte("{\"default\":\"allow\",\"rules\":[\n\n{\"effect\":\"deny\",\"what\":{\"tool\":\"x\"}}]}"))
	assert.NilError(t, err)
	two, err := policy.ParseFile("two", []byte("{\"rules\":[{\"effect\":\"allow\",\"what\":{\"tool\":\"?\"}}]}"))
	assert.NilError(t, err)
	both := policy.Merge(one, two)
	assert.Equal(t, both.Rules(), 2)
	assert.Equal(t, both.Shows(bob, tool("s", "x")).Rule.Source, "one:3")
	assert.Equal(t, both.Shows(bob, tool("s", "y")).Rule.Source, "two:1")
	assert.Equal(t, both.Shows(bob, tool("s", "long")).Effect, deny)
	assert.Equal(t, one.Shows(bob, tool("s", "long")).Effect, allow)
	assert.Assert(t, both.Same(policy.Merge(one, two)) && !both.Same(one) && !one.Same(two))
}

// A client that invents URIs does not fill the memory.
func TestSelectionsAreBounded(t *testing.T) {
	p, err := policy.ParseFile("p", []byte(`{"default":"allow","rules":[]}`))
	assert.NilError(t, err)
	for i := range 20_000 {
		p.Shows(bob, policy.Item{Kind: policy.Resource, Name: fmt.Sprint(i)})
	}
	assert.Assert(t, policy.Selections(p) <= 8192+1)
}

func FuzzParse(f *testing.F) {
	for _, tt := range realRules {
		f.Add([]byte(tt.table), []byte(`{"a":1}`))
	}
	f.Fuzz(func(t *testing.T, table, arguments []byte) {
		p, err := policy.ParseFile("p", table)
		if err != nil || !isJSON(arguments) {
			return
		}
		for _, c := range []*policy.Caller{nobody, alice, with(bob, `{"team":"a"}`)} {
			shown := p.Shows(c, tool("s", "x"))
			d := p.Decide(c, tool("s", "x"), arguments)
			if !d.Certain || shown.Effect == deny && d.Effect != deny {
				t.Errorf("shown %+v, decided %+v", shown, d)
			}
		}
	})
}

func isJSON(text []byte) bool { return len(text) > 0 && jsonscan.Valid(text) == nil }
