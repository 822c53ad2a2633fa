package config

import (
	"math"
	"path"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A field is a member of an object with all its names, for the parser, [Schema] and [Fields]. The
// first name is stdwire's, the others are those of other applications. R is the type of the reader.
type field[R any] struct {
	names []string
	valueType
	help string
	read func(r R, v value)
}

// fieldNames returns all names of the members of a server.
func fieldNames() (names []string) {
	for _, f := range serverFields() {
		names = append(names, f.names...)
	}
	return names
}

// readMembers reads the members of v for target. prefix precedes their names in messages. Members
// that are not fields are passed to unknown.
func readMembers[R any](r *reader, v value, prefix string, target R, fields []field[R],
	unknown func(member)) {
	byName := map[string]*field[R]{}
	for i := range fields {
		for _, name := range fields[i].names {
			byName[name] = &fields[i]
		}
	}
	given := map[*field[R]]member{}
	for _, m := range r.members(v) {
		f, known := byName[m.name]
		if !known || m.name == "auth" && !m.isObject() || m.name == "tools" && r.toolsUnknown {
			// Cursor's auth is an object. In other applications auth has other meanings.
			unknown(m)
			continue
		}
		if first, duplicate := given[f]; duplicate {
			r.errorf(m.offset, "%q means the same as %q at %s; remove one of them", prefix+m.name,
				prefix+first.name, r.lineColumn(first.offset))
			continue
		}
		given[f] = m
		r.field = prefix + m.name
		f.read(target, m.value)
	}
}

// unknownField keeps an unknown member, and warns about it unless other applications commonly write
// it.
func (r *reader) unknownField(m member) {
	if m.name != "tools" { // Codex's member, which Parse would read as stdwire's
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

// maxSize limits sizes, in bytes.
const maxSize = 1 << 30

// readSize reads a number of bytes.
func (r *reader) readSize(v value) int {
	n, ok := v.integer()
	if !ok || n <= 0 || n > maxSize {
		r.errorf(v.start, "%s must be a whole number of bytes, from 1 to %d", r.field, maxSize)
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
