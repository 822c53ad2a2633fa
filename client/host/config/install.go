package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Change is a change of a file of an application. Before and After are secret: see [Change.Diff].
type Change struct {
	Before, After []byte   // equal if there is nothing to change
	Notes         []string // on members that are written differently from the given definition
	File          string
	edits         []edit // of Before
	keys          []string
}

// Install returns the change that adds a server to a file of the application. data is the content
// of the file, which may be empty, and path its name. The rest of the file stays unchanged, with
// its comments and layout. Variables are written in the application's own form, and never expanded.
//
// workspace says that the file is that of a workspace: relative paths that start there stay
// relative and, unless the server has a cwd, ${workspaceFolder} becomes ".". Other relative paths
// become absolute.
//
// If the file has a different server of that name, the error is an [*ExistsError], unless replace
// is set: then the definition is replaced with the comments in it. An error of the file is a
// [Diagnostic]; any other says what the application cannot do.
func (a Application) Install(env *Environment, path string, data []byte, s *Server, workspace,
	replace bool) (*Change, error) {
	if err := host.CheckID(s.ID); err != nil {
		return nil, err
	}
	definition, notes, err := a.define(env, s, workspace)
	if err != nil {
		return nil, err
	}
	c, err := a.put(path, data, s.ID, definition, replace)
	if err != nil {
		return nil, err
	}
	c.Notes = notes
	return c, nil
}

// ErrNotInstalled reports that a file has no server of that name.
var ErrNotInstalled = errors.New("there is no such server")

// Uninstall returns the change that removes a server from a file of the application. backup is an
// earlier content of the file, or nil. If adding the server to backup gives data, the change
// restores backup. Otherwise the change keeps the object of servers even if it becomes empty.
//
// The error matches [ErrNotInstalled], is a [Diagnostic] of the file, or says why the definition
// cannot be removed.
func (a Application) Uninstall(path string, data, backup []byte, name string) (*Change, error) {
	t, err := newText(path, data)
	if err != nil {
		return nil, err
	}
	servers, missing, err := a.servers(t)
	if err != nil {
		return nil, err
	}
	installed, ok, err := servers.only(name)
	switch {
	case err != nil:
		return nil, err
	case !ok || missing != nil:
		return nil, fmt.Errorf("%s: server %q: %w", path, name, ErrNotInstalled)
	}
	definition, err := jsonscan.AppendCompact(nil, installed.raw())
	if err != nil {
		return nil, err
	}
	keys := append(a.serverKeys(t), name)
	if backup != nil {
		earlier, err := a.put(path, backup, name, definition, false)
		if err == nil && bytes.Equal(earlier.After, data) &&
			!bytes.Equal(earlier.After, backup) {
			e := edit{0, len(data), backup}
			return &Change{Before: data, After: backup, File: path, edits: []edit{e.shorten(data)},
				keys: keys}, nil
		}
	}
	e := newEditor(t)
	if t.toml != nil {
		_, err = e.removeTables(t, keys, nil)
	} else {
		e.remove(servers, name)
	}
	if err != nil {
		return nil, err
	}
	return a.change(t, e, keys, nil)
}

// shorten returns the edit without the unchanged bytes at both ends.
func (d edit) shorten(data []byte) edit {
	for d.start < d.end && len(d.text) > 0 && data[d.start] == d.text[0] {
		d.start, d.text = d.start+1, d.text[1:]
	}
	for d.start < d.end && len(d.text) > 0 && data[d.end-1] == d.text[len(d.text)-1] {
		d.end, d.text = d.end-1, d.text[:len(d.text)-1]
	}
	return d
}

// serverKeys returns the path of keys to the servers in a file.
func (a Application) serverKeys(t *text) []string {
	if root, ok := t.root(); ok && a.Name == "opencode" {
		if _, ok := settingsServers(root, ""); ok { // opencode 2
			return []string{"mcp", "servers"}
		}
	}
	return slices.Clone(a.keys)
}

// servers returns the object of servers or, if there is none, the object that lacks it, with the
// keys that are missing.
func (a Application) servers(t *text) (object value, missing []string, err error) {
	keys := a.serverKeys(t)
	object, ok := t.root()
	if !ok {
		return value{}, keys, nil
	}
	for i, key := range keys {
		if !object.isObject() {
			return value{}, nil, object.diagnostic(object.start, "%s must be an object, not %s",
				strings.Join(append([]string{"the file"}, keys[:i]...), "."), object.kind())
		}
		v, ok, err := object.only(key)
		if err != nil || !ok {
			return object, keys[i:], err
		}
		object = v
	}
	if !object.isObject() {
		return value{}, nil, object.diagnostic(object.start,
			"%s must be an object of servers by their ids, not %s", strings.Join(keys, "."),
			object.kind())
	}
	return object, nil, nil
}

// only returns the member with that name. If there are several, the error is a [Diagnostic].
func (v value) only(name string) (found value, ok bool, err error) {
	for _, m := range v.members() {
		if m.name == name && ok {
			return found, ok, v.diagnostic(m.offset, "%.60q is there twice; remove one of them", name)
		}
		if m.name == name {
			found, ok = m.value, true
		}
	}
	return found, ok, nil
}

// put returns the change that adds a definition, or replaces another.
func (a Application) put(path string, data []byte, name string, definition []byte,
	replace bool) (*Change, error) {
	t, err := newText(path, data)
	if err != nil {
		return nil, err
	}
	object, missing, err := a.servers(t)
	if err != nil {
		return nil, err
	}
	keys := append(a.serverKeys(t), name)
	var existing value
	exists := false
	if missing == nil {
		if existing, exists, err = object.only(name); err != nil {
			return nil, err
		}
	}
	switch {
	case exists && equalJSON(existing.raw(), definition):
		return &Change{Before: data, After: data, File: path, keys: keys}, nil
	case exists && !replace:
		return nil, &ExistsError{path, []string{name}}
	}
	e := newEditor(t)
	_, hasRoot := t.root()
	switch {
	case t.toml != nil:
		err = e.putTable(t, keys, definition, exists)
	case exists:
		e.edits = append(e.edits, edit{existing.start, existing.end,
			indent(definition, e.indentation(existing.start), e.step)})
	case !hasRoot:
		e.append(indent(nested(keys, definition), "", e.step))
	case missing != nil:
		e.insert(object, []insertion{{missing[0], nested(append(missing[1:], name), definition)}})
	default:
		e.insert(object, []insertion{{name, definition}})
	}
	if err != nil {
		return nil, err
	}
	return a.change(t, e, keys, definition)
}

// nested returns a definition within objects with these keys.
func nested(keys []string, definition []byte) []byte {
	for _, key := range slices.Backward(keys) {
		definition = objectJSON([]insertion{{key, definition}})
	}
	return definition
}

// append adds text at the end of the file, on a line of its own.
func (e *editor) append(text []byte) {
	if len(e.raw) > 0 && e.raw[len(e.raw)-1] != '\n' && !bytes.Equal(e.raw, []byte("\xEF\xBB\xBF")) {
		text = append([]byte("\n"), text...)
	}
	e.edits = append(e.edits, edit{len(e.raw), len(e.raw), append(text, '\n')})
}

// change returns the change that consists of the edits, after verifying that the rest is unchanged.
func (a Application) change(t *text, e *editor, keys []string, definition []byte) (*Change, error) {
	return a.verified(t, e.apply(), e.edits, keys, definition)
}

// verified is change for a text to which the edits have been applied.
func (a Application) verified(t *text, text []byte, edits []edit, keys []string,
	definition []byte) (*Change, error) {
	c := &Change{Before: t.raw, After: text, File: t.name, edits: edits, keys: keys}
	broken := func(err error) (*Change, error) {
		return nil, fmt.Errorf("%s cannot be changed without breaking it: %w; change it by hand",
			t.name, err)
	}
	after, err := newText(t.name, c.After)
	if err != nil {
		return broken(err)
	}
	object, missing, err := a.servers(after)
	if err != nil {
		return broken(err)
	}
	var written value
	ok := false
	if missing == nil {
		written, ok, err = object.only(keys[len(keys)-1])
	}
	switch {
	case err != nil:
		return broken(err)
	case ok != (definition != nil), ok && !equalJSON(written.raw(), definition):
		return broken(errors.New("the definition of the server would be another one"))
	case !bytes.Equal(without(t, keys), without(after, keys)):
		return broken(errors.New("something else would change"))
	}
	return c, nil
}
