package config

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/httptoken"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/mcpjson"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/rpc/mcp"
)

var (
	commandType = valueType{"text, or array of texts", anyOf(object{"type": "string"},
		object{"type": "array", "items": scalar, "minItems": 1,
			"prefixItems": []object{{"not": object{"const": ""}}}},
		object{"type": "object", "required": []string{"path"}, // the older form of Zed
			"properties": object{"path": not(object{"const": ""})}})}
	envType = valueType{"object of texts", object{"type": "object",
		"propertyNames": pattern(`^[^=\u0000]+$`), "additionalProperties": scalar}}
	headersType = valueType{"object of texts", object{"type": "object",
		"propertyNames":        pattern(`^[!#-'*+.0-9A-Z^-z|~-]+$`),
		"additionalProperties": scalar}}
	inheritEnvType = valueType{"true or false, or array of names", anyOf(object{"type": "boolean"},
		object{"type": "array", "items": anyOf(object{"type": []string{"number", "boolean"}},
			object{"type": "string", "minLength": 1})})}
	variableNamesType = valueType{"array of names", object{"type": "array", "items": anyOf(
		object{"type": "string"}, object{"type": "object", "required": []string{"name"}})}}
	urlType = valueType{"URL", object{"type": "string",
		"pattern": `^$|\$\{|\{env:|^[hH][tT][tT][pP][sS]?://[^/?#]`}}
	transportType = valueType{"stdio, local, http, streamable-http, remote or sse",
		anyOf(object{"enum": []string{"stdio", "local", "http", "streamable-http", "remote", "sse"}},
			transportPattern(stdioTransport, httpTransport))}
	eraType = valueType{"auto, modern or legacy",
		object{"enum": []string{"auto", "modern", "legacy"}}}

	cacheScopeType = valueType{"private or public", object{"enum": []string{"private", "public"}}}
	timeoutType    = valueType{"whole number; 0: no limit", integer(0, int64(maxTime))}
	// fewer than the least could not hold the note about what is left out
	textLimitsType = valueType{"characters, at least 2000, or 0, or object of them by tool",
		anyOf(textLimit, object{"type": "object", "additionalProperties": textLimit})}
)

func (r *reader) readInheritEnv(s *Server, v jsonedit.Value) {
	if all, ok := v.AsBool(); ok {
		if all {
			s.InheritEnv = []string{"*"}
		}
		return
	}
	if !v.IsArray() {
		r.typeError(v, `true, or an array of names such as "AWS_*"`)
		return
	}
	s.InheritEnv = r.readStrings(v)
	for _, pattern := range s.InheritEnv {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			r.errorf(v.Start, "inheritEnv: %.60q is not a pattern", pattern)
		}
	}
}

// transportPattern returns a schema that matches the names of these transports, in any case and
// with separators anywhere.
func transportPattern(transports ...transport) object {
	var names []string
	for name, t := range transportNames {
		if slices.Contains(transports, t) {
			names = append(names, regexp.MustCompile(`[a-z]`).ReplaceAllStringFunc(name,
				func(c string) string { return "[" + c + strings.ToUpper(c) + "][-_+]*" }))
		}
	}
	slices.Sort(names)
	return object{"type": "string",
		"pattern": fmt.Sprintf(`^[-_+]*(%s)$`, strings.Join(names, "|"))}
}

func (r *reader) readTransport(_ *Server, v jsonedit.Value) {
	word := r.readString(v)
	r.transport = transportNames[strings.NewReplacer("-", "", "_", "", "+",
		"").Replace(strings.ToLower(word))]
	if r.transport == 0 && v.Data[v.Start] == '"' {
		hint := near.Match(word,
			[]string{"stdio", "local", "http", "streamable-http", "remote", "sse"})
		if hint == "" {
			hint = "stdio or http"
		}
		r.errorf(v.Start, "%s: %.60q is not a transport; write %s", r.field, word, hint)
	}
}

func (r *reader) readEra(s *Server, v jsonedit.Value) {
	switch word := r.readString(v); word {
	case "auto":
	case "modern":
		s.Era = mcp.Modern
	case "legacy":
		s.Era = mcp.Legacy
	default:
		r.errorf(v.Start, "%s: %.60q is not auto, modern or legacy", r.field, word)
	}
}

func (r *reader) readIdleStop(s *Server, v jsonedit.Value) {
	if d, ok := r.readDurationText(v); ok {
		s.IdleStop = negativeIfZero(d)
	}
}

func (r *reader) readCacheResults(s *Server, v jsonedit.Value) {
	s.CacheResults, _ = r.readDurationText(v)
}

func (r *reader) readCacheScope(s *Server, v jsonedit.Value) {
	switch word := r.readString(v); word {
	case string(mcp.CachePrivate):
		s.CachePublic = false
	case string(mcp.CachePublic):
		s.CachePublic = true
	default:
		r.errorf(v.Start, "%s: %.60q is neither private nor public", r.field, word)
	}
}

func (r *reader) readHeaders(s *Server, v jsonedit.Value) { r.addHeaders(s, v, r.readMap(v)) }

// addHeaders adds headers, which the value v defines.
func (r *reader) addHeaders(s *Server, v jsonedit.Value, added map[string]string) {
	if added == nil {
		return
	}
	all, seen := s.Headers, map[string]string{}
	if all == nil {
		all = map[string]string{}
	}
	for name := range all {
		seen[strings.ToLower(name)] = name
	}
	for _, name := range slices.Sorted(maps.Keys(added)) {
		if !httptoken.Is(name) {
			r.errorf(v.Start, "headers: %.60q cannot be the name of a header", namePrefix(name))
		}
		if other, duplicate := seen[strings.ToLower(name)]; duplicate {
			r.errorf(v.Start, "headers: %q and %q are the same header; remove one of them",
				min(name, other), max(name, other))
		}
		seen[strings.ToLower(name)] = name
		all[name] = added[name]
	}
	s.Headers = all
}

// minTextLimit is the least limit of the text of results, in characters. A preview of a result
// needs some hundred to say what it leaves out.
const minTextLimit = 2000

// allTools stands for the tools that have no limit of their own.
const allTools = "*"

var textLimit = anyOf(object{"const": 0}, integer(minTextLimit, maxSize))

// readTextLimits reads a limit of the text of results, or an object of limits by tool.
func (r *reader) readTextLimits(s *Server, v jsonedit.Value) {
	s.MaxResultText = map[string]int{}
	if !v.IsObject() {
		r.readTextLimit(s, allTools, v)
		return
	}
	member := r.field
	for _, m := range r.members(v) {
		r.field = fmt.Sprintf("%s.%.60s", member, m.Name)
		r.readTextLimit(s, m.Name, m.Value)
	}
}

func (r *reader) readTextLimit(s *Server, tool string, v jsonedit.Value) {
	n, ok := v.AsInt()
	if !ok || n != 0 && (n < minTextLimit || n > maxSize) {
		r.errorf(v.Start, "%s must be a whole number of characters, from %d to %d, or 0", r.field,
			minTextLimit, maxSize)
		return
	}
	s.MaxResultText[tool] = int(n)
}

// encodeTextLimits returns the limits of the text of results in the shorter form.
func encodeTextLimits(s *Server) any {
	if limit, given := s.MaxResultText[allTools]; given && len(s.MaxResultText) == 1 {
		return limit
	}
	return valueIf(s.MaxResultText, len(s.MaxResultText) > 0)
}

// The following are for members that only Codex has.

// variable returns the expansion of the variable that a text names.
func (r *reader) variable(v jsonedit.Value, name string) string {
	text := "${env:" + name + "}"
	if mcpjson.Pattern.FindString(text) != text {
		r.errorf(v.Start, "%s: %.60q cannot be the name of a variable", r.field, namePrefix(name))
	}
	return text
}

// readBearerVariable reads the name of the variable that has the token.
func (r *reader) readBearerVariable(s *Server, v jsonedit.Value) {
	r.addHeaders(s, v,
		map[string]string{"Authorization": "Bearer " + r.variable(v, r.readString(v))})
}

// readHeaderVariables reads headers whose values are the names of variables.
func (r *reader) readHeaderVariables(s *Server, v jsonedit.Value) {
	all := r.readMap(v)
	for header, name := range all {
		all[header] = r.variable(v, name)
	}
	r.addHeaders(s, v, all)
}

// readVariableNames reads the variables to pass on: their names, or objects with a name.
func (r *reader) readVariableNames(s *Server, v jsonedit.Value) {
	if !v.IsArray() {
		r.typeError(v, "an array of names")
		return
	}
	for _, element := range v.Elements() {
		if named, ok := element.Member("name"); ok {
			element = named
		}
		name, ok := element.AsString()
		if !ok || !variableName.MatchString(name) {
			r.errorf(element.Start, "%s must be an array of names of variables", r.field)
			return
		}
		s.InheritEnv = append(s.InheritEnv, name)
	}
}
