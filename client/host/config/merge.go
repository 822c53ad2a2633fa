package config

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// An ExistsError reports that a file already has different servers with the ids of servers to add.
type ExistsError struct {
	File string
	IDs  []string
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s already has a different %s", e.File, strings.Join(e.IDs, ", "))
}

// Merge returns the content of a file with servers and inputs added. The rest of the file, with its
// comments and layout, stays unchanged. data is the current content, which may be empty; path is
// for messages. Servers that the file already has stay unchanged. If the file has a different
// server with the same id, the error is an [*ExistsError], unless replace is set: then the
// definition is replaced with the comments in it.
//
// The file must be in stdwire's own form, with its servers under mcpServers or servers. An error of
// the file is a [Diagnostic].
func Merge(env *Environment, path string, data []byte, servers []*Server, inputs []Input,
	replace bool) ([]byte, error) {
	source := Source{Path: path, Workspace: env.Dir, sharedFile: true}
	f := Parse(env, source, data)
	if err := f.Err(); err != nil {
		return nil, err
	}
	if f.text.toml != nil {
		return nil, fmt.Errorf("%s is TOML; stdwire's own files are JSON", path)
	}
	root, ok := f.text.root()
	if !ok { // no value, but there may be comments
		if len(data) > 0 && data[len(data)-1] != '\n' {
			data = append(bytes.Clone(data), '\n') // ends a comment
		}
		return append(slices.Concat(data, Encode(servers, inputs, nil)), '\n'), nil
	}
	e := &editor{raw: data}
	if f.HasServers {
		if !f.section.isNative {
			return nil, fmt.Errorf(
				"%s is in the format of another application, which has its servers under %s and does not read stdwire's format",
				path, f.section.keys)
		}
		if err := e.servers(f, servers, replace); err != nil {
			return nil, err
		}
	} else {
		e.rootMembers = append(e.rootMembers, insertion{"mcpServers", serversJSON(servers)})
	}
	if err := e.inputs(f, root, inputs); err != nil {
		return nil, err
	}
	e.insert(root, e.rootMembers)
	merged := e.apply()
	if err := Parse(env, source, merged).Err(); err != nil {
		return nil, fmt.Errorf("servers cannot be added to %s: %w", path, err)
	}
	return merged, nil
}

// An insertion is a new member of an object or, without a name, a new element of an array.
type insertion struct {
	name  string
	value []byte
}

func (a insertion) text(prefix string) []byte {
	var text []byte
	if a.name != "" {
		text = append(jsonscan.AppendString(text, a.name), ": "...)
	}
	return append(text, indent(a.value, prefix)...)
}

// An editor collects changes to a file.
type editor struct {
	raw         []byte
	edits       []edit
	rootMembers []insertion // new members of the root
}

// An edit replaces the bytes from start to end.
type edit struct {
	start, end int
	text       []byte
}

// apply returns the changed file.
func (e *editor) apply() []byte {
	slices.SortStableFunc(e.edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out []byte
	end := 0
	for _, edit := range e.edits {
		out = append(append(out, e.raw[end:edit.start]...), edit.text...)
		end = edit.end
	}
	return append(out, e.raw[end:]...)
}

// servers adds servers, or replaces different ones if replace is set.
func (e *editor) servers(f *File, servers []*Server, replace bool) error {
	var added []insertion
	exists := &ExistsError{File: f.Path}
	members := f.section.servers.members()
	for _, s := range servers {
		i := slices.IndexFunc(f.Servers, func(o *Server) bool { return o.ID == s.ID })
		switch {
		case i < 0:
			added = append(added, insertion{s.ID, s.JSON()})
		case f.Servers[i].Err == nil && bytes.Equal(f.Servers[i].JSON(), s.JSON()):
		case !replace:
			exists.IDs = append(exists.IDs, s.ID)
		default:
			at := slices.IndexFunc(members, func(m member) bool { return m.name == s.ID })
			m := members[at]
			e.edits = append(e.edits,
				edit{m.start, m.end, indent(s.JSON(), e.indentation(m.offset))})
		}
	}
	if exists.IDs != nil {
		return exists
	}
	e.insert(f.section.servers, added)
	return nil
}

// inputs adds the inputs that the file does not describe yet.
func (e *editor) inputs(f *File, root value, inputs []Input) error {
	var added []insertion
	for _, input := range inputs {
		if !slices.ContainsFunc(f.Inputs, func(o Input) bool { return o.ID == input.ID }) {
			added = append(added, insertion{"", input.JSON()})
		}
	}
	existing, ok := root.member("inputs")
	switch {
	case added == nil:
	case !ok:
		e.rootMembers = append(e.rootMembers, insertion{"inputs", arrayJSON(added)})
	case !existing.isArray():
		return existing.diagnostic(existing.start, "inputs must be an array, not %s",
			existing.kind())
	default:
		e.insert(existing, added)
	}
	return nil
}

// arrayJSON returns an array of all values.
func arrayJSON(all []insertion) []byte {
	text := []byte{'['}
	for i, a := range all {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, a.value...)
	}
	return append(text, ']')
}

// insert adds members to an object or elements to an array, after the existing ones and the
// comments that follow them.
func (e *editor) insert(container value, added []insertion) {
	if len(added) == 0 {
		return
	}
	closing := container.end - 1
	outer := e.indentation(container.start)
	inner := outer + "  "
	if strings.HasPrefix(outer, "\t") {
		inner = outer + "\t"
	}
	first, last := 0, 0 // the start of the first existing element and the end of the last
	for _, m := range container.members() {
		if first == 0 {
			first = m.offset
		}
		last = m.end
	}
	for _, v := range container.elements() {
		if first == 0 {
			first = v.start
		}
		last = v.end
	}
	if first != 0 {
		if own := e.indentation(first); bytes.ContainsRune(e.raw[container.start:first], '\n') {
			inner = own
		}
		if !e.hasComma(last, closing) {
			e.edits = append(e.edits, edit{last, last, []byte(",")})
		}
	}
	at := closing
	for at > container.start+1 && strings.IndexByte(" \t\r\n", e.raw[at-1]) >= 0 {
		at--
	}
	var text []byte
	for i, item := range added {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, "\n"+inner...), item.text(inner)...)
	}
	text = append(text, "\n"+outer...)
	e.edits = append(e.edits, edit{at, closing, text})
}

// hasComma reports whether a comma follows the last value of a container.
func (e *editor) hasComma(last, closing int) bool {
	for i := last; i < closing; {
		switch e.raw[i] {
		case ',':
			return true
		case '/':
			i, _ = commentEnd(e.raw, i) // the file has been validated
		default:
			i++
		}
	}
	return false
}

// indentation returns the white space at the beginning of the line of a byte.
func (e *editor) indentation(at int) string {
	start := bytes.LastIndexByte(e.raw[:at], '\n') + 1
	end := start
	for end < at && (e.raw[end] == ' ' || e.raw[end] == '\t') {
		end++
	}
	return string(e.raw[start:end])
}
