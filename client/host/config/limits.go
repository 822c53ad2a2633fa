package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/policy"
)

// Limits are the limits of a gateway: the member limits of a file in stdwire's own form. Zero means
// the default of the package that the comment names.
type Limits struct {
	MaxConnections   int           // connections to the HTTP server; the default is the program's
	MaxRequests      int           // server/streamable
	MaxStreams       int           // server/streamable
	MaxSessions      int           // server/streamable
	MaxBody          int           // bytes; server/streamable and dispatch/api
	MaxCalls         int           // dispatch/api
	MaxMemory        int           // bytes; server
	MaxSubscriptions int           // server
	MaxWatched       int           // server
	SessionIdle      time.Duration // server/streamable
	Heartbeat        time.Duration // server/streamable
}

// A limit is a member of limits. One of number and duration is set.
type limit struct {
	name, help string
	number     func(*Limits) *int
	duration   func(*Limits) *time.Duration
	// of the number, or of the seconds of the duration
	least, most int
}

func limits() []limit {
	return []limit{
		{name: "maxConnections", help: "Connections to the HTTP server.",
			least: 1, most: 1_000_000,
			number: func(l *Limits) *int { return &l.MaxConnections }},
		{name: "maxRequests", help: "HTTP requests of MCP clients at once.",
			least: 1, most: 1_000_000,
			number: func(l *Limits) *int { return &l.MaxRequests }},
		{name: "maxStreams", help: "Streams of MCP clients at once.",
			least: 1, most: 1_000_000,
			number: func(l *Limits) *int { return &l.MaxStreams }},
		{name: "maxSessions", help: "Sessions of MCP clients.",
			least: 1, most: 1_000_000,
			number: func(l *Limits) *int { return &l.MaxSessions }},
		{name: "maxBody", help: "The bytes of the body of an HTTP request.",
			least: 1 << 10, most: 1 << 30,
			number: func(l *Limits) *int { return &l.MaxBody }},
		{name: "maxCalls", help: "Calls of the HTTP API at once.",
			least: 1, most: 1_000_000,
			number: func(l *Limits) *int { return &l.MaxCalls }},
		// The most fits into 32 bits.
		{name: "maxMemory", help: "The bytes of messages that are in memory at once.",
			least: 16 << 20, most: 1<<31 - 1,
			number: func(l *Limits) *int { return &l.MaxMemory }},
		{name: "maxSubscriptions", help: "Subscriptions of all clients.",
			least: 1, most: 1_000_000,
			number: func(l *Limits) *int { return &l.MaxSubscriptions }},
		{name: "maxWatched", help: "Resources that clients subscribe to.",
			least: 1, most: 1_000_000,
			number: func(l *Limits) *int { return &l.MaxWatched }},
		{name: "sessionIdle", help: "The time after which a session without requests ends.",
			least: 60, most: 30 * 24 * 3600,
			duration: func(l *Limits) *time.Duration { return &l.SessionIdle }},
		{name: "heartbeat", help: "The time between heartbeats on an idle stream.",
			least: 1, most: 3600,
			duration: func(l *Limits) *time.Duration { return &l.Heartbeat }},
	}
}

// limitFields returns the members of limits. They have no reader of their own: see readLimits.
func limitFields() (fields []field[*Limits]) {
	for _, l := range limits() {
		kind := valueType{fmt.Sprintf("whole number from %d to %d", l.least, l.most),
			integer(int64(l.least), int64(l.most))}
		if l.duration != nil {
			kind = valueType{fmt.Sprintf("duration from %q to %q", shortDuration(seconds(l.least)),
				shortDuration(seconds(l.most))), durationType.schema}
		}
		fields = append(fields,
			field[*Limits]{names: []string{l.name}, valueType: kind, help: l.help})
	}
	return fields
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// readLimits reads the limits of a gateway.
func (r *reader) readLimits(root jsonedit.Value) {
	all, ok := root.Member("limits")
	if !r.isNative || !ok {
		return
	}
	r.field = "limits"
	if !all.IsObject() {
		r.typeError(all, "an object")
		return
	}
	r.file.limitsAt = r.position(all.Start)
	var names []string
	byName := map[string]limit{}
	for _, l := range limits() {
		names = append(names, l.name)
		byName[l.name] = l
	}
	for _, m := range r.members(all) {
		r.field = fmt.Sprintf("limits.%.60s", m.Name)
		l, known := byName[m.Name]
		switch {
		case !known:
			r.errorf(m.Offset, "there is no limit %.60q; %s", m.Name, near.Instead(m.Name, names))
		case l.duration != nil:
			r.readLimitDuration(m.Value, l)
		default:
			n, ok := m.AsInt()
			if !ok || n < int64(l.least) || n > int64(l.most) {
				r.errorf(m.Start, "%s must be a whole number from %d to %d", r.field, l.least,
					l.most)
				continue
			}
			*l.number(&r.file.Limits) = int(n)
		}
	}
}

func (r *reader) readLimitDuration(v jsonedit.Value, l limit) {
	text, _ := v.AsString()
	d, err := time.ParseDuration(text)
	least, most := seconds(l.least), seconds(l.most)
	if err != nil || d < least || d > most {
		r.errorf(v.Start, `%s must be a duration from "%s" to "%s"`, r.field, shortDuration(least),
			shortDuration(most))
		return
	}
	*l.duration(&r.file.Limits) = d
}

// addSettings uses what a file says about a gateway as a whole, unless another file says it or the
// file is a project's, because its author may be somebody else.
func (l *loader) addSettings(f *File) {
	if l.usesSetting("limits", f, f.limitsAt, &l.LimitsAt) {
		l.Limits = f.Limits
	}
	if l.usesSetting("members of discover", f, f.discoverAt, &l.discoverAt) {
		l.Discover = f.Discover
	}
	if l.usesSetting("rules of policy", f, f.policyAt, &l.PolicyAt) {
		l.Policy = f.Policy
	}
	if l.usesSetting("rates", f, f.ratesAt, &l.RatesAt) {
		l.Rates = f.Rates
	}
}

// usesSetting reports whether a setting at a position of a file is used. used is the position of
// the one in effect, zero without one.
func (l *loader) usesSetting(name string, f *File, at Position, used *Position) bool {
	switch {
	case at == (Position{}):
	case f.Project:
		l.warn(at, "the %s are not used: those of a project's file have no effect", name)
	case *used != (Position{}):
		l.warn(at, "the %s are not used: there are others at %s", name, *used)
	default:
		*used = at
		return true
	}
	return false
}

// readPolicy reads the rules about who may do what. Rules that cannot be used make the file
// unusable: without them, everybody could do everything.
func (r *reader) readPolicy(root jsonedit.Value) {
	table, ok := root.Member("policy")
	if !ok {
		return
	}
	_, hasRules := table.Member("rules")
	switch {
	case r.file.Keys == "" && hasRules:
		r.errorf(table.Start,
			"the file has a policy and no servers: name it with --policy, or move the policy to the file of the servers")
	case !r.isNative && hasRules:
		r.errorf(table.Start,
			"the servers of the file are in the form of another application, which has no policy: put the policy into a file of its own for --policy")
	case r.isNative:
		r.file.policyAt = r.position(table.Start)
		var err error
		if r.file.Policy, err = policy.Parse(table); err != nil {
			r.reportPolicy(err)
		}
	}
}

// reportPolicy reports the problems of a table.
func (r *reader) reportPolicy(err error) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		if e, ok := errors.AsType[*jsonedit.Error](err); ok {
			r.file.Diagnostics = append(r.file.Diagnostics,
				Diagnostic{Position: Position{e.Name, e.Line, e.Column}, Severity: SeverityError,
					Message: "policy: " + e.Reason})
		}
	}
}
