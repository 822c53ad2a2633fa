package gateway

import (
	"encoding/json"
	"fmt"
	"iter"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A definition is what a server says of something that it has.
type definition[T any] struct {
	item *T
	text json.RawMessage // as the server wrote it
}

func define[T any](text json.RawMessage) (definition[T], error) {
	d := definition[T]{new(T), text}
	if len(text) == 0 || text[0] != '{' {
		return d, fmt.Errorf("%.40s is no definition", text)
	}
	return d, mcp.Unmarshal(text, d.item)
}

// collect returns all definitions of a list, or why there is none.
func collect[T any](texts iter.Seq2[json.RawMessage, error]) (all []definition[T], err error) {
	for text, err := range texts {
		var d definition[T]
		if err == nil {
			d, err = define[T](text)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
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
	member := func(key, value []byte) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, key...), ':'), value...)
	}
	for key, value := range jsonscan.Members(text) {
		switch {
		case jsonscan.KeyIs(key, "name"):
			value = jsonscan.AppendString(nil, name)
		case jsonscan.KeyIs(key, "description"):
			value, described = jsonscan.AppendString(nil, description), true
		}
		member(key, value)
	}
	if !described {
		member([]byte(`"description"`), jsonscan.AppendString(nil, description))
	}
	return append(b, '}')
}
