package config

import (
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/rpc/mcp"
)

var urlNames = []string{"url", "serverUrl", "httpUrl"}

// A field is a member of a definition with all its names. The first name is stdwire's, the others
// are those of other applications.
type field struct {
	names []string
	read  func(r *reader, v value)
}

// serverFields returns the known fields.
func serverFields() []field {
	return []field{
		{[]string{"command"}, (*reader).readCommand},
		{[]string{"args"}, func(r *reader, v value) {
			r.server.Args = append(r.server.Args, r.readStrings(v)...)
		}},
		{[]string{"cwd"}, func(r *reader, v value) { r.server.Dir = r.readString(v) }},
		{[]string{"env", "environment"}, func(r *reader, v value) { r.server.Env = r.readEnv(v) }},
		{[]string{"envFile"}, func(r *reader, v value) { r.server.EnvFile = r.readString(v) }},
		{[]string{"inheritEnv"}, (*reader).readInheritEnv},
		{[]string{"env_vars"}, (*reader).readVariableNames},
		{urlNames, func(r *reader, v value) { r.server.URL = r.readString(v) }},
		{[]string{"headers", "http_headers"}, func(r *reader, v value) {
			r.addHeaders(v, r.readMap(v))
		}},
		{[]string{"env_http_headers"}, (*reader).readHeaderVariables},
		{[]string{"bearer_token_env_var"}, (*reader).readBearerVariable},
		{[]string{"oauth", "auth"}, (*reader).readOAuth},
		{[]string{"tlsCA"}, func(r *reader, v value) { r.server.TLS.CA = r.readString(v) }},
		{[]string{"tlsClientCert"},
			func(r *reader, v value) { r.server.TLS.ClientCert = r.readString(v) }},
		{[]string{"tlsClientKey"},
			func(r *reader, v value) { r.server.TLS.ClientKey = r.readString(v) }},
		{[]string{"type", "transport", "transportType"}, (*reader).readTransport},
		{[]string{"era", "protocolEra"}, (*reader).readEra},
		{[]string{"disabled"}, func(r *reader, v value) { r.server.Disabled = r.readBool(v) }},
		{[]string{"enabled"}, func(r *reader, v value) {
			r.server.Disabled = r.server.Disabled || !r.readBool(v)
		}},
		{[]string{"perSession"}, func(r *reader, v value) { r.server.PerSession = r.readBool(v) }},
		{[]string{"startTimeoutMs"}, func(r *reader, v value) {
			r.server.StartTimeout = r.readDuration(v, time.Millisecond)
		}},
		{[]string{"callTimeoutMs"}, func(r *reader, v value) {
			r.server.CallTimeout = r.readDuration(v, time.Millisecond)
		}},
		{[]string{"startup_timeout_ms"}, func(r *reader, v value) {
			r.server.StartTimeout = r.readDuration(v, time.Millisecond)
		}},
		{[]string{"startup_timeout_sec"}, func(r *reader, v value) {
			r.server.StartTimeout = r.readSeconds(v)
		}},
		{[]string{"tool_timeout_sec"}, func(r *reader, v value) {
			r.server.CallTimeout = r.readSeconds(v)
		}},
		{[]string{"idleStop"}, (*reader).readIdleStop},
		{[]string{"maxArguments"},
			func(r *reader, v value) { r.server.MaxArguments = r.readSize(v) }},
		{[]string{"maxResult"}, func(r *reader, v value) { r.server.MaxResult = r.readSize(v) }},
		{[]string{"timeout"}, func(r *reader, v value) { r.timeout = &v }},
		{[]string{"tools"}, (*reader).readTools},
		{[]string{"includeTools", "enabled_tools"}, func(r *reader, v value) { r.setAllow(v, r.readPatterns(v)) }},
		{[]string{"excludeTools", "disabledTools", "disabled_tools"}, func(r *reader, v value) {
			r.server.Filter.Deny = append(r.server.Filter.Deny, r.readPatterns(v)...)
		}},
		{[]string{"options"}, (*reader).readOptions},
	}
}

// fieldNames returns all names of fields.
func fieldNames() (names []string) {
	for _, f := range serverFields() {
		names = append(names, f.names...)
	}
	return names
}

// readFields reads all members of a definition.
func (r *reader) readFields(v value) {
	byName := map[string]*field{}
	for _, f := range serverFields() {
		for _, name := range f.names {
			byName[name] = &f
		}
	}
	given := map[*field]member{}
	for _, m := range r.members(v) {
		f, known := byName[m.name]
		if !known || m.name == "auth" && !m.isObject() || m.name == "tools" && r.toolsUnknown {
			// Cursor's auth is an object. That of other applications has other meanings.
			r.unknownField(m)
			continue
		}
		if first, duplicate := given[f]; duplicate {
			r.errorf(m.offset, "%q means the same as %q at %s; remove one of them", m.name,
				first.name, r.lineColumn(first.offset))
			continue
		}
		given[f] = m
		r.field = m.name
		f.read(r, m.value)
	}
}

// unknownField keeps a member without a meaning here and warns, unless other applications commonly
// write it.
func (r *reader) unknownField(m member) {
	if m.name != "tools" { // that of Codex, which would be taken for stdwire's own
		r.server.extraFields = append(r.server.extraFields, extraField{m.name, m.raw()})
	}
	if r.hasTooManyDiagnostics() || strings.HasPrefix(m.name, "$") || m.name == "description" ||
		m.name == "name" {
		return
	}
	if match := near.Match(m.name, fieldNames()); match != "" && match != m.name {
		r.warnf(m.offset, "unknown field %.60q; did you mean %s?", m.name, match)
		return
	}
	r.warnf(m.offset, "unknown field %.60q; it does nothing here", m.name)
}

// typeError reports a value of the wrong type.
func (r *reader) typeError(v value, what string) {
	r.errorf(v.start, "%s must be %s, not %s", r.field, what, v.kind())
}

// readString reads a string.
func (r *reader) readString(v value) string {
	text, ok := v.string()
	if !ok {
		r.typeError(v, "text")
	}
	return r.normalizeVariables(text)
}

// readScalar reads a string. It accepts a boolean or a number as its text.
func (r *reader) readScalar(v value) (string, bool) {
	switch v.data[v.start] {
	case '"':
		text, _ := v.string()
		return r.normalizeVariables(text), true
	case '{', '[', 'n':
		return "", false
	}
	return string(v.raw()), true
}

// normalizeVariables converts variables to the form that Resolve expands.
func (r *reader) normalizeVariables(text string) string {
	if r.braceVariables {
		text = bracePattern.ReplaceAllString(text, "$${env:$1}")
	}
	return text
}

func (r *reader) readStrings(v value) (all []string) {
	if !v.isArray() {
		r.typeError(v, "an array of texts")
		return nil
	}
	for i, element := range v.elements() {
		text, ok := r.readScalar(element)
		if !ok {
			r.errorf(element.start, "%s[%d] must be text, not %s", r.field, i,
				element.kind())
		}
		all = append(all, text)
	}
	return all
}

func (r *reader) readMap(v value) map[string]string {
	if !v.isObject() {
		r.typeError(v, "an object of texts")
		return nil
	}
	all := map[string]string{}
	for _, m := range r.members(v) {
		text, ok := r.readScalar(m.value)
		if !ok {
			r.errorf(m.start, "%s.%.60q must be text, not %s", r.field, m.name, m.kind())
		}
		all[m.name] = text
	}
	return all
}

func (r *reader) readEnv(v value) map[string]string {
	all := r.readMap(v)
	for name := range all {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			r.errorf(v.start, "%s: %.60q cannot be the name of a variable", r.field,
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

func (r *reader) readInheritEnv(v value) {
	if all, ok := v.bool(); ok {
		if all {
			r.server.InheritEnv = []string{"*"}
		}
		return
	}
	if !v.isArray() {
		r.typeError(v, `true, or an array of names such as "AWS_*"`)
		return
	}
	r.server.InheritEnv = r.readStrings(v)
	for _, pattern := range r.server.InheritEnv {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			r.errorf(v.start, "inheritEnv: %.60q is not a pattern", pattern)
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

func (r *reader) readTransport(v value) {
	word := r.readString(v)
	r.transport = transportNames[strings.NewReplacer("-", "", "_", "", "+",
		"").Replace(strings.ToLower(word))]
	if r.transport == 0 && v.data[v.start] == '"' {
		hint := near.Match(word,
			[]string{"stdio", "local", "http", "streamable-http", "remote", "sse"})
		if hint == "" {
			hint = "stdio or http"
		}
		r.errorf(v.start, "%s: %.60q is not a transport; write %s", r.field, word, hint)
	}
}

func (r *reader) readEra(v value) {
	switch word := r.readString(v); word {
	case "auto":
	case "modern":
		r.server.Era = mcp.Modern
	case "legacy":
		r.server.Era = mcp.Legacy
	default:
		r.errorf(v.start, "%s: %.60q is not auto, modern or legacy", r.field, word)
	}
}

func (r *reader) readBool(v value) bool {
	is, ok := v.bool()
	if !ok {
		r.typeError(v, "true or false")
	}
	return is
}

// readSize reads a number of bytes.
func (r *reader) readSize(v value) int {
	const most = 1 << 30
	n, ok := v.integer()
	if !ok || n <= 0 || n > most {
		r.errorf(v.start, "%s must be a whole number of bytes, from 1 to %d", r.field, most)
		return 0
	}
	return int(n)
}

// maxTime limits durations.
const maxTime = 30 * 24 * time.Hour

// readDuration reads a number of units. 0 means no limit and becomes negative.
func (r *reader) readDuration(v value, unit time.Duration) time.Duration {
	n, ok := v.integer()
	if !ok || n < 0 || n > math.MaxInt64/int64(unit) || time.Duration(n)*unit > maxTime {
		r.errorf(v.start, "%s must be a whole number of %s, 30 days at most; 0 means no limit", r.field,
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

func (r *reader) readIdleStop(v value) {
	word := "0"
	if n, ok := v.integer(); !ok || n != 0 {
		word = r.readString(v)
	}
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 || d > maxTime {
		r.errorf(v.start,
			`idleStop must be a duration such as "10m" or "1h30m", 30 days at most; 0 means never`)
		return
	}
	r.server.IdleStop = negativeIfZero(d)
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
		r.warnf(v.start,
			"timeout is not used: in milliseconds it is too short; write %s",
			name)
		return
	}
	if *target == 0 {
		*target = d
	}
}

// readOptions reads the object options of mcp-proxy.
func (r *reader) readOptions(v value) {
	if !v.isObject() {
		r.typeError(v, "an object")
		return
	}
	for _, m := range r.members(v) {
		r.field = fmt.Sprintf("options.%.60s", m.name)
		switch m.name {
		case "disabled":
			r.server.Disabled = r.server.Disabled || r.readBool(m.value)
		case "toolFilter":
			r.readToolFilter(m.value)
		}
	}
}
