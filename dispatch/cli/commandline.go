package cli

import (
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/render"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// commandLine formats arguments as they are typed in a shell.
func (s shape) commandLine(arguments []byte) (words []string) {
	for name, value := range jsonscan.Named(arguments) {
		more, ok := s.flagsFor([]string{name}, value)
		if !ok {
			return []string{wholeFlag, shellwords.Quote(string(arguments))}
		}
		words = append(words, more...)
	}
	return words
}

// flagsFor formats the value at a path as flags. ok is false if no flag sets that path.
func (s shape) flagsFor(path []string, value []byte) (words []string, ok bool) {
	f, ok := s.find(strings.Join(path, "."))
	switch {
	case !ok || !slices.Equal(f.path, path) || s.isReserved(f.name()) ||
		shellwords.Quote(f.name()) != f.name():
		return nil, false
	case f.shape.isSwitch() && string(value) == "true":
		return []string{f.name()}, true
	case f.shape.isSwitch() && string(value) == "false":
		return []string{f.name() + "=false"}, true
	case value[0] == '{' && string(value) != "{}":
		for name, member := range jsonscan.Named(value) {
			more, ok := s.flagsFor(append(slices.Clip(path), name), member)
			if !ok {
				return f.asJSON(value), true
			}
			words = append(words, more...)
		}
		return words, true
	}
	return f.asText(value), true
}

func (f flag) asJSON(value []byte) []string {
	return []string{f.name() + ":=" + shellwords.Quote(string(value))}
}

// asText formats a value without JSON quotes if it is then read as the same value, else as JSON.
func (f flag) asText(encoded []byte) (words []string) {
	elements, same := [][]byte{encoded}, requoted(encoded)
	if encoded[0] == '[' {
		elements = slices.Collect(jsonscan.Elements(encoded))
		var all []string
		for _, element := range elements {
			all = append(all, requoted(element))
		}
		same = "[" + strings.Join(all, ",") + "]"
	}
	var values []form.Value
	for _, element := range elements {
		text, ok := render.Inline(element)
		if !ok || text == "-" {
			return f.asJSON(encoded)
		}
		values = append(values, form.Value{Text: text})
		if strings.HasPrefix(text, "@") {
			text = "@" + text
		}
		words = append(words, f.name(), shellwords.Quote(text))
	}
	if values == nil {
		return f.asJSON(encoded)
	}
	if read, ok := f.shape.Join(values); !ok || string(read) != same {
		return f.asJSON(encoded)
	}
	return words
}

// requoted returns a value, with a string encoded as this package encodes it.
func requoted(value []byte) string {
	if text, ok := jsonscan.Unquote(value); ok {
		return string(form.Quote(string(text)))
	}
	return string(value)
}
