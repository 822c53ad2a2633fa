//go:build linux

package conformance_test

import (
	"path"
	"slices"
	"strings"
)

// A ruleRow is a row of a table of rules, as far as the matrix needs it. The gateway's table is its
// JSON.
type ruleRow struct {
	Effect    string              `json:"effect"`
	Who       *ruleWho            `json:"who,omitempty"`
	What      *ruleWhat           `json:"what,omitempty"`
	Arguments map[string]ruleTest `json:"arguments,omitempty"`
	Unless    *ruleWho            `json:"unless,omitempty"`
	Reason    string              `json:"reason,omitempty"`
}

type ruleWho struct {
	Subject string              `json:"subject,omitempty"`
	Group   string              `json:"group,omitempty"`
	Claims  map[string]ruleTest `json:"claims,omitempty"`
}

type ruleWhat struct {
	Server   []string `json:"server,omitempty"`
	Tool     []string `json:"tool,omitempty"`
	Resource []string `json:"resource,omitempty"`
	Kind     string   `json:"kind,omitempty"`
}

// A ruleTest has one member: eq, prefix or ge.
type ruleTest map[string]any

// A ruleUser is a user, as the issuer's tokens describe him.
type ruleUser struct {
	name, group string
	level       float64 // 0: none
}

// A ruleItem is what a user may want to use: one of both names is "".
type ruleItem struct{ server, tool, resource, kind string }

// eval reports whether a value passes a test, or whether that is unclear.
func (t ruleTest) eval(u ruleUser, v any) (holds, unclear bool) {
	if v == nil {
		return false, true
	}
	switch {
	case t["eq"] != nil:
		if _, isClaim := t["eq"].(map[string]string); isClaim {
			return v == u.name, false
		}
		return v == t["eq"], false
	case t["prefix"] != nil:
		return strings.HasPrefix(v.(string), t["prefix"].(string)), false
	}
	return v.(float64) >= t["ge"].(float64), false
}

// applies evaluates who: false wins over unclear.
func (w *ruleWho) applies(u ruleUser) (holds, unclear bool) {
	if w == nil {
		return true, false
	}
	if w.Subject != "" && w.Subject != u.name || w.Group != "" && w.Group != u.group {
		return false, false
	}
	for _, test := range w.Claims { // there is one: level
		var level any
		if u.level != 0 {
			level = u.level
		}
		return test.eval(u, level)
	}
	return true, false
}

func (w *ruleWhat) applies(i ruleItem) bool {
	if w == nil {
		return true
	}
	matches := func(patterns []string, name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, _ := path.Match(p, strings.ReplaceAll(name, "/", "|"))
			return ok
		})
	}
	return (w.Server == nil || matches(w.Server, i.server)) &&
		(w.Tool == nil && w.Resource == nil || i.tool != "" && matches(w.Tool, i.tool) ||
			i.resource != "" && matches(w.Resource, i.resource)) &&
		(w.Kind == "" || w.Kind == i.kind)
}

// naively decides a call: the first effect of hide, deny, ask and allow that a rule has, in this
// order of strength. Only allow and ask need all that a rule says to be certain.
func naively(rules []ruleRow, u ruleUser, i ruleItem, arguments map[string]any) string {
	found := map[string]bool{}
	for _, r := range rules {
		holds, unclear := r.Who.applies(u)
		if !holds && !unclear || !r.What.applies(i) {
			continue
		}
		never := false
		for pointer, test := range r.Arguments {
			ok, not := test.eval(u, arguments[strings.TrimPrefix(pointer, "/")])
			never = never || !ok && !not
			unclear = unclear || not
		}
		if r.Unless != nil {
			except, not := r.Unless.applies(u)
			never = never || except
			unclear = unclear || not
		}
		restricts := r.Effect == "hide" || r.Effect == "deny"
		if !never && (!unclear || restricts) {
			found[r.Effect] = true
		}
	}
	for _, effect := range []string{"hide", "deny", "ask", "allow"} {
		if found[effect] {
			return effect
		}
	}
	return "deny"
}

// naivelyShown says whether lists show an item: if there are arguments with which it may be used.
func naivelyShown(rules []ruleRow, u ruleUser, i ruleItem) bool {
	for _, owner := range []any{nil, u.name, "another"} {
		for _, where := range []any{nil, "/home/x", "/etc/x"} {
			with := map[string]any{"owner": owner, "path": where}
			if d := naively(rules, u, i, with); d == "allow" || d == "ask" {
				return true
			}
		}
	}
	return false
}
