package config

import (
	"encoding/json"

	"github.com/stdwire/stdwire/internal/jsonedit"
)

var (
	toolFilterType = valueType{"object {mode, list}", object{"type": "object",
		"properties": object{"mode": object{"enum": []string{"allow", "block"}},
			"list": patternsType.schema},
		"required": []string{"mode", "list"}}}
	toolsType = valueType{"array of patterns, or object",
		anyOf(patternsType.schema, reference("tools"))}
	optionsType = valueType{"object", reference("options")}
)

// readTools reads tools: {allow, deny}, or an array of allowed patterns. An unknown member is an
// error, because ignoring it could allow tools that it denies.
func (r *reader) readTools(s *Server, v jsonedit.Value) {
	if v.IsArray() {
		r.setAllow(s, v, r.readPatterns(v))
		return
	}
	if !v.IsObject() {
		r.typeError(v, "{allow: […], deny: […]} with patterns of tools' names")
		return
	}
	readMembers(r, v, "tools.", s, toolsFields(), func(m jsonedit.Member) {
		r.errorf(m.Offset, "tools has allow, deny and listed, and no %.60q", m.Name)
	})
}

// toolsFields returns the members of tools.
func toolsFields() []field[*Server] {
	return []field[*Server]{
		{names: []string{"allow"}, valueType: patternsType, secret: notSecret,
			help: "The tools that are offered; without it, all.",
			read: (*reader).readAllow, json: func(s *Server) any {
				if s.Filter.Allow == nil { // an empty array is not
					return nil
				}
				return s.Filter.Allow
			}},
		{names: []string{"deny"}, valueType: patternsType, secret: notSecret,
			help: "Tools that are not offered, even if allow names them.",
			at:   func(s *Server) any { return &s.Filter.Deny }, read: (*reader).readDeny},
		{names: []string{"listed"}, valueType: patternsType, secret: notSecret,
			help: "Tools that a gateway lists also for clients that find the others by a search.",
			at:   func(s *Server) any { return &s.Listed },
			read: func(r *reader, s *Server, v jsonedit.Value) { s.Listed = r.readPatterns(v) }},
	}
}

// encodeTools returns the value of the member tools.
func encodeTools(s *Server) any {
	if s.Filter.Allow == nil && s.Filter.Deny == nil && s.Listed == nil {
		return nil
	}
	return json.RawMessage(jsonedit.Object(encodeFields(toolsFields(), s)))
}

func (r *reader) readAllow(s *Server, v jsonedit.Value) { r.setAllow(s, v, r.readPatterns(v)) }

func (r *reader) readDeny(s *Server, v jsonedit.Value) {
	s.Filter.Deny = append(s.Filter.Deny, r.readPatterns(v)...)
}

// setAllow sets the allowed patterns. It is an error if two members set them, because it is unclear
// which one restricts the other.
func (r *reader) setAllow(s *Server, v jsonedit.Value, patterns []string) {
	if s.Filter.Allow != nil {
		r.errorf(v.Start,
			"%s: another field has already said which tools are allowed; remove one of them",
			r.field)
	}
	s.Filter.Allow = patterns
}

// readToolFilter reads toolFilter of mcp-proxy.
func (r *reader) readToolFilter(s *Server, v jsonedit.Value) {
	mode, _ := v.Member("mode")
	list, _ := v.Member("list")
	if list.Text == nil || mode.Text == nil {
		r.errorf(v.Start, "%s must be {mode: allow or block, list: […]}", r.field)
		return
	}
	names := r.readPatterns(list)
	switch word, _ := mode.AsString(); word {
	case "allow":
		r.setAllow(s, list, names)
	case "block":
		s.Filter.Deny = append(s.Filter.Deny, names...)
	default:
		r.errorf(mode.Start, "%s.mode must be allow or block", r.field)
	}
}

// readOptions reads the object options of mcp-proxy. It ignores members that have no meaning here.
func (r *reader) readOptions(s *Server, v jsonedit.Value) {
	if !v.IsObject() {
		r.typeError(v, "an object")
		return
	}
	readMembers(r, v, "options.", s, optionsFields(), func(jsonedit.Member) {})
}

// optionsFields returns the members of options.
func optionsFields() []field[*Server] {
	return []field[*Server]{
		{names: []string{"disabled"}, valueType: boolType, secret: notSecret,
			help: "The server is not started.",
			read: func(r *reader, s *Server, v jsonedit.Value) {
				s.Disabled = s.Disabled || r.readBool(v)
			}},
		{names: []string{"toolFilter"}, valueType: toolFilterType, secret: notSecret,
			help: "A list of tools, and whether these are allowed or blocked.",
			read: (*reader).readToolFilter},
	}
}
