package appfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/mcpjson"
)

// A File is a configuration file with its text.
type File struct {
	*config.File
	env  *config.Environment
	text *jsonedit.Text
}

// Parse parses a file: see [config.Parse].
func Parse(env *config.Environment, source config.Source, data []byte) *File {
	f := &File{File: config.Parse(env, source, data), env: env}
	f.text, _ = parseText(source.Path, data) // the File has its error
	return f
}

// parseText parses a file as [config.Parse] does.
func parseText(path string, data []byte) (*jsonedit.Text, error) {
	if mcpjson.IsTOML(path, data) {
		return jsonedit.ParseTOML(path, data)
	}
	return jsonedit.ParseJSON(path, data)
}

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
	end := m.Start
	for i, secret := range secretValues(m.Value) {
		out = append(out, m.Data[end:secret.Start]...)
		out = append(out, `"…`+strconv.Itoa(i+1)+`"`...)
		end = secret.End
	}
	compact, err := jsonscan.AppendCompact(nil, append(out, m.Data[end:m.End]...))
	if err != nil {
		return nil, err
	}
	return jsonedit.Indent(compact, "", "  "), nil
}

// definition returns the member of the file that defines a server.
func (f *File) definition(id string) (jsonedit.Member, error) {
	if err := f.Err(); err != nil {
		return jsonedit.Member{}, err
	}
	i := slices.IndexFunc(f.Servers, func(s *config.Server) bool { return s.ID == id })
	if i >= 0 {
		for _, m := range f.servers().Members() {
			line, column := f.text.Position(m.Offset)
			if at := f.Servers[i].Position; line == at.Line && column == at.Column {
				return m, nil
			}
		}
	}
	return jsonedit.Member{}, fmt.Errorf("%s: server %q: %w", f.Path, id, ErrNotInstalled)
}

// servers returns the object of servers of a file that has one.
func (f *File) servers() jsonedit.Value {
	object, _ := f.text.Root()
	for _, key := range f.application().keys {
		object, _ = object.Member(key)
	}
	return object
}

// Put returns the change of the file that adds a server or, if id equals from, replaces its
// definition. Unchanged parts of the file keep their comments, order and layout.
//
// definition is in the format of the file. A string such as "…1" stands for the value that it
// replaces in [File.Definition] of the server from. It must be in a place where values are treated
// as secret.
//
// The error is an [*ExistsError] if the file has another server with that id; otherwise it says why
// the definition is invalid, or why the file cannot be read or changed. Warnings about the
// definition are notes of the change.
func (f *File) Put(id, from string, definition []byte) (*Change, error) {
	if err := f.Err(); err != nil {
		return nil, err
	}
	if err := itemname.CheckID(id); err != nil {
		return nil, err
	}
	var secrets []jsonedit.Value
	name := id
	if from != "" {
		m, err := f.definition(from)
		if err != nil {
			return nil, err
		}
		secrets = secretValues(m.Value)
		if from == id {
			name = m.Name // which need not be a valid id
		}
	}
	definition, err := restore(definition, secrets)
	if err != nil {
		return nil, err
	}
	hasID := func(s *config.Server) bool { return s.ID == id }
	if from != id && slices.ContainsFunc(f.Servers, hasID) {
		return nil, &ExistsError{f.Path, []string{id}}
	}
	a := f.application()
	var c *Change
	if from == id && f.text.TOML == nil {
		c, err = a.rewrite(f.text, name, definition)
	} else {
		c, err = a.put(f.Path, f.text.Raw, name, definition, from == id)
	}
	if err != nil {
		return nil, err
	}
	return f.checked(c, id)
}

// Add returns the change of the file that adds a server, in stdwire's own form. As in
// [Application.Install], relative paths become absolute, unless the file is that of a workspace,
// and nothing changes if the file has that server. If it has a different one with that id, the
// error is an [*ExistsError], unless replace is set.
func (f *File) Add(server *config.Server, workspace, replace bool) (*Change, error) {
	if err := f.Err(); err != nil {
		return nil, err
	}
	if err := f.checkNative(); err != nil {
		return nil, err
	}
	if err := itemname.CheckID(server.ID); err != nil {
		return nil, err
	}
	a := f.application()
	a.Title = "stdwire"
	a.form = form{url: "url", verbatim: true}
	definition, notes, err := a.define(f.env, server, workspace)
	if err != nil {
		return nil, err
	}
	name := server.ID
	if m, err := f.definition(name); err == nil {
		name = m.Name // which need not be a valid id
	}
	c, err := a.put(f.Path, f.text.Raw, name, definition, replace)
	if err != nil {
		return nil, err
	}
	c.Notes = notes
	return f.checked(c, server.ID)
}

// checkNative returns an error unless the file has servers in stdwire's own form, or can have them.
func (f *File) checkNative() error {
	switch {
	case f.text.TOML != nil:
		return fmt.Errorf("%s is TOML; stdwire's own files are JSON", f.Path)
	case f.Keys != "" && !f.Native:
		return fmt.Errorf(
			"%s is in the format of another application, which has its servers under %s and does not read stdwire's format",
			f.Path, f.Keys)
	}
	return nil
}

// checked returns a change of the file with notes about the server that it adds, or an error if the
// file or the server would not be valid.
func (f *File) checked(c *Change, id string) (*Change, error) {
	after := config.Parse(f.env, f.Source, c.After)
	if err := after.Err(); err != nil {
		return nil, err
	}
	for _, d := range after.Diagnostics {
		switch {
		case d.Server != id:
		case d.Severity == config.SeverityError:
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
	return f.application().Uninstall(f.Path, f.text.Raw, nil, m.Name)
}

// application returns an Application with the form of the file and the path of keys to its servers.
func (f *File) application() Application {
	switch f.Keys {
	case "":
		if f.text.TOML != nil {
			return Application{keys: []string{"mcp_servers"}}
		}
		return Application{keys: []string{"mcpServers"}}
	case "the whole file":
		return Application{}
	case "projects.DIRECTORY.mcpServers":
		root, _ := f.text.Root()
		projects, _ := root.Member("projects")
		directory := f.Workspace
		if _, ok := projects.Member(directory); !ok {
			directory = filepath.ToSlash(directory) // as config.Parse does
		}
		return Application{keys: []string{"projects", directory, "mcpServers"}}
	default:
		return Application{keys: strings.Split(f.Keys, ".")}
	}
}

// restore returns a definition with the secrets that its placeholders stand for.
func restore(definition []byte, secrets []jsonedit.Value) ([]byte, error) {
	t, err := jsonedit.ParseJSON("definition.json", definition)
	if err != nil {
		return nil, err
	}
	root, ok := t.Root()
	if !ok || !root.IsObject() {
		return nil, errors.New("a definition must be an object")
	}
	if err := duplicateError(root); err != nil {
		return nil, err
	}
	type span struct {
		start, end int
		word       string
	}
	var out []byte
	var restored []span
	end := root.Start
	for _, v := range stringsIn(root) {
		word, _ := v.AsString()
		m := placeholder.FindStringSubmatch(word)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[1]) // digits
		if n < 1 || n > len(secrets) {
			return nil, fmt.Errorf("%s stands for no value of the server; write the value", word)
		}
		out = append(out, t.Data[end:v.Start]...)
		start := len(out)
		out = append(out, secrets[n-1].JSON()...)
		restored = append(restored, span{start, len(out), word})
		end = v.End
	}
	out = append(out, t.Data[end:root.End]...)
	if t, err = jsonedit.ParseJSON("definition.json", out); err != nil {
		return nil, err
	}
	root, _ = t.Root()
	hidden := secretValues(root)
	for _, r := range restored {
		if !slices.ContainsFunc(hidden, func(v jsonedit.Value) bool {
			return v.Start <= r.start && r.end <= v.End
		}) {
			return nil, fmt.Errorf("%s cannot be here, where the value would be visible", r.word)
		}
	}
	return jsonscan.AppendCompact(nil, out)
}

// stringsIn returns all strings within a value in order, except the names of members.
func stringsIn(v jsonedit.Value) (all []jsonedit.Value) {
	for _, m := range v.Members() {
		all = append(all, stringsIn(m.Value)...)
	}
	for _, element := range v.Elements() {
		all = append(all, stringsIn(element)...)
	}
	if v.Data[v.Start] == '"' {
		all = append(all, v)
	}
	return all
}

// duplicateError returns an error if an object within a value has two members with the same name.
func duplicateError(v jsonedit.Value) error {
	seen := map[string]bool{}
	for _, m := range v.Members() {
		if seen[m.Name] {
			return v.Errorf(m.Offset, "%.60q is there twice; remove one of them", m.Name)
		}
		seen[m.Name] = true
		if err := duplicateError(m.Value); err != nil {
			return err
		}
	}
	for _, element := range v.Elements() {
		if err := duplicateError(element); err != nil {
			return err
		}
	}
	return nil
}

// maxRemoved is the number of members that are removed one by one, so that comments stay.
const maxRemoved = 100

// rewrite returns the change that makes the definition of a server equal to definition, member by
// member.
func (a Application) rewrite(t *jsonedit.Text, name string, definition []byte) (*Change, error) {
	keys := append(slices.Clone(a.keys), name)
	data, removed := t.Raw, 0
	start, end := -1, 0 // of the definition in t
	for {
		now, err := parseText(t.Name, data)
		if err != nil {
			return nil, err
		}
		servers, missing, err := a.servers(now)
		if err != nil || missing != nil {
			return nil, errors.Join(err, ErrNotInstalled)
		}
		existing, ok, err := servers.Only(name)
		if err != nil || !ok {
			return nil, errors.Join(err, ErrNotInstalled)
		}
		if start < 0 {
			start, end = existing.Start, existing.End
		}
		e := jsonedit.NewEditor(now)
		if removed > maxRemoved || !existing.IsObject() {
			e.Replace(existing, existing.Start, definition)
		} else if removing := e.Rewrite(existing, definition); removing {
			removed++
			data = e.Apply()
			continue
		}
		after := e.Apply()
		edits := jsonedit.LineEdits(t.Raw[start:end], after[start:len(after)-len(t.Raw)+end])
		for i := range edits {
			edits[i].Start, edits[i].End = edits[i].Start+start, edits[i].End+start
		}
		return a.verified(t, after, edits, keys, definition)
	}
}
