package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/stdwire/stdwire/client/host/pin"
	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A definition is what a server says of something that it has.
type definition[T any] struct {
	item   *T
	text   json.RawMessage // as the server wrote it
	passed json.RawMessage // as it is passed on: the same, unless it was repaired
}

// A withheld is a definition that cannot be passed on.
type withheld struct {
	own string // what the server calls it, or which of its list it is
	err error
}

// define reads a definition. What is there twice in one is an error: who compares it and who uses
// it may take different ones.
func define[T any](kind string, text json.RawMessage) (d definition[T], err error) {
	d = definition[T]{new(T), text, nil}
	if len(text) == 0 || text[0] != '{' {
		return d, errors.New("it is no object")
	}
	if _, err = jsondiff.Canonical(text); err != nil {
		return d, err
	}
	if d.passed, err = repair(kind, text); err != nil {
		return d, err
	}
	return d, mcp.Unmarshal(d.passed, d.item)
}

// collect returns all definitions of a list, those that are to be withheld apart; or why there is
// no list.
func collect[T any](kind string, texts iter.Seq2[json.RawMessage, error]) (all []definition[T], odd []withheld, err error) {
	seen := make(map[string]bool)
	n := 0
	for text, err := range texts {
		if err != nil {
			return nil, nil, err
		}
		n++
		own := pin.Kind(kind).Name(text)
		d, err := define[T](kind, text)
		switch {
		case err == nil && own == "":
			err = errors.New("it has no name")
		case err == nil && seen[own]:
			err = errors.New("the server has two of that name")
		}
		if err != nil {
			odd = append(odd, withheld{cmp.Or(own, fmt.Sprintf("#%d", n)), err})
			continue
		}
		seen[own] = true
		all = append(all, d)
	}
	return all, odd, nil
}

// texts are definitions as they were written.
func texts[T any](all []definition[T]) []json.RawMessage {
	texts := make([]json.RawMessage, len(all))
	for i, d := range all {
		texts[i] = d.text
	}
	return texts
}

// each yields texts, without an error.
func each(texts []json.RawMessage) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for _, text := range texts {
			if !yield(text, nil) {
				return
			}
		}
	}
}

// renamed returns a definition with another name, and another description unless that is "" and there is none. What else it has stays as it is.
func renamed(text json.RawMessage, name, description string) json.RawMessage {
	described := description == ""
	b := []byte{'{'}
	for key, value := range jsonscan.Members(text) {
		switch {
		case jsonscan.KeyIs(key, "name"):
			value = jsonscan.AppendString(nil, name)
		case jsonscan.KeyIs(key, "description"):
			value, described = jsonscan.AppendString(nil, description), true
		}
		b = appendMember(b, key, value)
	}
	if !described {
		b = appendMember(b, []byte(`"description"`), jsonscan.AppendString(nil, description))
	}
	return append(b, '}')
}
