package config

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/near"
)

// A field is a member of an object, of which everything is derived: how it is read and written,
// [Schema], [Fields], digests and redaction. T is a pointer to what the object defines.
type field[T any] struct {
	// names are stdwire's name, and then those of other applications.
	names []string
	valueType
	help   string
	secret secrecy

	// at returns a pointer to the value: a *string, *[]string, *map[string]string, *bool, *int (a
	// size), *time.Duration, *json.RawMessage (any value), *map[string]host.Override, **OAuth or
	// **Credentials. It is nil for a member that is only read, such as another application's name
	// for two of stdwire's, and for one whose value json computes.
	at func(T) any
	// read reads the member. It is nil if at suffices.
	read func(r *reader, t T, v jsonedit.Value)
	// json returns what is encoded in stdwire's own form, or nil for the default. It is nil if at
	// suffices.
	json func(T) any

	// before is the name of the member that this one precedes in JSON. "": the order is that of the
	// fields. It never changes, because digests depend on it.
	before string
	// outsideDigest says that [Server.Digest] does not cover the member. [Server.TrustDigest]
	// covers all.
	outsideDigest bool
}

// readMembers reads the members of v into t. prefix precedes their names in messages. Members that
// are not fields are passed to unknown.
func readMembers[T any](r *reader, v jsonedit.Value, prefix string, t T, fields []field[T],
	unknown func(jsonedit.Member)) {
	byName := map[string]*field[T]{}
	for i := range fields {
		for _, name := range fields[i].names {
			byName[name] = &fields[i]
		}
	}
	given := map[*field[T]]jsonedit.Member{}
	for _, m := range r.members(v) {
		f, known := byName[m.Name]
		if !known || m.Name == "auth" && !m.IsObject() || m.Name == "tools" && r.toolsUnknown {
			// Cursor's auth is an object. In other applications auth has other meanings.
			unknown(m)
			continue
		}
		if first, duplicate := given[f]; duplicate {
			r.errorf(m.Offset, "%q means the same as %q at %s; remove one of them", prefix+m.Name,
				prefix+first.Name, r.lineColumn(first.Offset))
			continue
		}
		given[f] = m
		r.field = prefix + m.Name
		if f.read != nil {
			f.read(r, t, m.Value)
		} else {
			r.readInto(f.at(t), m.Value)
		}
	}
}

// readClosed reads an object, which has no other members than fields, into t. of is its name in
// messages. It reports false if v is no object.
func readClosed[T any](r *reader, v jsonedit.Value, of string, t T, fields []field[T]) bool {
	r.field = of
	if !v.IsObject() {
		r.typeError(v, "an object")
		return false
	}
	readMembers(r, v, of+".", t, fields, func(m jsonedit.Member) {
		r.unknownIn(m, of, fieldsOf(fields))
	})
	return true
}

// readInto reads a value into what p, which a field's at has returned, points to.
func (r *reader) readInto(p any, v jsonedit.Value) {
	switch p := p.(type) {
	case *string:
		*p = r.readString(v)
	case *[]string:
		*p = r.readStrings(v)
	case *map[string]string:
		*p = r.readMap(v)
	case *bool:
		*p = r.readBool(v)
	case *int:
		*p = r.readSize(v)
	case *time.Duration:
		*p = r.readDuration(v, time.Millisecond)
	case *json.RawMessage:
		*p = r.readJSON(v)
	}
}

// encodeFields returns the members of an object in stdwire's own form, without those that have
// their defaults.
func encodeFields[T any](fields []field[T], t T) (all []jsonedit.Item) {
	ordered := slices.DeleteFunc(slices.Clone(fields),
		func(f field[T]) bool { return f.before != "" })
	for _, f := range fields {
		if f.before != "" {
			i := slices.IndexFunc(ordered, func(o field[T]) bool { return o.names[0] == f.before })
			ordered = slices.Insert(ordered, i, f)
		}
	}
	for _, f := range ordered {
		var value any
		switch {
		case f.json != nil:
			value = f.json(t)
		case f.at != nil:
			value = givenValue(f.at(t))
		}
		if value != nil {
			all = append(all, jsonedit.Item{Name: f.names[0], JSON: jsonedit.Encode(value)})
		}
	}
	return all
}

// givenValue returns what p, which a field's at has returned, points to, or nil for the default.
func givenValue(p any) any {
	switch p := p.(type) {
	case *string:
		return valueIf(*p, *p != "")
	case *[]string:
		return valueIf(*p, len(*p) > 0)
	case *map[string]string:
		return valueIf(*p, len(*p) > 0)
	case *bool:
		return valueIf(*p, *p)
	case *int:
		return valueIf(*p, *p != 0)
	case *json.RawMessage:
		return valueIf(*p, *p != nil)
	case *time.Duration: // negative: no limit, which is 0
		ms := (max(*p, 0) + time.Millisecond - 1).Milliseconds()
		return valueIf(ms, *p != 0)
	}
	return nil
}

// valueIf returns the value if is, and otherwise nil.
func valueIf[T any](value T, is bool) any {
	if !is {
		return nil
	}
	return value
}

// A secrecy says what of a member may be secret. The zero value hides the most.
type secrecy uint8

const (
	secretText        secrecy = iota // all of a text, or of an object's texts, except variables
	secretWords                      // words that look like secrets, as of a command line
	secretURL                        // parts of a URL
	secretOAuth                      // what oauthFields says
	secretCredentials                // what credentialFields says
	secretOverrides                  // what overrideFields says of each
	secretArguments                  // what argumentFields says of each
	notSecret
)

// fieldsOf returns the names of fields.
func fieldsOf[T any](fields []field[T]) (names []string) {
	for _, f := range fields {
		names = append(names, f.names...)
	}
	return names
}

// unknownIn reports an unknown member as an error, because without it more would be offered.
func (r *reader) unknownIn(m jsonedit.Member, of string, names []string) {
	r.errorf(m.Offset, "%s has no %.60q; %s", of, m.Name, near.Instead(m.Name, names))
}

// objectSchema is the schema of an object with these fields. It may have others.
func objectSchema[R any](fields []field[R]) object {
	properties := object{}
	var conflicts []object
	for _, f := range fields {
		for i, name := range f.names {
			help := f.help
			if i > 0 {
				help = "The same as " + f.names[0] + "."
			}
			properties[name] = described(f.schema, help)
			if name == "auth" { // see readMembers
				properties[name] = object{"if": object{"type": "object"}, "then": properties[name]}
			}
			for _, other := range f.names[:i] {
				both := object{"required": []string{other, name}}
				if name == "auth" {
					both = allOf(both, withMember(name, object{"type": "object"}))
				}
				conflicts = append(conflicts, not(both))
			}
		}
	}
	s := object{"type": "object", "properties": properties}
	if conflicts != nil {
		s["allOf"] = conflicts
	}
	return s
}

// shortDuration formats a duration without zero minutes and seconds at the end: 5m, not 5m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-len(zero)+1]
		}
	}
	return text
}
