package appfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// An Installation is a server to add to a file of an application.
type Installation struct {
	Server *config.Server
	// Workspace says that the file is that of a workspace: relative paths that start there stay
	// relative and, unless the server has a cwd, ${workspaceFolder} becomes ".". Other relative
	// paths become absolute.
	Workspace bool
	// Replace says that a different server of that name is replaced, with the comments in its
	// definition.
	Replace bool
}

// Install returns the change that adds a server to a file of the application. data is the content
// of the file, which may be empty, and path its name. The rest of the file stays unchanged, with
// its comments and layout. Variables are written in the application's own form, and never expanded.
//
// If the file has a different server of that name, the error is an [*ExistsError], unless Replace
// is set. An error of the file is a [*jsonedit.Error]; any other says what the application cannot
// do.
func (a Application) Install(env *config.Environment, path string, data []byte,
	in Installation) (*Change, error) {
	if err := itemname.CheckID(in.Server.ID); err != nil {
		return nil, err
	}
	definition, notes, err := a.define(env, in.Server, in.Workspace)
	if err != nil {
		return nil, err
	}
	c, err := a.put(path, data, in.Server.ID, definition, in.Replace)
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
// The error matches [ErrNotInstalled], is a [*jsonedit.Error] of the file, or says why the
// definition cannot be removed.
func (a Application) Uninstall(path string, data, backup []byte, name string) (*Change, error) {
	t, err := parseText(path, data)
	if err != nil {
		return nil, err
	}
	servers, missing, err := a.servers(t)
	if err != nil {
		return nil, err
	}
	installed, ok, err := servers.Only(name)
	switch {
	case err != nil:
		return nil, err
	case !ok || missing != nil:
		return nil, fmt.Errorf("%s: server %q: %w", path, name, ErrNotInstalled)
	}
	definition, err := jsonscan.AppendCompact(nil, installed.JSON())
	if err != nil {
		return nil, err
	}
	keys := append(a.serverKeys(t), name)
	if backup != nil {
		earlier, err := a.put(path, backup, name, definition, false)
		if err == nil && bytes.Equal(earlier.After, data) &&
			!bytes.Equal(earlier.After, backup) {
			e := jsonedit.Edit{Start: 0, End: len(data), Text: backup}
			return &Change{Before: data, After: backup, File: path,
				edits: []jsonedit.Edit{e.Shorten(data)}, keys: keys}, nil
		}
	}
	e := jsonedit.NewEditor(t)
	if t.TOML != nil {
		err = e.RemoveTables(keys)
	} else {
		e.Remove(servers, name)
	}
	if err != nil {
		return nil, err
	}
	return a.change(t, e, keys, nil)
}

// serverKeys returns the path of keys to the servers in a file.
func (a Application) serverKeys(t *jsonedit.Text) []string {
	if a.Name == "opencode" && isOpencode2(t) {
		return []string{"mcp", "servers"}
	}
	return slices.Clone(a.keys)
}

// isOpencode2 reports whether a file has an object mcp.servers that is not itself a server.
func isOpencode2(t *jsonedit.Text) bool {
	root, _ := t.Root()
	mcp, _ := root.Member("mcp")
	servers, _ := mcp.Member("servers")
	isServer := slices.ContainsFunc(servers.Members(), func(m jsonedit.Member) bool {
		return (m.Name == "command" || m.Name == "url") && !m.IsObject()
	})
	return servers.IsObject() && !isServer
}

// servers returns the object of servers. If the file has none, it returns the innermost object on
// the way there that exists, and the keys that are missing below it.
func (a Application) servers(t *jsonedit.Text) (object jsonedit.Value, missing []string,
	err error) {
	keys := a.serverKeys(t)
	object, ok := t.Root()
	if !ok {
		return jsonedit.Value{}, keys, nil
	}
	for i, key := range keys {
		if !object.IsObject() {
			return jsonedit.Value{}, nil, object.Errorf(object.Start, "%s must be an object, not %s",
				strings.Join(append([]string{"the file"}, keys[:i]...), "."), object.TypeName())
		}
		v, ok, err := object.Only(key)
		if err != nil || !ok {
			return object, keys[i:], err
		}
		object = v
	}
	if !object.IsObject() {
		return jsonedit.Value{}, nil, object.Errorf(object.Start,
			"%s must be an object of servers by their ids, not %s", strings.Join(keys, "."),
			object.TypeName())
	}
	return object, nil, nil
}

// put returns the change that adds a definition, or replaces another.
func (a Application) put(path string, data []byte, name string, definition []byte,
	replace bool) (*Change, error) {
	t, err := parseText(path, data)
	if err != nil {
		return nil, err
	}
	object, missing, err := a.servers(t)
	if err != nil {
		return nil, err
	}
	keys := append(a.serverKeys(t), name)
	var existing jsonedit.Value
	exists := false
	if missing == nil {
		if existing, exists, err = object.Only(name); err != nil {
			return nil, err
		}
	}
	switch {
	case exists && jsonedit.Equal(existing.JSON(), definition):
		return &Change{Before: data, After: data, File: path, keys: keys}, nil
	case exists && !replace:
		return nil, &ExistsError{path, []string{name}}
	}
	e := jsonedit.NewEditor(t)
	_, hasRoot := t.Root()
	switch {
	case t.TOML != nil:
		err = e.PutTable(keys, definition, exists)
	case exists:
		e.Replace(existing, existing.Start, definition)
	case !hasRoot:
		e.Append(nested(keys, definition))
	case missing != nil:
		e.Insert(object, []jsonedit.Item{{Name: missing[0],
			JSON: nested(append(missing[1:], name), definition)}})
	default:
		e.Insert(object, []jsonedit.Item{{Name: name, JSON: definition}})
	}
	if err != nil {
		return nil, err
	}
	return a.change(t, e, keys, definition)
}

// nested returns a definition within objects with these keys.
func nested(keys []string, definition []byte) []byte {
	for _, key := range slices.Backward(keys) {
		definition = jsonedit.Object([]jsonedit.Item{{Name: key, JSON: definition}})
	}
	return definition
}

// change returns the change that consists of the edits, after verifying that the rest is unchanged.
func (a Application) change(t *jsonedit.Text, e *jsonedit.Editor, keys []string,
	definition []byte) (*Change, error) {
	return a.verified(t, e.Apply(), e.Edits, keys, definition)
}

// verified is change for a text to which the edits have been applied.
func (a Application) verified(t *jsonedit.Text, text []byte, edits []jsonedit.Edit, keys []string,
	definition []byte) (*Change, error) {
	c := &Change{Before: t.Raw, After: text, File: t.Name, edits: edits, keys: keys}
	broken := func(err error) (*Change, error) {
		return nil, fmt.Errorf("%s cannot be changed without breaking it: %w; change it by hand",
			t.Name, err)
	}
	after, err := parseText(t.Name, c.After)
	if err != nil {
		return broken(err)
	}
	object, missing, err := a.servers(after)
	if err != nil {
		return broken(err)
	}
	var written jsonedit.Value
	ok := false
	if missing == nil {
		written, ok, err = object.Only(keys[len(keys)-1])
	}
	switch {
	case err != nil:
		return broken(err)
	case ok != (definition != nil), ok && !jsonedit.Equal(written.JSON(), definition):
		return broken(errors.New("the definition of the server would be another one"))
	case !bytes.Equal(t.Without(keys), after.Without(keys)):
		return broken(errors.New("something else would change"))
	}
	return c, nil
}
