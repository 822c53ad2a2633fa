package config

import (
	"math"
	"strconv"
	"time"

	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/mcpjson"
)

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
