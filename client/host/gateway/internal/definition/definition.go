// Package definition reads the definitions of items that servers list, and completes those that
// strict clients would refuse.
package definition

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/internal/override"
	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/internal/itemkey"
	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Definition is a server's definition of an item: its JSON, and what a gateway has to know of it.
// It is immutable.
type Definition struct {
	Own    string          // the server's own name, URI or URI template
	Text   json.RawMessage // as received
	Passed json.RawMessage // as forwarded; differs from Text if it was repaired or overridden

	Name      string              // Own, or the name that an override has for a tool or prompt
	Hidden    bool                // by an override
	Arguments *override.Arguments // nil: callers send those of the server
	Refused   error               // why its override cannot be applied

	// Use, if set, is the function of a tool of the gateway itself.
	Use func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error)

	Idempotent  bool     // a call of the tool may be repeated
	ReadOnly    bool     // the tool changes nothing
	HasApp      bool     // the _meta of the tool refers to an app
	OnlyForApps bool     // the tool is hidden from models
	MIMEType    string   // of a resource or template
	Files       []string // the URIs of the files of a skill
}

// An Invalid is a definition that cannot be forwarded.
type Invalid struct {
	Own string // its own name, or "#" and its position in the list
	Err error
}

// parse parses a definition and applies its override. A duplicate member is an error, because
// clients may differ in which of the two they use.
func parse(kind mcp.Kind, text json.RawMessage, overrides map[string]host.Override) (*Definition,
	error) {
	d := &Definition{Own: kind.KeyOf(text), Text: text}
	d.Name = d.Own
	if len(text) == 0 || text[0] != '{' {
		return d, errors.New("it is not an object")
	}
	_, err := jsondiff.Canonical(text)
	if err != nil {
		return d, err
	}
	if d.Passed, err = repair(kind, text); err != nil {
		return d, err
	}
	if err = d.decode(kind); err != nil {
		return d, err
	}
	if o, found := overrides[itemkey.Of(kind, d.Own)]; found {
		d.override(kind, &o)
	}
	return d, nil
}

// errApp says why the arguments of a tool with an app stay.
var errApp = errors.New("arguments: the page of its app knows them as the server has them")

// override applies an override.
func (d *Definition) override(kind mcp.Kind, o *host.Override) {
	if d.HasApp && len(o.Arguments) > 0 {
		d.Refused = errApp
		return
	}
	passed, arguments, err := override.Apply(kind, d.Passed, o)
	if err != nil {
		d.Refused = err
		return
	}
	d.Passed, d.Arguments, d.Hidden = passed, arguments, o.Hidden
	if kind == mcp.KindTool || kind == mcp.KindPrompt {
		d.Name = cmp.Or(o.Name, d.Own)
	}
	d.Refused = d.decode(kind)
}

// decode sets what a gateway has to know of a definition. It refuses one that does not have the
// form that the protocol defines.
func (d *Definition) decode(kind mcp.Kind) (err error) {
	switch kind {
	case mcp.KindTool:
		var t mcp.Tool
		err = mcp.Unmarshal(d.Passed, &t)
		ui, _ := appdef.ToolUI(t.Meta) // a malformed value hides nothing
		d.Idempotent = t.Annotations.Idempotent()
		d.ReadOnly = t.Annotations.ReadOnly()
		d.HasApp = t.Meta[mcp.MetaUI] != nil || t.Meta[mcp.MetaUIResourceURI] != nil
		d.OnlyForApps = !ui.Allows(mcp.VisibleToModel)
	case mcp.KindPrompt:
		var p mcp.Prompt
		err = mcp.Unmarshal(d.Passed, &p)
	case mcp.KindResource:
		var r mcp.Resource
		err = mcp.Unmarshal(d.Passed, &r)
		d.MIMEType = r.MIMEType
	case mcp.KindResourceTemplate:
		var t mcp.ResourceTemplate
		err = mcp.Unmarshal(d.Passed, &t)
		d.MIMEType = t.MIMEType
	case mcp.KindSkill:
		var s mcp.Skill
		err = mcp.Unmarshal(d.Passed, &s)
		for _, f := range s.Resources.Files {
			d.Files = append(d.Files, f.URI)
		}
	}
	return err
}

// ParseList returns the valid and the invalid definitions of a list, or the error of the list.
func ParseList(kind mcp.Kind, texts iter.Seq2[json.RawMessage, error],
	overrides map[string]host.Override) (all []*Definition, invalid []Invalid, err error) {
	seen := make(map[string]bool)
	n := 0
	for text, err := range texts {
		if err != nil {
			return nil, nil, err
		}
		n++
		d, err := parse(kind, text, overrides)
		switch {
		case err == nil && d.Own == "":
			err = errors.New("it has no name")
		case err == nil && seen[d.Own]:
			err = errors.New("the server has two with this name")
		}
		if err != nil {
			invalid = append(invalid, Invalid{cmp.Or(d.Own, fmt.Sprintf("#%d", n)), err})
			continue
		}
		seen[d.Own] = true
		all = append(all, d)
	}
	return all, invalid, nil
}

// ParseTexts is [ParseList] for definitions that have been listed.
func ParseTexts(kind mcp.Kind, texts []json.RawMessage,
	overrides map[string]host.Override) (all []*Definition, invalid []Invalid) {
	all, invalid, _ = ParseList(kind, func(yield func(json.RawMessage, error) bool) {
		for text := range slices.Values(texts) {
			if !yield(text, nil) {
				return
			}
		}
	}, overrides)
	return all, invalid
}

// Reuse replaces the definitions that an earlier list has as well by those of the earlier list, so
// that each is kept once and can be compared by its address.
func Reuse(all, before []*Definition) {
	known := make(map[string]*Definition, len(before))
	for _, d := range before {
		known[d.Own] = d
	}
	for i, d := range all {
		if k := known[d.Own]; k != nil && bytes.Equal(k.Text, d.Text) {
			all[i] = k
		}
	}
}

// Texts returns the definitions as received.
func Texts(all []*Definition) []json.RawMessage {
	texts := make([]json.RawMessage, len(all))
	for i, d := range all {
		texts[i] = d.Text
	}
	return texts
}

// WithKey returns a definition with this URI or URI template.
func WithKey(kind mcp.Kind, text json.RawMessage, key string) json.RawMessage {
	if kind.KeyOf(text) == key {
		return text
	}
	return jsonscan.SetMember(text, kind.Info().Key, jsonscan.AppendString(nil, key))
}

// WithName returns a definition with another name and description; an empty description is not
// added. All other members stay unchanged.
func WithName(text json.RawMessage, name, description string) json.RawMessage {
	renamed := append(make([]byte, 0, len(text)+len(name)+len(description)+len(`,"description":""`)),
		'{')
	described := description == ""
	for key, value := range jsonscan.Members(text) {
		switch {
		case jsonscan.KeyIs(key, "name"):
			renamed = jsonscan.AppendString(jsonscan.AppendMember(renamed, key, nil), name)
		case jsonscan.KeyIs(key, "description"):
			renamed = jsonscan.AppendString(jsonscan.AppendMember(renamed, key, nil), description)
			described = true
		default:
			renamed = jsonscan.AppendMember(renamed, key, value)
		}
	}
	if !described {
		renamed = jsonscan.AppendString(
			jsonscan.AppendMember(renamed, []byte(`"description"`), nil), description)
	}
	return append(renamed, '}')
}
