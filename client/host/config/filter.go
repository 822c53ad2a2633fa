package config

import (
	"path"
	"slices"
	"strings"
)

// A Filter says which tools of a server there are, by the names that the server gives them. A pattern is as in [path.Match], but for * and ?, which stand for a
// slash too. The zero value lets all tools pass.
type Filter struct {
	Allow []string // nil is all; an empty one is none
	Deny  []string // wins
}

// Permits reports whether a tool passes. What does not must not be listed, and not be called.
func (f Filter) Permits(tool string) bool {
	return (f.Allow == nil || matchAny(f.Allow, tool)) && !matchAny(f.Deny, tool)
}

func matchAny(patterns []string, tool string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(noSlash(pattern), noSlash(tool))
		return ok && err == nil
	})
}

// noSlash takes the slash, which * does not stand for, out of the way.
func noSlash(s string) string { return strings.ReplaceAll(s, "/", "\x01") }

// exactly makes patterns of names.
func exactly(names []string) []string {
	patterns := []string{}
	for _, name := range names {
		patterns = append(patterns, strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name))
	}
	return patterns
}

// filter reads tools: {allow, deny}, or only what is allowed. Whatever is wrong with it is an error: a filter that is not understood must not let everything pass.
func (r *reader) filter(v value) {
	f := &r.server.Filter
	if v.isArray() {
		r.allow(v, r.patterns(v))
		return
	}
	if !v.isObject() {
		r.wants(v, "{allow: […], deny: […]} with patterns of tools' names")
		return
	}
	for _, m := range r.members(v) {
		r.field = "tools." + m.name
		switch m.name {
		case "allow":
			r.allow(m.value, r.patterns(m.value))
		case "deny":
			f.Deny = append(f.Deny, r.patterns(m.value)...)
		default:
			r.errorf(m.at, "tools has allow and deny, and no %.60q", m.name)
		}
	}
}

// allow sets what is allowed, which only one field may do: of two, either would widen the other.
func (r *reader) allow(v value, patterns []string) {
	if r.server.Filter.Allow != nil {
		r.errorf(v.start, "%s: another field has already said which tools are allowed; leave out one of them", r.field)
	}
	r.server.Filter.Allow = patterns
}

func (r *reader) patterns(v value) []string {
	all := append([]string{}, r.texts(v)...)
	for _, pattern := range all {
		if _, err := path.Match(noSlash(pattern), ""); err != nil || pattern == "" {
			r.errorf(v.start, "%s: %.60q is no pattern", r.field, pattern)
		}
	}
	return all
}

// toolFilter reads that of mcp-proxy.
func (r *reader) toolFilter(v value) {
	mode, _ := v.member("mode")
	list, _ := v.member("list")
	if list.text == nil || mode.text == nil {
		r.errorf(v.start, "%s wants {mode: allow or block, list: […]}", r.field)
		return
	}
	names := exactly(r.texts(list))
	switch word, _ := mode.string(); word {
	case "allow":
		r.allow(list, names)
	case "block":
		r.server.Filter.Deny = append(r.server.Filter.Deny, names...)
	default:
		r.errorf(mode.start, "%s.mode wants allow or block", r.field)
	}
}
