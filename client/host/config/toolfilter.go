package config

import (
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/internal/jsonedit"
)

// readTools reads tools: {allow, deny}, or an array of allowed patterns. An unknown member is an
// error, because ignoring it could allow tools that it denies.
func (r *reader) readTools(v jsonedit.Value) {
	if v.IsArray() {
		r.setAllow(v, r.readPatterns(v))
		return
	}
	if !v.IsObject() {
		r.typeError(v, "{allow: […], deny: […]} with patterns of tools' names")
		return
	}
	readMembers(r, v, "tools.", r, toolsFields(), func(m jsonedit.Member) {
		r.errorf(m.Offset, "tools has allow and deny, and no %.60q", m.Name)
	})
}

// toolsFields returns the members of tools.
func toolsFields() []field[*reader] {
	return []field[*reader]{
		{[]string{"allow"}, patternsType, "The tools that are offered; without it, all.",
			func(r *reader, v jsonedit.Value) { r.setAllow(v, r.readPatterns(v)) }},
		{[]string{"deny"}, patternsType, "Tools that are not offered, even if allow names them.",
			(*reader).readDeny},
	}
}

func (r *reader) readDeny(v jsonedit.Value) {
	r.server.Filter.Deny = append(r.server.Filter.Deny, r.readPatterns(v)...)
}

// setAllow sets the allowed patterns. It is an error if two members set them, because it is unclear
// which one restricts the other.
func (r *reader) setAllow(v jsonedit.Value, patterns []string) {
	if r.server.Filter.Allow != nil {
		r.errorf(v.Start,
			"%s: another field has already said which tools are allowed; remove one of them",
			r.field)
	}
	r.server.Filter.Allow = patterns
}

func (r *reader) readPatterns(v jsonedit.Value) []string {
	all := append([]string{}, r.readStrings(v)...)
	if err := (&host.Filter{Allow: all}).Check(); err != nil {
		r.errorf(v.Start, "%s: %v", r.field, err)
	}
	return all
}

// readToolFilter reads toolFilter of mcp-proxy.
func (r *reader) readToolFilter(v jsonedit.Value) {
	mode, _ := v.Member("mode")
	list, _ := v.Member("list")
	if list.Text == nil || mode.Text == nil {
		r.errorf(v.Start, "%s must be {mode: allow or block, list: […]}", r.field)
		return
	}
	names := r.readPatterns(list)
	switch word, _ := mode.AsString(); word {
	case "allow":
		r.setAllow(list, names)
	case "block":
		r.server.Filter.Deny = append(r.server.Filter.Deny, names...)
	default:
		r.errorf(mode.Start, "%s.mode must be allow or block", r.field)
	}
}

// readOptions reads the object options of mcp-proxy. It ignores members that have no meaning here.
func (r *reader) readOptions(v jsonedit.Value) {
	if !v.IsObject() {
		r.typeError(v, "an object")
		return
	}
	readMembers(r, v, "options.", r, optionsFields(), func(jsonedit.Member) {})
}

// optionsFields returns the members of options.
func optionsFields() []field[*reader] {
	return []field[*reader]{
		{[]string{"disabled"}, boolType, "The server is not started.", func(r *reader, v jsonedit.Value) {
			r.server.Disabled = r.server.Disabled || r.readBool(v)
		}},
		{[]string{"toolFilter"}, toolFilterType,
			"A list of tools, and whether these are allowed or blocked.", (*reader).readToolFilter},
	}
}
