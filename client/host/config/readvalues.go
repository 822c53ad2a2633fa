package config

import (
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/httptoken"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/mcpjson"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// bracePattern matches a variable as in opencode.
var bracePattern = regexp.MustCompile(`\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)

// unknownField keeps an unknown member, and warns about it unless other applications commonly write
// it.
func (r *reader) unknownField(m jsonedit.Member) {
	if m.Name != "tools" { // Codex's member, which Parse would read as stdwire's
		r.server.extraFields = append(r.server.extraFields, extraField{m.Name, m.JSON()})
	}
	if r.hasTooManyDiagnostics() || strings.HasPrefix(m.Name, "$") || m.Name == "description" ||
		m.Name == "name" {
		return
	}
	if match := near.Match(m.Name, fieldNames()); match != "" && match != m.Name {
		r.warnf(m.Offset, "unknown field %.60q; did you mean %s?", m.Name, match)
		return
	}
	r.warnf(m.Offset, "unknown field %.60q; it does nothing here", m.Name)
}

// typeError reports a value of the wrong type.
func (r *reader) typeError(v jsonedit.Value, what string) {
	r.errorf(v.Start, "%s must be %s, not %s", r.field, what, v.TypeName())
}

// readString reads a string.
func (r *reader) readString(v jsonedit.Value) string {
	text, ok := v.AsString()
	if !ok {
		r.typeError(v, "text")
	}
	return r.normalizeVariables(text)
}

// readScalar reads a string. It accepts a boolean or a number as its text.
func (r *reader) readScalar(v jsonedit.Value) (string, bool) {
	switch v.Data[v.Start] {
	case '"':
		text, _ := v.AsString()
		return r.normalizeVariables(text), true
	case '{', '[', 'n':
		return "", false
	}
	return string(v.JSON()), true
}

// normalizeVariables converts variables to the form that Resolve expands.
func (r *reader) normalizeVariables(text string) string {
	if r.braceVariables {
		text = bracePattern.ReplaceAllString(text, "$${env:$1}")
	}
	return text
}

func (r *reader) readStrings(v jsonedit.Value) (all []string) {
	if !v.IsArray() {
		r.typeError(v, "an array of texts")
		return nil
	}
	for i, element := range v.Elements() {
		text, ok := r.readScalar(element)
		if !ok {
			r.errorf(element.Start, "%s[%d] must be text, not %s", r.field, i,
				element.TypeName())
		}
		all = append(all, text)
	}
	return all
}

func (r *reader) readMap(v jsonedit.Value) map[string]string {
	if !v.IsObject() {
		r.typeError(v, "an object of texts")
		return nil
	}
	all := map[string]string{}
	for _, m := range r.members(v) {
		text, ok := r.readScalar(m.Value)
		if !ok {
			r.errorf(m.Start, "%s.%.60q must be text, not %s", r.field, m.Name, m.TypeName())
		}
		all[m.Name] = text
	}
	return all
}

func (r *reader) readEnv(v jsonedit.Value) map[string]string {
	all := r.readMap(v)
	for name := range all {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			r.errorf(v.Start, "%s: %.60q cannot be the name of a variable", r.field,
				namePrefix(name))
		}
	}
	return all
}

// namePrefix returns an invalid name up to a separator, because the rest may be a secret value.
func namePrefix(name string) string {
	if i := strings.IndexAny(name, " =:"); i >= 0 {
		return name[:i+1] + "…"
	}
	return name
}

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

// A transport is the value of the member type; 0 if it is absent.
type transport uint8

const (
	stdioTransport transport = iota + 1
	httpTransport
)

// transportNames are the known values of type, in lower case and without separators.
var transportNames = map[string]transport{
	"stdio": stdioTransport, "local": stdioTransport,
	// The client detects HTTP+SSE.
	"http": httpTransport, "streamablehttp": httpTransport, "remote": httpTransport,
	"sse": httpTransport,
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

func (r *reader) readBool(v jsonedit.Value) bool {
	is, ok := v.AsBool()
	if !ok {
		r.typeError(v, "true or false")
	}
	return is
}

// maxSize limits sizes, in bytes.
const maxSize = 1 << 30

// readSize reads a number of bytes.
func (r *reader) readSize(v jsonedit.Value) int {
	n, ok := v.AsInt()
	if !ok || n <= 0 || n > maxSize {
		r.errorf(v.Start, "%s must be a whole number of bytes, from 1 to %d", r.field, maxSize)
		return 0
	}
	return int(n)
}

// maxTime limits durations.
const maxTime = 30 * 24 * time.Hour

// readDuration reads a number of units. 0 means no limit and becomes negative.
func (r *reader) readDuration(v jsonedit.Value, unit time.Duration) time.Duration {
	n, ok := v.AsInt()
	if !ok || n < 0 || n > math.MaxInt64/int64(unit) || time.Duration(n)*unit > maxTime {
		r.errorf(v.Start, "%s must be a whole number of %s, 30 days at most; 0 means no limit", r.field,
			unitName(unit))
		return 0
	}
	return negativeIfZero(time.Duration(n) * unit)
}

func unitName(unit time.Duration) string {
	return map[time.Duration]string{time.Nanosecond: "nanoseconds",
		time.Millisecond: "milliseconds", time.Second: "seconds"}[unit]
}

// negativeIfZero returns a negative duration for 0.
func negativeIfZero(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

func (r *reader) readIdleStop(s *Server, v jsonedit.Value) {
	if d, ok := r.readDurationText(v); ok {
		s.IdleStop = negativeIfZero(d)
	}
}

// readDurationText reads a duration such as "10m".
func (r *reader) readDurationText(v jsonedit.Value) (d time.Duration, ok bool) {
	word := "0"
	if n, ok := v.AsInt(); !ok || n != 0 {
		word = r.readString(v)
	}
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 || d > maxTime {
		r.errorf(v.Start,
			`%s must be a duration such as "10m" or "1h30m", 30 days at most; 0 means never`, r.field)
		return 0, false
	}
	return d, true
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

// applyTimeout applies the member timeout, whose meaning depends on the format. callTimeoutMs and
// startTimeoutMs have precedence.
func (r *reader) applyTimeout() {
	if r.timeout == nil {
		return
	}
	v, s := *r.timeout, r.server
	r.field = "timeout"
	target, name := &s.CallTimeout, "callTimeoutMs"
	if r.startTimeout {
		target, name = &s.StartTimeout, "startTimeoutMs"
	}
	d := r.readDuration(v, r.timeoutUnit)
	if r.ambiguousTimeout && 0 < d && d < time.Second {
		r.warnf(v.Start,
			"timeout is not used: in milliseconds it is too short; write %s",
			name)
		return
	}
	if *target == 0 {
		*target = d
	}
}

// addHeaders adds headers, which the value v defines.
func (r *reader) addHeaders(v jsonedit.Value, added map[string]string) {
	if added == nil {
		return
	}
	all, seen := r.server.Headers, map[string]string{}
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
	r.server.Headers = all
}

// minTextLimit is the least limit of the text of results, in characters. A preview of a result
// needs some hundred to say what it leaves out.
const minTextLimit = 2000

// allTools stands for the tools that have no limit of their own.
const allTools = "*"

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

// These are members that only Codex has.

// variable returns the expansion of the variable that a text names.
func (r *reader) variable(v jsonedit.Value, name string) string {
	text := "${env:" + name + "}"
	if mcpjson.Pattern.FindString(text) != text {
		r.errorf(v.Start, "%s: %.60q cannot be the name of a variable", r.field, namePrefix(name))
	}
	return text
}

// readBearerVariable reads the name of the variable that has the token.
func (r *reader) readBearerVariable(_ *Server, v jsonedit.Value) {
	r.addHeaders(v, map[string]string{"Authorization": "Bearer " + r.variable(v, r.readString(v))})
}

// readHeaderVariables reads headers whose values are the names of variables.
func (r *reader) readHeaderVariables(_ *Server, v jsonedit.Value) {
	all := r.readMap(v)
	for header, name := range all {
		all[header] = r.variable(v, name)
	}
	r.addHeaders(v, all)
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

// readSeconds reads a number of seconds, which may have a fraction. 0 means no limit and becomes
// negative.
func (r *reader) readSeconds(v jsonedit.Value) time.Duration {
	n, err := strconv.ParseFloat(string(v.JSON()), 64)
	if err != nil || !(n >= 0) || n > maxTime.Seconds() {
		r.errorf(v.Start, "%s must be a number of seconds, 30 days at most; 0 means no limit", r.field)
		return 0
	}
	return negativeIfZero(time.Duration(math.Ceil(n*1000)) * time.Millisecond)
}
