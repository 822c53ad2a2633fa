package policy_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/policy"
)

// A naive evaluator: it decodes the table with encoding/json, looks at each rule in order, and
// evaluates conditions to a pointer to a bool, nil for those that cannot be.
type naiveTable struct {
	Default string
	Rules   []naiveRule
}

type naiveRule struct {
	Effect    string         `json:"effect"`
	Who       map[string]any `json:"who,omitempty"`
	Unless    map[string]any `json:"unless,omitempty"`
	What      map[string]any `json:"what,omitempty"`
	Arguments map[string]any `json:"arguments,omitempty"`
}

var yes, no = new(true), new(false)

// all is the conjunction.
func all(of ...*bool) *bool {
	result := yes
	for _, one := range of {
		if one != nil && !*one {
			return no
		}
		if one == nil {
			result = nil
		}
	}
	return result
}

func negated(b *bool) *bool {
	if b == nil {
		return nil
	}
	return new(!*b)
}

func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

func naiveFind(v any, pointer string) (any, bool) {
	for _, token := range strings.Split(pointer, "/")[1:] {
		object, ok := v.(map[string]any)
		if !ok {
			return struct{}{}, v != nil // in what is no object, there is no saying
		}
		if v, ok = object[token]; !ok {
			return nil, false
		}
	}
	return v, true
}

func naiveValue(c *policy.Caller, name string) (v any, ok bool) {
	switch raw, has := c.Claims[name]; {
	case !c.Known:
		return nil, false
	case name == "sub":
		return c.Subject, true
	default:
		_ = json.Unmarshal(raw, &v)
		return v, has
	}
}

func naiveEqual(a, b any) *bool {
	switch fmt.Sprintf("%T", a) {
	case "[]interface {}", "map[string]interface {}":
		return nil
	case fmt.Sprintf("%T", b):
		return new(a == b)
	}
	return nil
}

func naiveTest(c *policy.Caller, op string, v, w any) *bool {
	if m, ok := w.(map[string]any); ok {
		if w, ok = naiveValue(c, m["claim"].(string)); !ok {
			return nil
		}
	}
	switch op {
	case "eq":
		return naiveEqual(v, w)
	case "in":
		comparable := false
		for _, one := range list(w) {
			e := naiveEqual(v, one)
			if e != nil && *e {
				return yes
			}
			comparable = comparable || e != nil
		}
		if _, isList := w.([]any); comparable || isList && len(w.([]any)) == 0 {
			return no
		}
		return nil
	case "contains":
		l, ok := v.([]any)
		if !ok {
			return naiveEqual(v, w)
		}
		result := no
		for _, one := range l {
			e := naiveEqual(one, w)
			if e != nil && *e {
				return yes
			}
			if e == nil {
				result = nil
			}
		}
		return result
	case "prefix", "glob":
		a, ok := v.(string)
		b, also := w.(string)
		if !ok || !also || slices.Contains(strings.Split(a, "/"), "..") {
			return nil
		}
		if op == "prefix" {
			return new(strings.HasPrefix(a, b))
		}
		return new(naiveGlob(b, a))
	}
	a, ok := v.(float64)
	b, also := w.(float64)
	if !ok || !also {
		return nil
	}
	return new(map[string]bool{"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[op])
}

func naiveGlob(pattern, text string) bool {
	ok, err := path.Match(pattern, strings.ReplaceAll(text, "/", "|"))
	return ok && err == nil
}

func naiveCondition(c *policy.Caller, tests any, v any, found bool) *bool {
	m := tests.(map[string]any)
	if standIn, ok := m["default"]; !found && ok {
		v, found = standIn, true
	}
	if !found {
		return nil
	}
	result := yes
	for op, w := range m {
		if op != "default" {
			result = all(result, naiveTest(c, op, v, w))
		}
	}
	return result
}

func naiveArguments(c *policy.Caller, conditions any, args any) *bool {
	result := yes
	m, _ := conditions.(map[string]any)
	for pointer, tests := range m {
		v, found := naiveFind(args, pointer)
		result = all(result, naiveCondition(c, tests, v, found))
	}
	return result
}

func naiveWho(c *policy.Caller, who map[string]any, args any) *bool {
	result := yes
	for name, wanted := range who {
		var has []string
		switch name {
		case "arguments":
			result = all(result, naiveArguments(c, wanted, args))
			continue
		case "profile":
			result = all(result, new(slices.Contains(list(wanted), any(c.Profile))))
			continue
		case "claims":
			for claim, tests := range wanted.(map[string]any) {
				v, found := naiveValue(c, claim)
				one := naiveCondition(c, tests, v, found)
				if !c.Known {
					one = nil // whatever stands in
				}
				result = all(result, one)
			}
			continue
		case "subject":
			has = []string{c.Subject}
		case "group":
			has = c.Groups
		case "scope":
			has = c.Scopes
		}
		if !c.Known {
			result = all(result, nil)
			continue
		}
		result = all(result, new(slices.ContainsFunc(has,
			func(text string) bool { return slices.Contains(list(wanted), any(text)) })))
	}
	return result
}

func naiveWhat(i policy.Item, what map[string]any) *bool {
	named := false
	for _, name := range []string{"tool", "prompt", "resource"} {
		named = named || what[name] != nil
	}
	matches := !named
	name := map[policy.ItemKind]string{policy.Tool: "tool", policy.Prompt: "prompt",
		policy.Resource: "resource"}[i.Kind]
	if what[name] != nil {
		for _, pattern := range list(what[name]) {
			matches = matches || naiveGlob(pattern.(string), i.Name)
		}
	}
	if servers := what["server"]; servers != nil {
		any := false
		for _, pattern := range list(servers) {
			any = any || naiveGlob(pattern.(string), i.Server)
		}
		matches = matches && any
	}
	if kinds := what["kind"]; kinds != nil {
		is := []string{[]string{"read", "write", "destructive"}[i.Risk]}
		if i.Kind != policy.Tool {
			is = []string{"read"}
		} else if i.Open {
			is = append(is, "open-world")
		}
		matches = matches && slices.ContainsFunc(list(kinds),
			func(k any) bool { return slices.Contains(is, k.(string)) })
	}
	return new(matches)
}

func (t *naiveTable) decide(c *policy.Caller, i policy.Item, arguments string) policy.Effect {
	var args any
	_ = json.Unmarshal([]byte(arguments), &args)
	granted, asked := t.Default == "allow", false
	for _, r := range t.Rules {
		holds := all(naiveWhat(i, r.What), naiveWho(c, r.Who, args),
			naiveArguments(c, r.Arguments, args))
		if r.Unless != nil {
			holds = all(holds, negated(naiveWho(c, r.Unless, args)))
		}
		restricts := holds == nil || *holds
		switch r.Effect {
		case "deny", "hide":
			if restricts {
				return policy.Deny
			}
		case "ask":
			asked = asked || restricts
			fallthrough
		case "allow":
			granted = granted || holds != nil && *holds
		}
	}
	switch {
	case !granted:
		return policy.Deny
	case asked:
		return policy.Ask
	}
	return policy.Allow
}

// A source makes random tables and questions of a small vocabulary, so that rules often apply.
type source struct{ *rand.Rand }

func pick[T any](s source, from ...T) T { return from[s.IntN(len(from))] }

func (s source) some(from ...string) any {
	if s.IntN(2) == 0 {
		return pick(s, from...)
	}
	return []string{pick(s, from...), "other"}
}

func (s source) condition() map[string]any {
	m := map[string]any{}
	if s.IntN(4) == 0 {
		m["default"] = pick[any](s, "a", 1, true)
	}
	for range 1 + s.IntN(2) {
		claim := map[string]any{"claim": pick(s, "sub", "level", "team")}
		switch op := pick(s, "eq", "in", "contains", "prefix", "glob", "lt", "ge"); op {
		case "eq", "contains":
			m[op] = pick[any](s, "a", "alice", 1, true, claim)
		case "in":
			m[op] = pick[any](s, []any{"a", "b"}, []any{1, "alice"}, []any{true}, claim)
		case "prefix":
			m[op] = pick[any](s, "a", "/x/", claim)
		case "glob":
			m[op] = pick[any](s, "a*", "?", "*x*")
		default:
			m[op] = pick[any](s, 1, 2.5, claim)
		}
	}
	return m
}

func (s source) who() map[string]any {
	m := map[string]any{}
	for range s.IntN(3) {
		switch s.IntN(5) {
		case 0:
			m["subject"] = s.some("alice", "bob")
		case 1:
			m["group"] = s.some("admin", "dev")
		case 2:
			m["scope"] = s.some("read", "write")
		case 3:
			m["profile"] = s.some("work", "home")
		case 4:
			m["claims"] = map[string]any{pick(s, "level", "team", "none"): s.condition()}
		}
	}
	return m
}

func (s source) arguments() map[string]any {
	return map[string]any{pick(s, "/a", "/b/c", "/d"): s.condition(), "/a": s.condition()}
}

func (s source) table() *naiveTable {
	t := &naiveTable{Default: pick(s, "allow", "deny", "deny")}
	for range 1 + s.IntN(8) {
		r := naiveRule{Effect: pick(s, "allow", "allow", "ask", "deny", "hide"), Who: s.who()}
		if s.IntN(3) > 0 {
			r.What = map[string]any{}
			for range s.IntN(3) {
				switch s.IntN(5) {
				case 0:
					r.What["server"] = s.some("files", "d*")
				case 1:
					r.What["tool"] = s.some("read", "w*")
				case 2:
					r.What["prompt"] = s.some("*")
				case 3:
					r.What["resource"] = s.some("x:*")
				case 4:
					r.What["kind"] = s.some("read", "write", "destructive", "open-world")
					if l, ok := r.What["kind"].([]string); ok {
						l[1] = "read"
					}
				}
			}
		}
		if r.Effect != "hide" && s.IntN(2) == 0 {
			r.Arguments = s.arguments()
		}
		if r.Effect != "hide" && s.IntN(3) == 0 { // many differ in a text only
			r.Who = pick(s, nil, map[string]any{"group": "dev"}, map[string]any{"profile": "work"},
				map[string]any{"claims": map[string]any{"team": map[string]any{"contains": "b"}}})
			test := map[string]any{pick(s, "eq", "prefix"): pick(s, "a", "ax", "/x/", "alice")}
			if s.IntN(4) == 0 {
				test["default"] = "a"
			}
			r.Arguments = map[string]any{"/a": test}
			r.Unless = pick(s, nil, nil, map[string]any{"subject": "alice"})
		} else if s.IntN(3) == 0 {
			if r.Unless = s.who(); r.Effect != "hide" && s.IntN(2) == 0 {
				r.Unless["arguments"] = s.arguments()
			}
			if len(r.Unless) == 0 {
				r.Unless = nil
			}
		}
		t.Rules = append(t.Rules, r)
	}
	return t
}

func (s source) caller() *policy.Caller {
	c := &policy.Caller{Profile: pick(s, "", "work", "home")}
	if s.IntN(5) == 0 {
		return c
	}
	c.Known, c.Subject = true, pick(s, "alice", "bob", "")
	c.Groups = pick(s, nil, []string{"dev"}, []string{"dev", "admin"})
	c.Scopes = pick(s, nil, []string{"read"}, []string{"write", "read"})
	c.Claims = map[string]json.RawMessage{}
	if s.IntN(2) == 0 {
		c.Claims["level"] = json.RawMessage(pick(s, "1", "2.5", `"a"`, `["a",1]`, `{}`))
	}
	if s.IntN(2) == 0 {
		c.Claims["team"] = json.RawMessage(pick(s, `"a"`, `["b"]`, `[]`, "null", "true"))
	}
	return c
}

func (s source) item() policy.Item {
	return policy.Item{Kind: pick(s, policy.Tool, policy.Tool, policy.Prompt, policy.Resource),
		Server: pick(s, "files", "db"), Name: pick(s, "read", "write", "x:y"),
		Risk: pick(s, policy.Read, policy.Write, policy.Destructive), Open: s.IntN(2) == 0}
}

func (s source) call() string {
	value := func() string {
		return pick(s, `"a"`, `"alice"`, `1`, `2.5`, `true`, `null`, `["a",1]`, `{}`, `"/x/y"`,
			`"/x/../y"`, `"ax"`)
	}
	return pick(s, `{"a":`+value()+`}`, `{"a":`+value()+`,"b":{"c":`+value()+`},"d":`+value()+`}`,
		`{}`, `{"b":1}`)
}

// same reports whether two decisions are the same, by rules in the same place.
func same(a, b policy.Decision) bool {
	if a.Rule == nil || b.Rule == nil {
		return a == b
	}
	return a.Effect == b.Effect && a.Certain == b.Certain && a.Pointer == b.Pointer &&
		a.Rule.Source == b.Rule.Source
}

// A table decides as the naive evaluator does; and lists show an item if, and only if for the
// arguments tried, a call of it could be allowed.
func TestDecisionsAreThoseOfTheRules(t *testing.T) {
	s := source{rand.New(rand.NewPCG(1, 2))}
	seen := map[policy.Effect]int{}
	for range 600 {
		table := s.table()
		text, err := json.MarshalIndent(map[string]any{"default": table.Default, "rules": table.Rules},
			"", " ")
		assert.NilError(t, err)
		p, err := policy.ParseFile("p", text)
		assert.NilError(t, err, "%s", text)
		plain := policy.Unindexed(p)
		var decoded naiveTable
		assert.NilError(t, json.Unmarshal(text, &decoded))
		for range 6 {
			c, i := s.caller(), s.item()
			shown := p.Shows(c, i)
			assert.Assert(t, same(shown, plain.Shows(c, i)), "%s", text)
			matched := policy.Item{Kind: policy.Template, Server: i.Server, Name: "{id}"}
			assert.Assert(t, same(p.Shows(c, matched), plain.Shows(c, matched)), "%s", text)
			for range 6 {
				args := s.call()
				d := p.Decide(c, i, []byte(args))
				want := decoded.decide(c, i, args)
				context := func() string {
					return fmt.Sprintf("%s\ncaller %+v\nitem %+v\narguments %s\nshown %+v\ngot %+v",
						text, c, i, args, shown, d)
				}
				if d.Effect != want || !d.Certain {
					t.Fatalf("want %v: %s", want, context())
				}
				if other := plain.Decide(c, i, []byte(args)); !same(d, other) {
					t.Fatalf("without indexes it is %+v: %s", other, context())
				}
				if shown.Effect == deny && (d.Effect != deny || d.Pointer != "") {
					t.Fatalf("hidden, but not from the call: %s", context())
				}
				if shown.Effect != deny && d.Effect == deny && d.Pointer == "" {
					t.Fatalf("shown, but denied whatever the arguments are: %s", context())
				}
				if shown.Certain && shown.Effect != d.Effect {
					t.Fatalf("certain, but another effect: %s", context())
				}
				seen[d.Effect]++
			}
		}
	}
	assert.Assert(t, seen[allow] > 300 && seen[ask_] > 300 && seen[deny] > 300, "%v", seen)
}
