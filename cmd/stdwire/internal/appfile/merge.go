package appfile

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/jsonedit"
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
// the file is a [config.Diagnostic].
func Merge(env *config.Environment, path string, data []byte, servers []*config.Server,
	inputs []config.Input, replace bool) (*Change, error) {
	source := config.Source{Path: path, Workspace: env.Dir}
	f := Parse(env, source, data)
	if err := f.Err(); err != nil {
		return nil, err
	}
	if err := f.checkNative(); err != nil {
		return nil, err
	}
	root, ok := f.text.Root()
	if !ok { // no value, but there may be comments
		e := jsonedit.NewEditor(f.text)
		e.Append(config.Encode(servers, inputs, nil))
		return &Change{Before: data, After: e.Apply(), File: path, edits: e.Edits,
			keys: []string{"mcpServers", ""}}, nil
	}
	m := &merger{Editor: jsonedit.NewEditor(f.text), File: f}
	if err := m.addServers(servers, replace); err != nil {
		return nil, err
	}
	if err := m.addInputs(root, inputs); err != nil {
		return nil, err
	}
	m.Insert(root, m.root)
	merged := m.Apply()
	if err := config.Parse(env, source, merged).Err(); err != nil {
		return nil, fmt.Errorf("servers cannot be added to %s: %w", path, err)
	}
	return &Change{Before: data, After: merged, File: path, edits: m.Edits,
		keys: []string{cmp.Or(f.Keys, "mcpServers"), ""}}, nil
}

// A merger collects the edits of a merge.
type merger struct {
	*jsonedit.Editor
	*File
	root []jsonedit.Item // new members of the root
}

// addServers adds servers, or replaces different ones if replace is set.
func (m *merger) addServers(servers []*config.Server, replace bool) error {
	var added []jsonedit.Item
	exists := &ExistsError{File: m.Path}
	object := m.servers()
	members := object.Members()
	for _, s := range servers {
		i := slices.IndexFunc(m.Servers, func(o *config.Server) bool { return o.ID == s.ID })
		switch {
		case i < 0:
			added = append(added, jsonedit.Item{Name: s.ID, JSON: s.JSON()})
		case m.Servers[i].Err == nil && bytes.Equal(m.Servers[i].JSON(), s.JSON()):
		case !replace:
			exists.IDs = append(exists.IDs, s.ID)
		default:
			i := slices.IndexFunc(members, func(o jsonedit.Member) bool { return o.Name == s.ID })
			m.Replace(members[i].Value, members[i].Offset, s.JSON())
		}
	}
	if exists.IDs != nil {
		return exists
	}
	if m.Keys == "" {
		m.root = append(m.root, jsonedit.Item{Name: "mcpServers", JSON: jsonedit.Object(added)})
		return nil
	}
	m.Insert(object, added)
	return nil
}

// addInputs adds the inputs that the file does not describe yet.
func (m *merger) addInputs(root jsonedit.Value, inputs []config.Input) error {
	var added []jsonedit.Item
	for _, input := range inputs {
		if !slices.ContainsFunc(m.Inputs, func(o config.Input) bool { return o.ID == input.ID }) {
			added = append(added, jsonedit.Item{JSON: input.JSON()})
		}
	}
	existing, ok := root.Member("inputs")
	switch {
	case added == nil:
	case !ok:
		m.root = append(m.root, jsonedit.Item{Name: "inputs", JSON: jsonedit.Array(added)})
	case !existing.IsArray():
		return existing.Errorf(existing.Start, "inputs must be an array, not %s",
			existing.TypeName())
	default:
		m.Insert(existing, added)
	}
	return nil
}
