package main

import (
	"fmt"

	"github.com/cedar-policy/cedar-go"

	"github.com/stdwire/stdwire/internal/policy"
)

const tableRules = 1000

// ruleTables are tables of tableRules rules, of which the one in the middle or all allow a call. N
// is the number of the rule.
var ruleTables = []struct {
	name string
	rule func(n string) ruleRow
}{
	{"by subject", func(n string) ruleRow {
		return ruleRow{Who: &ruleWho{Subject: []string{"user" + n}}}
	}},
	{"by group", func(n string) ruleRow {
		return ruleRow{Who: &ruleWho{Group: []string{"group" + n}},
			What: &ruleWhat{Server: []string{"f*"}}}
	}},
	{"by claim", func(n string) ruleRow {
		return ruleRow{Who: &ruleWho{Claims: map[string]ruleTest{"tenant": {"eq": "tenant" + n}}}}
	}},
	{"by tool", func(n string) ruleRow { return ruleRow{What: &ruleWhat{Tool: []string{"tool" + n}}} }},
	{"by argument", func(n string) ruleRow {
		return ruleRow{Arguments: map[string]ruleTest{"/path": {"eq": "/data/" + n + "/x"}}}
	}},
	{"by the beginning of an argument", func(n string) ruleRow {
		return ruleRow{Arguments: map[string]ruleTest{"/path": {"prefix": "/data/" + n + "/"}}}
	}},
	{"all for one tool and group", func(n string) ruleRow {
		return ruleRow{Who: &ruleWho{Group: []string{"group500"}},
			What:      &ruleWhat{Tool: []string{"tool500", "other" + n}},
			Arguments: map[string]ruleTest{"/path": {"prefix": "/data/"}}}
	}},
}

// rulesSuite measures decisions about a call by tables of rules, beside Cedar with the same ones.
// Entities and requests of Cedar are made beforehand; callers and arguments of ours, too, but the
// arguments are parsed.
func rulesSuite(o options) (all []measure, err error) {
	q := ruleQuestion{subject: "user500", groups: []string{"group1", "group500"},
		claims: map[string]any{"tenant": "tenant500"}, server: "files", tool: "tool500",
		arguments: map[string]any{"mode": "r", "path": "/data/500/x"}}
	caller, item, arguments := q.policy()
	entities, request := q.cedar()
	for _, t := range ruleTables {
		var table ruleTable
		for n := range tableRules {
			r := t.rule(fmt.Sprint(n))
			r.Effect = "allow"
			table.Rules = append(table.Rules, r)
		}
		ours, err := table.policy()
		if err != nil {
			return nil, err
		}
		theirs, err := table.cedar()
		if err != nil {
			return nil, err
		}
		for _, program := range []struct {
			name   string
			allows func() bool
		}{
			{"stdwire", func() bool {
				return ours.Decide(caller, item, arguments).Effect == policy.Allow
			}},
			{"cedar-go", func() bool {
				decision, _ := cedar.Authorize(theirs, entities, request)
				return bool(decision)
			}},
		} {
			if !o.measures(program.name) {
				continue
			}
			m, err := benchmark(o.time, 1, func() error {
				if !program.allows() {
					return fmt.Errorf("%s: the call is denied", t.name)
				}
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", program.name, err)
			}
			m.what, m.program = fmt.Sprintf("%d rules, %s", tableRules, t.name), program.name
			all = append(all, m)
		}
	}
	return all, nil
}
