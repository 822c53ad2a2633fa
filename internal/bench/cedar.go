package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cedar-policy/cedar-go"

	"github.com/stdwire/stdwire/internal/policy"
)

// A ruleTable is a table of rules, of which Cedar can express all but ask. What differs is what
// happens where a value is missing: Cedar skips such a policy, whatever its effect, and ours
// applies if it denies. So the translation says for each condition what holds then.
type ruleTable struct {
	Rules []ruleRow `json:"rules"`
}

type ruleRow struct {
	Effect    string              `json:"effect"` // allow or deny
	Who       *ruleWho            `json:"who,omitempty"`
	Unless    *ruleWho            `json:"unless,omitempty"`
	What      *ruleWhat           `json:"what,omitempty"`
	Arguments map[string]ruleTest `json:"arguments,omitempty"`
}

// A ruleWho has the conditions about callers. The claim roles is a list of texts, level a number
// and every other claim a text.
type ruleWho struct {
	Subject []string            `json:"subject,omitempty"`
	Group   []string            `json:"group,omitempty"`
	Claims  map[string]ruleTest `json:"claims,omitempty"`
}

type ruleWhat struct {
	Server []string `json:"server,omitempty"`
	Tool   []string `json:"tool,omitempty"` // with *
}

// A ruleTest compares an argument or a claim by one or more of eq, in, contains, prefix, lt and ge.
type ruleTest map[string]any

// policy reads the table.
func (t *ruleTable) policy() (*policy.Policy, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return policy.ParseFile("rules", text)
}

// cedar translates the table.
func (t *ruleTable) cedar() (*cedar.PolicySet, error) {
	var all strings.Builder
	for _, r := range t.Rules {
		effect, unclear := "permit", "false" // what a condition is that cannot be evaluated
		if r.Effect == "deny" {
			effect, unclear = "forbid", "true"
		}
		fmt.Fprintf(&all, "%s (principal, action, resource)\nwhen { %s };\n", effect,
			r.condition(unclear))
	}
	return cedar.NewPolicySetFromBytes("rules", []byte(all.String()))
}

// condition returns the condition under which the rule applies.
func (r *ruleRow) condition(unclear string) string {
	all := []string{r.Who.condition(unclear)}
	if r.Unless != nil {
		never := map[string]string{"true": "false", "false": "true"}[unclear]
		all = append(all, "!"+r.Unless.condition(never))
	}
	if r.What != nil {
		all = append(all, anyOf(r.What.Server, `context.server like %s`),
			anyOf(r.What.Tool, `context.tool like %s`))
	}
	for _, pointer := range slices.Sorted(maps.Keys(r.Arguments)) {
		all = append(all, r.Arguments[pointer].condition("arguments", pointer[1:], unclear))
	}
	return strings.Join(slices.DeleteFunc(all, func(c string) bool { return c == "" }), " && ")
}

func (w *ruleWho) condition(unclear string) string {
	if w == nil {
		return "true"
	}
	var all []string
	for _, c := range []string{anyOf(w.Subject, `principal == User::%s`),
		anyOf(w.Group, `principal in Group::%s`)} {
		if c != "" {
			all = append(all, c)
		}
	}
	for _, claim := range slices.Sorted(maps.Keys(w.Claims)) {
		all = append(all, w.Claims[claim].condition("claims", claim, unclear))
	}
	if all == nil {
		return "true"
	}
	return "(" + strings.Join(all, " && ") + ")"
}

// anyOf returns a condition with each of some texts.
func anyOf(texts []string, format string) string {
	if texts == nil {
		return ""
	}
	var all []string
	for _, text := range texts {
		all = append(all, fmt.Sprintf(format, strconv.Quote(text)))
	}
	return "(" + strings.Join(all, " || ") + ")"
}

// condition returns the tests of a member of a record of the context.
func (t ruleTest) condition(record, name, unclear string) string {
	all := []string{}
	value := "context." + record + "." + name
	for _, op := range slices.Sorted(maps.Keys(t)) {
		with, _ := json.Marshal(t[op])
		has, compared := "", string(with)
		if claim, ok := t[op].(map[string]any); ok {
			has = "context.claims has " + claim["claim"].(string)
			compared = "context.claims." + claim["claim"].(string)
		}
		one := value + " == " + compared
		switch op {
		case "in":
			one = compared + ".contains(" + value + ")"
		case "contains":
			one = value + ".contains(" + compared + ")"
		case "prefix":
			one = value + " like " + strconv.Quote(t[op].(string)+"*")
		case "lt":
			one = value + " < " + compared
		case "ge":
			one = value + " >= " + compared
		}
		if has != "" {
			one = "if " + has + " then " + one + " else " + unclear
		}
		all = append(all, "("+one+")")
	}
	return fmt.Sprintf("(if context.%s has %s then %s else %s)", record, name,
		strings.Join(all, " && "), unclear)
}

// A ruleQuestion is a call, for both.
type ruleQuestion struct {
	subject      string
	groups       []string
	claims       map[string]any // texts, numbers and lists of texts
	server, tool string
	arguments    map[string]any
}

// policy returns the question for a Policy.
func (q *ruleQuestion) policy() (*policy.Caller, policy.Item, []byte) {
	c := &policy.Caller{Known: true, Subject: q.subject, Groups: q.groups,
		Claims: map[string]json.RawMessage{}}
	for name, value := range q.claims {
		c.Claims[name], _ = json.Marshal(value)
	}
	arguments, _ := json.Marshal(q.arguments)
	return c, policy.Item{Server: q.server, Name: q.tool, Risk: policy.Destructive}, arguments
}

// cedar returns the question for Cedar.
func (q *ruleQuestion) cedar() (cedar.EntityMap, cedar.Request) {
	user := cedar.NewEntityUID("User", cedar.String(q.subject))
	var parents []cedar.EntityUID
	for _, group := range q.groups {
		parents = append(parents, cedar.NewEntityUID("Group", cedar.String(group)))
	}
	entities := cedar.EntityMap{user: {UID: user, Parents: cedar.NewEntityUIDSet(parents...)}}
	return entities, cedar.Request{Principal: user,
		Action:   cedar.NewEntityUID("Action", "call"),
		Resource: cedar.NewEntityUID("Tool", cedar.String(q.tool)),
		Context: cedar.NewRecord(cedar.RecordMap{
			"server": cedar.String(q.server), "tool": cedar.String(q.tool),
			"claims": cedarRecord(q.claims), "arguments": cedarRecord(q.arguments)})}
}

func cedarRecord(members map[string]any) cedar.Record {
	record := cedar.RecordMap{}
	for name, value := range members {
		switch v := value.(type) {
		case string:
			record[cedar.String(name)] = cedar.String(v)
		case int:
			record[cedar.String(name)] = cedar.Long(v)
		case []string:
			var all []cedar.Value
			for _, text := range v {
				all = append(all, cedar.String(text))
			}
			record[cedar.String(name)] = cedar.NewSet(all...)
		}
	}
	return cedar.NewRecord(record)
}
