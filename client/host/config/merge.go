package config

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// An ExistsError reports that a file has different servers with the ids of servers to add.
type ExistsError struct {
	File string
	IDs  []string
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s already has a different %s", e.File, strings.Join(e.IDs, ", "))
}

// Merge returns the change that adds servers and inputs to a file. The rest of the file, with its
// comments and layout, stays unchanged. data is the current content, which may be empty; path is
// for messages. Servers that the file already has stay unchanged. If the file has a different
// server with the same id, the error is an [*ExistsError], unless replace is set: then the
// definition is replaced with the comments in it.
//
// The file must be in stdwire's own form, with its servers under mcpServers or servers. An error of
// the file is a [Diagnostic].
func Merge(env *Environment, path string, data []byte, servers []*Server, inputs []Input,
	replace bool) (*Change, error) {
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
		e := newEditor(f.text)
		e.append(Encode(servers, inputs, nil))
		return &Change{Before: data, After: e.apply(), File: path, edits: e.edits,
			keys: []string{"mcpServers", ""}}, nil
	}
	e := newEditor(f.text)
	keys := []string{"mcpServers", ""}
	if f.HasServers {
		if !f.section.isNative {
			return nil, fmt.Errorf(
				"%s is in the format of another application, which has its servers under %s and does not read stdwire's format",
				path, f.section.keys)
		}
		keys[0] = f.section.keys
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
	return &Change{Before: data, After: merged, File: path, edits: e.edits, keys: keys}, nil
}

// An insertion is a new member of an object or, without a name, a new element of an array.
type insertion struct {
	name  string
	value []byte
}

func (a insertion) text(prefix, step string) []byte {
	var text []byte
	if a.name != "" {
		text = append(jsonscan.AppendString(text, a.name), ": "...)
	}
	return append(text, indent(a.value, prefix, step)...)
}

// An editor collects changes to a file.
type editor struct {
	raw         []byte
	step        string // the indentation of a level
	newline     string // a line end
	edits       []edit
	rootMembers []insertion // new members of the root
}

// newEditor returns an editor that writes in the style of a text, which is valid.
func newEditor(t *text) *editor {
	e := &editor{raw: t.raw, step: "  ", newline: "\n"}
	if i := bytes.IndexByte(t.raw, '\n'); i > 0 && t.raw[i-1] == '\r' {
		e.newline = "\r\n"
	}
	if root, ok := t.root(); ok && t.toml == nil {
		if members := root.members(); len(members) > 0 && e.ownLine(members[0].offset) {
			e.step = cmp.Or(e.indentation(members[0].offset), e.step)
		}
	}
	return e
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
	for i, edit := range e.edits {
		if e.newline != "\n" {
			edit.text = bytes.ReplaceAll(edit.text, []byte("\n"), []byte(e.newline))
			e.edits[i] = edit
		}
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
				edit{m.start, m.end, indent(s.JSON(), e.indentation(m.offset), e.step)})
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
// comments that follow them. It removes nothing. A comma follows the last of them if one followed
// the last existing one.
func (e *editor) insert(container value, added []insertion) {
	if len(added) == 0 {
		return
	}
	closing := container.end - 1
	outer := e.indentation(container.start)
	inner := outer + e.step
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
	trailing := false
	if first != 0 {
		if own := e.indentation(first); bytes.ContainsRune(e.raw[container.start:first], '\n') {
			inner = own
		}
		if trailing = e.comma(last, closing) >= 0; !trailing {
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
		text = append(append(text, "\n"+inner...), item.text(inner, e.step)...)
	}
	if trailing {
		text = append(text, ',')
	}
	if !bytes.ContainsRune(e.raw[at:closing], '\n') {
		text = append(text, "\n"+outer...)
	}
	e.edits = append(e.edits, edit{at, at, text})
}

// comma returns the offset of the comma that follows a value before the offset end, or -1.
func (e *editor) comma(value, end int) int {
	for i := value; i < end; {
		switch e.raw[i] {
		case ',':
			return i
		case '/':
			i, _ = commentEnd(e.raw, i) // the file has been validated
		default:
			i++
		}
	}
	return -1
}

// ownLine reports whether only white space precedes a byte in its line, and the line is not the
// first.
func (e *editor) ownLine(at int) bool {
	i := bytes.LastIndexByte(e.raw[:at], '\n')
	return i >= 0 && len(bytes.TrimLeft(e.raw[i+1:at], " \t")) == 0
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
