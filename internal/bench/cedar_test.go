package main

import (
	"math/rand/v2"
	"testing"

	"github.com/cedar-policy/cedar-go"
	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/policy"
)

// A ruleSource makes random tables and questions of a small vocabulary.
type ruleSource struct{ *rand.Rand }

func one[T any](s ruleSource, of ...T) T { return of[s.IntN(len(of))] }

func (s ruleSource) test(name string) ruleTest {
	claim := map[string]any{"claim": one(s, "team", "none")}
	switch name {
	case "roles":
		return ruleTest{"contains": one[any](s, "r", "w", claim)}
	case "level":
		return ruleTest{one(s, "lt", "ge"): 1 + s.IntN(3)}
	}
	t := ruleTest{}
	for range 1 + s.IntN(2) {
		switch op := one(s, "eq", "in", "prefix"); op {
		case "eq":
			t[op] = one[any](s, "a", "ab", claim)
		case "in":
			t[op] = []string{"a", one(s, "ab", "b")}
		default:
			t[op] = one(s, "a", "ab")
		}
	}
	return t
}

func (s ruleSource) who() *ruleWho {
	w := &ruleWho{}
	switch s.IntN(4) {
	case 0:
		w.Subject = []string{one(s, "ada", "bob")}
	case 1:
		w.Group = []string{"dev", one(s, "ops", "none")}
	case 2:
		w.Group = []string{"ops"}
	}
	if name := one(s, "roles", "level", "team"); w.Subject == nil && w.Group == nil ||
		s.IntN(2) == 0 {
		w.Claims = map[string]ruleTest{name: s.test(name)}
	}
	return w
}

func (s ruleSource) table() (t ruleTable) {
	for range 1 + s.IntN(6) {
		r := ruleRow{Effect: one(s, "allow", "allow", "deny")}
		if s.IntN(2) == 0 {
			r.Who = s.who()
		}
		if s.IntN(3) == 0 {
			r.Unless = s.who()
		}
		if s.IntN(2) == 0 {
			r.What = &ruleWhat{Tool: []string{one(s, "read", "w*")}}
		} else if s.IntN(2) == 0 {
			r.What = &ruleWhat{Server: []string{one(s, "files", "d*")}}
		}
		if s.IntN(2) == 0 {
			r.Arguments = map[string]ruleTest{"/a": s.test("a")}
			if s.IntN(2) == 0 {
				r.Arguments["/level"] = s.test("level")
			}
		}
		t.Rules = append(t.Rules, r)
	}
	return t
}

func (s ruleSource) question() ruleQuestion {
	q := ruleQuestion{subject: one(s, "ada", "bob"), claims: map[string]any{},
		groups: one(s, nil, []string{"dev"}, []string{"dev", "ops"}),
		server: one(s, "files", "db"), tool: one(s, "read", "write"), arguments: map[string]any{}}
	for name, value := range map[string]any{"roles": one(s, []string{"r"}, []string{"r", "w"}, []string{}),
		"level": s.IntN(4), "team": one(s, "a", "ab", "b")} {
		if s.IntN(3) > 0 {
			q.claims[name] = value
		}
	}
	for name, value := range map[string]any{"a": one(s, "a", "ab", "b", "abc"), "level": s.IntN(4)} {
		if s.IntN(3) > 0 {
			q.arguments[name] = value
		}
	}
	return q
}

// Tables of rules decide as Cedar does with the same policies, also where claims and arguments are
// missing.
func TestRulesDecideAsCedar(t *testing.T) {
	s := ruleSource{rand.New(rand.NewPCG(3, 4))}
	seen := map[cedar.Decision]int{}
	for range 2000 {
		table := s.table()
		ours, err := table.policy()
		assert.NilError(t, err)
		theirs, err := table.cedar()
		assert.NilError(t, err, "%s", table.Rules)
		for range 20 {
			q := s.question()
			entities, request := q.cedar()
			want, why := cedar.Authorize(theirs, entities, request)
			assert.Equal(t, len(why.Errors), 0, "%v", why.Errors)
			got := ours.Decide(q.policy())
			if (got.Effect == policy.Allow) != bool(want) {
				t.Fatalf("Cedar decides %v, we %+v\n%s\n%+v", want, got, theirs.MarshalCedar(), q)
			}
			seen[want]++
		}
	}
	assert.Assert(t, seen[cedar.Allow] > 3000 && seen[cedar.Deny] > 3000, "%v", seen)
}
