package config

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A reader reads the values of a file and reports what is wrong with them.
type reader struct {
	*jsonedit.Text
	format             // of the file
	isProject     bool // see [Source]
	isCommandFile func(command string) bool
	diagnostics   []Diagnostic
	field         string // the member that is being read, for messages

	// of the server that is being read
	server       string          // its id, or "" outside of servers
	err          error           // the first error, or nil
	transport    transport       // 0 if not given
	timeout      *jsonedit.Value // the member timeout, or the default; nil if absent
	callbackPort int             // of oauth; 0 if not given
}

func (r *reader) errorf(at int, format string, args ...any) {
	r.report(SeverityError, at, format, args...)
}

func (r *reader) warnf(at int, format string, args ...any) {
	r.report(SeverityWarning, at, format, args...)
}

func (r *reader) report(severity string, at int, format string, args ...any) {
	if r.hasTooManyDiagnostics() {
		return
	}
	d := Diagnostic{Position: r.position(at), Severity: severity, Server: r.server,
		Message: fmt.Sprintf(format, args...)}
	if severity == SeverityError && r.err == nil {
		r.err = d
	}
	r.diagnostics = append(r.diagnostics, d)
	if len(r.diagnostics) == maxDiagnostics {
		r.diagnostics = append(r.diagnostics, Diagnostic{Position: d.Position,
			Severity: SeverityError, Message: "the file has more errors; fix these first"})
	}
}

// maxDiagnostics limits the diagnostics of a file. A file with more of them is broken.
const maxDiagnostics = 1000

// hasTooManyDiagnostics reports whether further diagnostics are dropped. Loops check it, because
// finding a position takes time.
func (r *reader) hasTooManyDiagnostics() bool { return len(r.diagnostics) > maxDiagnostics }

// position returns the position of a byte of the text.
func (r *reader) position(offset int) Position {
	line, column := r.Position(offset)
	return Position{r.Name, line, column}
}

// lineColumn returns a position in the same file, for messages.
func (r *reader) lineColumn(at int) string {
	p := r.position(at)
	return fmt.Sprintf("%d:%d", p.Line, p.Column)
}

// members returns the members of an object and reports duplicates.
func (r *reader) members(v jsonedit.Value) []jsonedit.Member {
	first := map[string]jsonedit.Member{}
	return slices.DeleteFunc(v.Members(), func(m jsonedit.Member) bool {
		other, duplicate := first[m.Name]
		if !duplicate {
			first[m.Name] = m
			return false
		}
		if r.hasTooManyDiagnostics() {
			return true
		}
		r.errorf(m.Offset,
			"%.60q is already defined at %s; remove one of them",
			m.Name, r.lineColumn(other.Offset))
		return true
	})
}

// bracePattern matches a variable as in opencode.
var bracePattern = regexp.MustCompile(`\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)

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

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

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

// readPatterns reads patterns of names.
func (r *reader) readPatterns(v jsonedit.Value) []string {
	all := append([]string{}, r.readStrings(v)...)
	if err := (&host.Filter{Allow: all}).Check(); err != nil {
		r.errorf(v.Start, "%s: %v", r.field, err)
	}
	return all
}

// readJSON reads any value.
func (r *reader) readJSON(v jsonedit.Value) json.RawMessage {
	text, _ := jsonscan.AppendCompact(nil, v.JSON()) // it has been validated
	return text
}

// readCount reads a whole number.
func (r *reader) readCount(v jsonedit.Value, least, most int64) int {
	n, ok := v.AsInt()
	if !ok || n < least || n > most {
		r.errorf(v.Start, "%s must be a whole number from %d to %d", r.field, least, most)
		return 0
	}
	return int(n)
}
