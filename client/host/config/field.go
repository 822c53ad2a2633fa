package config

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/jsonedit"
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

// fieldNames returns all names of the members of a server.
func fieldNames() (names []string) {
	for _, f := range serverFields() {
		names = append(names, f.names...)
	}
	return names
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

// fileFields returns the members of a file. Their read functions are nil, because the meaning of
// some depends on others: see [formats], readInputs and readProfiles.
func fileFields() []field[*File] {
	servers := valueType{"object of servers by id", object{}}
	return []field[*File]{
		{names: []string{"mcpServers"}, valueType: servers,
			help: "The servers, in stdwire's own form and that of most applications."},
		{names: []string{"servers"}, valueType: servers,
			help: "The servers in a file of VS Code or Dispatch."},
		{names: []string{"context_servers"}, valueType: servers, help: "The servers in a file of Zed."},
		{names: []string{"mcp_servers"}, valueType: servers,
			help: "The servers in a file of Codex, which is TOML."},
		{names: []string{"mcp"}, valueType: valueType{"object", object{}},
			help: "The servers in a file of opencode or Crush, or, in its member servers, of opencode 2 and VS Code's older settings."},
		{names: []string{"projects"}, valueType: valueType{"object", object{}},
			help: "The directories in Claude Code's settings; mcpServers of the working directory has the servers."},
		{names: []string{"mcpProxy"}, valueType: valueType{"object", object{}},
			help: "Marks a file of mcp-proxy, in which timeout counts nanoseconds."},
		{names: []string{"profiles"}, valueType: valueType{"object of arrays of ids", object{}},
			help: "Sets of servers by name, for --profile."},
		{names: []string{"inputs"}, valueType: valueType{"array of objects", object{}},
			help: "What ${input:ID} asks for, as in VS Code."},
		{names: []string{"limits"}, valueType: valueType{"object", object{}},
			help: "The limits of a gateway, in stdwire's own form of a file that is not a project's."},
		{names: []string{"discover"}, valueType: valueType{"object of modes by clients' names",
			discoverSchema()},
			help: "How the tools are listed for clients, in such a file: " + discoveryForm + "."},
		{names: []string{"policy"}, valueType: valueType{"object", object{}},
			help: "The rules about who may do what, in such a file: see stdwire help policy."},
		{names: []string{"rates"}, valueType: valueType{"array of objects", object{}},
			help: "How often, and how many at a time, clients may call, in such a file."},
	}
}

// inputFields returns the members of an element of inputs.
func inputFields() []field[*Input] {
	return []field[*Input]{
		{names: []string{"id"}, valueType: textType, help: "The ID in ${input:ID}."},
		{names: []string{"description"}, valueType: textType, help: "What the user is asked."},
		{names: []string{"password"}, valueType: boolType,
			help: "The value is not shown while it is typed."},
	}
}

// A Field describes a member of a configuration file.
type Field struct {
	// the object: "file", "server", "tools", "override", "argument" of one, "options", "oauth",
	// "credentials", "input", "limits" or "rate"
	Object string
	Names  []string // stdwire's name first, then those of other applications
	Type   string   // of the value, for people
	Help   string   // sentences
}

// Fields returns the members that [Parse] reads, by object.
func Fields() (all []Field) {
	all = appendFields(all, "file", fileFields())
	all = appendFields(all, "server", serverFields())
	all = appendFields(all, "tools", toolsFields())
	all = appendFields(all, "override", overrideFields())
	all = appendFields(all, "argument", argumentFields())
	all = appendFields(all, "oauth", oauthFields())
	all = appendFields(all, "credentials", credentialFields())
	all = appendFields(all, "input", inputFields())
	all = appendFields(all, "limits", limitFields())
	all = appendFields(all, "rate", rateFields())
	return appendFields(all, "options", optionsFields())
}

func appendFields[R any](all []Field, object string, fields []field[R]) []Field {
	for _, f := range fields {
		all = append(all, Field{object, f.names, f.name, f.help})
	}
	return all
}
