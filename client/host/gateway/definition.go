package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/stdwire/stdwire/client/host/gateway/internal/repair"
	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A definition is a server's definition of a tool, prompt, resource or template.
type definition[T any] struct {
	item   *T
	text   json.RawMessage // as received
	passed json.RawMessage // as forwarded; differs from text if it was repaired
}

// An invalidDefinition is a definition that cannot be forwarded.
type invalidDefinition struct {
	own string // its own name, or "#" and its position in the list
	err error
}

// parseDefinition parses a definition. A duplicate member is an error, because clients may differ
// in which of the two they use.
func parseDefinition[T any](kind mcp.Kind, text json.RawMessage) (d definition[T], err error) {
	d = definition[T]{new(T), text, nil}
	if len(text) == 0 || text[0] != '{' {
		return d, errors.New("it is not an object")
	}
	if _, err = jsondiff.Canonical(text); err != nil {
		return d, err
	}
	if d.passed, err = repair.Definition(kind, text); err != nil {
		return d, err
	}
	return d, mcp.Unmarshal(d.passed, d.item)
}

// parseDefinitions returns the valid and the invalid definitions of a list, or the error of the
// list.
func parseDefinitions[T any](kind mcp.Kind,
	texts iter.Seq2[json.RawMessage, error]) (all []definition[T], invalid []invalidDefinition,
	err error) {
	seen := make(map[string]bool)
	n := 0
	for text, err := range texts {
		if err != nil {
			return nil, nil, err
		}
		n++
		own := kind.KeyOf(text)
		d, err := parseDefinition[T](kind, text)
		switch {
		case err == nil && own == "":
			err = errors.New("it has no name")
		case err == nil && seen[own]:
			err = errors.New("the server has two with this name")
		}
		if err != nil {
			invalid = append(invalid, invalidDefinition{cmp.Or(own, fmt.Sprintf("#%d", n)), err})
			continue
		}
		seen[own] = true
		all = append(all, d)
	}
	return all, invalid, nil
}

// definitionTexts returns the definitions as received.
func definitionTexts[T any](all []definition[T]) []json.RawMessage {
	texts := make([]json.RawMessage, len(all))
	for i, d := range all {
		texts[i] = d.text
	}
	return texts
}

// textSeq returns an iterator over texts without errors.
func textSeq(texts []json.RawMessage) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for _, text := range texts {
			if !yield(text, nil) {
				return
			}
		}
	}
}

// withKey returns a definition with this URI or URI template.
func withKey(kind mcp.Kind, text json.RawMessage, key string) json.RawMessage {
	if kind.KeyOf(text) == key {
		return text
	}
	return jsonscan.SetMember(text, kind.Key(), jsonscan.AppendString(nil, key))
}

// withName returns a definition with another name and description; an empty description is not
// added. All other members stay unchanged.
func withName(text json.RawMessage, name, description string) json.RawMessage {
	text = jsonscan.SetMember(text, "name", jsonscan.AppendString(nil, name))
	if description == "" && jsonscan.Member(text, "description") == nil {
		return text
	}
	return jsonscan.SetMember(text, "description", jsonscan.AppendString(nil, description))
}
