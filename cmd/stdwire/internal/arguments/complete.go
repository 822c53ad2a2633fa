package arguments

import (
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// A Candidate is a word that completion offers.
type Candidate struct {
	Name       string // of an argument, which "=" follows; "" for any other word
	Text       string // the word, or the value of the argument
	Incomplete bool   // more text follows, so no space is appended
}

// String returns the word as it is typed.
func (c Candidate) String() string {
	text := ""
	if c.Name != "" {
		text = shellwords.Quote(c.Name) + "="
	}
	if c.Text != "" || !c.Incomplete {
		text += shellwords.Quote(c.Text)
	}
	if !c.Incomplete {
		text += " "
	}
	return text
}

// Complete completes the last word after the name of a tool: the name of an argument or its value.
func Complete(s form.Schema, words []string) (candidates []Candidate) {
	typed := words[len(words)-1]
	name, value, ok := strings.Cut(typed, "=")
	if ok {
		property, isJSON := strings.CutSuffix(name, ":")
		_, leaf := Path(s, property)
		for _, text := range valueTexts(leaf, isJSON) {
			if strings.HasPrefix(text, value) {
				candidates = append(candidates, Candidate{Name: name, Text: text})
			}
		}
		return candidates
	}
	given := map[string]bool{}
	for _, word := range words[:len(words)-1] {
		name, _, _ := strings.Cut(word, "=")
		given[strings.TrimSuffix(name, ":")] = true
	}
	return nameCandidates(s, "", typed, given)
}

// nameCandidates returns the names of arguments that are not given or may be repeated, and of
// members if the typed name leads into an object.
func nameCandidates(s form.Schema, prefix, typed string,
	given map[string]bool) (candidates []Candidate) {
	for _, property := range s.Fields() {
		full := prefix + property.Name
		inner := len(property.Schema.Fields()) > 0
		switch {
		case inner && strings.HasPrefix(typed, full+"."):
			candidates = append(candidates, nameCandidates(property.Schema, full+".", typed, given)...)
		case !strings.HasPrefix(full, typed) || given[full] && !property.Schema.Is("array"):
		case inner:
			candidates = append(candidates, Candidate{Text: full + ".", Incomplete: true})
		default:
			candidates = append(candidates, Candidate{Name: full, Incomplete: true})
		}
	}
	return candidates
}

// valueTexts returns the values of an enumeration or boolean; for an array, those of its elements.
func valueTexts(s form.Schema, asJSON bool) []string {
	texts := listedTexts(s, asJSON)
	if texts == nil && !asJSON && s.Is("array") {
		texts = listedTexts(s.Items(), false)
	}
	return texts
}

// listedTexts returns the values of an enumeration or boolean.
func listedTexts(s form.Schema, asJSON bool) (texts []string) {
	add := func(text string) {
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	for _, alternative := range s.Alternatives() {
		values := alternative.Values()
		for _, value := range values {
			if text, ok := jsonscan.Unquote(value); ok && !asJSON {
				add(string(text))
			} else {
				add(string(value))
			}
		}
		if values == nil && alternative.Is("boolean") {
			add("true")
			add("false")
		}
	}
	return texts
}
