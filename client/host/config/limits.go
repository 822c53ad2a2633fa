package config

import (
	"fmt"
	"time"

	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/near"
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

// readLimits reads the limits of a gateway, and returns their position, zero if there are none.
func (r *reader) readLimits(root jsonedit.Value) (all Limits, at Position) {
	object, ok := root.Member("limits")
	if !ok {
		return all, at
	}
	r.field = "limits"
	if !object.IsObject() {
		r.typeError(object, "an object")
		return all, at
	}
	var names []string
	byName := map[string]limit{}
	for _, l := range limits() {
		names = append(names, l.name)
		byName[l.name] = l
	}
	for _, m := range r.members(object) {
		r.field = fmt.Sprintf("limits.%.60s", m.Name)
		l, known := byName[m.Name]
		switch {
		case !known:
			r.errorf(m.Offset, "there is no limit %.60q; %s", m.Name, near.Instead(m.Name, names))
		case l.duration != nil:
			l.readDuration(r, &all, m.Value)
		default:
			*l.number(&all) = r.readCount(m.Value, int64(l.least), int64(l.most))
		}
	}
	return all, r.position(object.Start)
}

func (l limit) readDuration(r *reader, all *Limits, v jsonedit.Value) {
	text, _ := v.AsString()
	d, err := time.ParseDuration(text)
	least, most := seconds(l.least), seconds(l.most)
	if err != nil || d < least || d > most {
		r.errorf(v.Start, `%s must be a duration from "%s" to "%s"`, r.field, shortDuration(least),
			shortDuration(most))
		return
	}
	*l.duration(all) = d
}
