package config

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// placeholder matches the text that [File.Definition] writes in place of a secret.
var placeholder = regexp.MustCompile(`^…([0-9]{1,6})$`)

// Definition returns the definition of a server as JSON, in the form of the file. It has "…1", "…2"
// and so on in place of values that may be secret, such as those of environment variables and
// headers. The error says that there is no such server, or why the file cannot be read.
func (f *File) Definition(id string) ([]byte, error) {
	m, err := f.definition(id)
	if err != nil {
		return nil, err
	}
	var out []byte
	end := m.start
	for i, secret := range secretValues(m.value) {
		out = append(out, m.data[end:secret.start]...)
		out = append(out, `"…`+strconv.Itoa(i+1)+`"`...)
		end = secret.end
	}
	compact, err := jsonscan.AppendCompact(nil, append(out, m.data[end:m.end]...))
	if err != nil {
		return nil, err
	}
	return indent(compact, "", "  "), nil
}

// definition returns the member of the file that defines a server.
func (f *File) definition(id string) (member, error) {
	if err := f.Err(); err != nil {
		return member{}, err
	}
	i := slices.IndexFunc(f.Servers, func(s *Server) bool { return s.ID == id })
	if i >= 0 {
		for _, m := range f.section.servers.members() {
			if f.text.position(m.offset) == f.Servers[i].Position {
				return m, nil
			}
		}
	}
	return member{}, fmt.Errorf("%s: server %q: %w", f.Path, id, ErrNotInstalled)
}

// Put returns the change of the file that adds a server or, if id equals from, replaces its
// definition. Unchanged parts of the file keep their comments, order and layout.
//
// definition is in the format of the file. A string such as "…1" stands for the value that it
// replaces in [File.Definition] of the server from. It must be in a place where values are treated
// as secret.
//
// The error is an [*ExistsError] if the file has another server with that id, and a [Diagnostic] if
// the definition is invalid. Warnings about it are notes of the change.
func (f *File) Put(env *Environment, id, from string, definition []byte) (*Change, error) {
	if err := f.Err(); err != nil {
		return nil, err
	}
	if err := host.CheckID(id); err != nil {
		return nil, err
	}
	var secrets []value
	name := id
	if from != "" {
		m, err := f.definition(from)
		if err != nil {
			return nil, err
		}
		secrets = secretValues(m.value)
		if from == id {
			name = m.name // which need not be a valid id
		}
	}
	definition, err := restore(definition, secrets)
	if err != nil {
		return nil, err
	}
	if from != id && slices.ContainsFunc(f.Servers, func(s *Server) bool { return s.ID == id }) {
		return nil, &ExistsError{f.Path, []string{id}}
	}
	a := f.application()
	var c *Change
	if from == id && f.text.toml == nil {
		c, err = a.rewrite(f.text, name, definition)
	} else {
		c, err = a.put(f.Path, f.text.raw, name, definition, from == id)
	}
	if err != nil {
		return nil, err
	}
	after := Parse(env, f.Source, c.After)
	if err := after.Err(); err != nil {
		return nil, err
	}
	for _, d := range after.Diagnostics {
		switch {
		case d.Server != id:
		case d.Severity == Error:
			return nil, d
		default:
			c.Notes = append(c.Notes, d.Message)
		}
	}
	return c, nil
}

// Remove returns the change of the file that removes a server. The rest stays unchanged. The error
// matches [ErrNotInstalled], or says why the file cannot be read or changed.
func (f *File) Remove(id string) (*Change, error) {
	m, err := f.definition(id)
	if err != nil {
		return nil, err
	}
	return f.application().Uninstall(f.Path, f.text.raw, nil, m.name)
}

// application returns an Application with the form of the file and the path of keys to its servers.
func (f *File) application() Application {
	switch keys := f.section.keys; {
	case !f.HasServers && f.text.toml != nil:
		return Application{keys: []string{"mcp_servers"}}
	case !f.HasServers:
		return Application{keys: []string{"mcpServers"}}
	case keys == "the whole file":
		return Application{}
	case strings.Contains(keys, "DIRECTORY"):
		root, _ := f.text.root()
		projects, _ := root.member("projects")
		directory := f.Workspace
		if _, ok := projects.member(directory); !ok {
			directory = filepath.ToSlash(directory) // as claudeProject does
		}
		return Application{keys: []string{"projects", directory, "mcpServers"}}
	default:
		return Application{keys: strings.Split(keys, ".")}
	}
}

// restore returns a definition with the secrets that its placeholders stand for.
func restore(definition []byte, secrets []value) ([]byte, error) {
	t, err := newText("definition.json", definition)
	if err != nil {
		return nil, err
	}
	root, ok := t.root()
	if !ok || !root.isObject() {
		return nil, errors.New("a definition must be an object")
	}
	if err := root.unique(); err != nil {
		return nil, err
	}
	type span struct {
		start, end int
		word       string
	}
	var out []byte
	var restored []span
	end := root.start
	for _, v := range root.strings() {
		word, _ := v.string()
		m := placeholder.FindStringSubmatch(word)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[1]) // digits
		if n < 1 || n > len(secrets) {
			return nil, fmt.Errorf("%s stands for no value of the server; write the value", word)
		}
		out = append(out, t.data[end:v.start]...)
		start := len(out)
		out = append(out, secrets[n-1].raw()...)
		restored = append(restored, span{start, len(out), word})
		end = v.end
	}
	out = append(out, t.data[end:root.end]...)
	if t, err = newText("definition.json", out); err != nil {
		return nil, err
	}
	root, _ = t.root()
	hidden := secretValues(root)
	for _, r := range restored {
		if !slices.ContainsFunc(hidden, func(v value) bool {
			return v.start <= r.start && r.end <= v.end
		}) {
			return nil, fmt.Errorf("%s cannot be here, where the value would be visible", r.word)
		}
	}
	return jsonscan.AppendCompact(nil, out)
}

// strings returns all strings within a value in order, except the names of members.
func (v value) strings() (all []value) {
	for _, m := range v.members() {
		all = append(all, m.value.strings()...)
	}
	for _, element := range v.elements() {
		all = append(all, element.strings()...)
	}
	if v.data[v.start] == '"' {
		all = append(all, v)
	}
	return all
}

// unique returns an error if an object within a value has two members with the same name.
func (v value) unique() error {
	seen := map[string]bool{}
	for _, m := range v.members() {
		if seen[m.name] {
			return v.diagnostic(m.offset, "%.60q is there twice; remove one of them", m.name)
		}
		seen[m.name] = true
		if err := m.unique(); err != nil {
			return err
		}
	}
	for _, element := range v.elements() {
		if err := element.unique(); err != nil {
			return err
		}
	}
	return nil
}

// maxRemoved is the number of members that are removed one by one, so that comments stay.
const maxRemoved = 100

// rewrite returns the change that makes the definition of a server equal to definition, member by
// member.
func (a Application) rewrite(t *text, name string, definition []byte) (*Change, error) {
	keys := append(slices.Clone(a.keys), name)
	data, removed := t.raw, 0
	start, end := -1, 0 // of the definition in t
	for {
		now, err := newText(t.name, data)
		if err != nil {
			return nil, err
		}
		servers, missing, err := a.servers(now)
		if err != nil || missing != nil {
			return nil, errors.Join(err, ErrNotInstalled)
		}
		existing, ok, err := servers.only(name)
		if err != nil || !ok {
			return nil, errors.Join(err, ErrNotInstalled)
		}
		if start < 0 {
			start, end = existing.start, existing.end
		}
		e := newEditor(now)
		if removed > maxRemoved || !existing.isObject() {
			e.edits = []edit{{existing.start, existing.end,
				indent(definition, e.indentation(existing.start), e.step)}}
		} else if removing := e.rewrite(existing, definition); removing {
			removed++
			data = e.apply()
			continue
		}
		after := e.apply()
		edits := lineEdits(t.raw[start:end], after[start:len(after)-len(t.raw)+end])
		for i := range edits {
			edits[i].start, edits[i].end = edits[i].start+start, edits[i].end+start
		}
		return a.verified(t, after, edits, keys, definition)
	}
}

// rewrite makes an object equal to want. If a member must be removed, rewrite only removes that
// member and returns true.
func (e *editor) rewrite(v value, want []byte) (removing bool) {
	wanted := map[string][]byte{}
	for token, value := range jsonscan.Members(want) {
		name, _ := jsonscan.Text(token)
		wanted[name] = value
	}
	has := map[string]bool{}
	for _, m := range v.members() {
		if _, ok := wanted[m.name]; !ok || has[m.name] {
			e.edits = nil
			e.remove(v, m.name)
			return true
		}
		has[m.name] = true
	}
	for _, m := range v.members() {
		to := wanted[m.name]
		switch {
		case equalJSON(m.raw(), to):
		case m.isObject() && to[0] == '{':
			if e.rewrite(m.value, to) {
				return true
			}
		default:
			e.edits = append(e.edits,
				edit{m.start, m.end, indent(to, e.indentation(m.offset), e.step)})
		}
	}
	var added []insertion
	for token, value := range jsonscan.Members(want) {
		if name, _ := jsonscan.Text(token); !has[name] {
			added = append(added, insertion{name, value})
		}
	}
	e.insert(v, added)
	return false
}

// maxLines is the greatest number of lines that are compared one by one.
const maxLines = 1000

// lineEdits returns edits of whole lines that change before to after.
func lineEdits(before, after []byte) (edits []edit) {
	a, b := slices.Collect(bytes.Lines(before)), slices.Collect(bytes.Lines(after))
	start := 0
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[0], b[0]) {
		start += len(a[0])
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) > maxLines || len(b) > maxLines {
		return []edit{{start, start + len(bytes.Join(a, nil)), bytes.Join(b, nil)}}
	}
	// common[i][j] is the number of lines that a[i:] and b[j:] have in common
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); bytes.Equal(a[i], b[j]) {
				common[i][j] = 1 + common[i+1][j+1]
			}
		}
	}
	var now *edit
	for i, j := 0, 0; i < len(a) || j < len(b); {
		if i < len(a) && j < len(b) && bytes.Equal(a[i], b[j]) {
			start += len(a[i])
			i, j, now = i+1, j+1, nil
			continue
		}
		if now == nil {
			edits = append(edits, edit{start: start, end: start})
			now = &edits[len(edits)-1]
		}
		if j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1] {
			start += len(a[i])
			now.end = start
			i++
		} else {
			now.text = append(now.text, b[j]...)
			j++
		}
	}
	return edits
}
