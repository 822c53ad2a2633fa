package elicit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
)

// A field is a property of a form.
type field struct {
	name, title, description string
	schema                   form.Schema
	required                 bool
	defaultValue             []byte // the value of an empty line; nil: an empty line has none
	choices                  []choice
	numbered                 bool           // choices may be given by number
	multiple                 bool           // any number of choices
	check                    *schema.Schema // nil: only the whole form can be checked
}

// A choice is one of the values of a field.
type choice struct {
	value []byte // JSON
	text  string // of the value
	title string
}

func newField(property form.Field) *field {
	f := &field{name: property.Name, schema: property.Schema, required: property.Required}
	f.defaultValue = f.keyword("default")
	f.title, _ = jsonscan.Text(f.keyword("title"))
	const maxRunes = 200
	if f.title = printable.TruncateRunes(printable.Line(f.title), maxRunes); f.title == "" {
		f.title = printable.TruncateRunes(printable.Line(f.name), maxRunes)
	}
	f.description, _ = jsonscan.Text(f.keyword("description"))
	single := f.schema
	if f.multiple = single.Own().Is("array"); f.multiple {
		single = single.Items()
	}
	f.choices = schemaChoices(single)
	f.multiple = f.multiple && f.choices != nil
	f.numbered = !slices.ContainsFunc(f.choices, func(c choice) bool {
		_, err := strconv.Atoi(c.text)
		return err == nil
	})
	for _, p := range f.schema.Own().Parts() {
		if f.check, _ = (schema.Options{AssertFormats: true}).Compile(p.At); f.check != nil {
			break // the first part without references to the rest of the form
		}
	}
	return f
}

// keyword returns the value of a keyword that holds for every value, nil if it is absent.
func (f *field) keyword(name string) []byte { return f.schema.Own().Annotation(name) }

// types returns the types that hold for every value.
func (f *field) types() []string { return f.schema.Own().Types() }

// schemaChoices returns the values that a schema allows, or nil if it is not an enumeration.
func schemaChoices(s form.Schema) (choices []choice) {
	own := s.Own()
	var names []string
	for name := range jsonscan.Elements(own.Annotation("enumNames")) {
		names = append(names, displayValue(name))
	}
	for _, value := range own.Values() {
		c := choice{value: value, text: displayValue(value)}
		if len(choices) < len(names) {
			c.title = names[len(choices)]
		}
		choices = append(choices, c)
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		for at := range jsonscan.Elements(own.Annotation(name)) {
			alternative := s.Sub(at)
			only := alternative.Annotation("const")
			if only == nil {
				return nil
			}
			choices = append(choices,
				choice{only, displayValue(only), displayValue(alternative.Annotation("title"))})
		}
	}
	return choices
}

// displayValue formats a JSON value; a string has no quotes.
func displayValue(value []byte) string {
	if text, ok := jsonscan.Text(value); ok {
		return printable.Line(text)
	}
	return printable.Line(string(value))
}

// secret reports whether the field asks for a secret, which a form must not.
func (f *field) secret() bool {
	format, _ := jsonscan.Text(f.keyword("format"))
	types := f.types()
	if format == "password" {
		return true
	}
	// A choice or a boolean is not a secret. A number may be one, such as that of a card.
	free := f.choices == nil && !slices.Contains(types, "boolean")
	return free && looksSecret(f.name, f.title, f.description)
}

// heading returns the question, as in: Title: description (integer, minimum 1, required).
func (f *field) heading() string {
	text := f.title
	if f.description != "" {
		text += ": " + printable.TruncateRunes(printable.Line(f.description), 500)
	}
	var facts []string
	switch {
	case f.multiple && f.numbered:
		facts = append(facts, "any of these, by number, as in 1,3")
	case f.multiple:
		facts = append(facts, "any of these, with commas between them")
	case f.choices != nil:
		facts = append(facts, "one of these")
	case slices.Equal(f.types(), []string{"boolean"}):
		facts = append(facts, "yes or no")
	default:
		facts = append(facts, printable.TruncateRunes(arguments.TypeName(f.schema, 1), 100))
	}
	for _, name := range []string{"format", "pattern", "minLength", "maxLength", "minimum",
		"maximum", "minItems", "maxItems"} {
		if value := f.keyword(name); value != nil {
			facts = append(facts, name+" "+printable.TruncateRunes(displayValue(value), 100))
		}
	}
	if f.required {
		facts = append(facts, "required")
	} else {
		facts = append(facts, "optional")
	}
	return text + " (" + strings.Join(facts, ", ") + ")"
}

// options returns the lines that list the choices.
func (f *field) options() (lines []string) {
	const maxChoices, maxRunes = 200, 200
	for i, c := range f.choices {
		if i == maxChoices {
			return append(lines, fmt.Sprintf("      … and %d more", len(f.choices)-maxChoices))
		}
		mark := "-"
		if f.numbered {
			mark = strconv.Itoa(i + 1)
		}
		text := c.text
		if c.title != "" && c.title != text {
			text += "  " + c.title
		}
		lines = append(lines, fmt.Sprintf("%4s  %s", mark, printable.TruncateRunes(text, maxRunes)))
	}
	return lines
}

// prompt returns the prompt, with the value of an empty line.
func (f *field) prompt() string {
	if f.defaultValue == nil {
		return ">"
	}
	return "[" + printable.TruncateRunes(f.format(f.defaultValue), 60) + "] >"
}

// format returns a value as it is typed.
func (f *field) format(value []byte) string {
	switch text := string(value); {
	case text == "true":
		return "y"
	case text == "false":
		return "n"
	case text == `""` || text == "[]":
		return emptyWord
	case f.multiple:
		var parts []string
		for element := range jsonscan.Elements(value) {
			parts = append(parts, displayValue(element))
		}
		return strings.Join(parts, ", ")
	}
	return displayValue(value)
}

const emptyWord = `""` // typed for the empty string or an empty list

// parse parses and validates a typed value.
func (f *field) parse(text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("the text is not UTF-8")
	}
	value, err := f.parseValue(text)
	if err != nil || f.check == nil {
		return value, err
	}
	if invalid, ok := errors.AsType[*schema.Error](f.check.Validate(value)); ok {
		var reasons []string
		for _, cause := range invalid.Causes {
			reasons = append(reasons, cause.Reason)
		}
		return nil, errors.New(strings.Join(reasons, "; "))
	}
	return value, nil
}

func (f *field) parseValue(text string) ([]byte, error) {
	trimmed := strings.TrimSpace(text)
	switch {
	case f.multiple:
		return f.parseChoices(trimmed)
	case f.choices != nil:
		return f.parseChoice(trimmed)
	case slices.Contains(f.types(), "boolean"):
		switch strings.ToLower(trimmed) {
		case "y", "yes", "true":
			return []byte("true"), nil
		case "n", "no", "false":
			return []byte("false"), nil
		}
		if len(f.types()) == 1 {
			return nil, errors.New("the answer is y or n")
		}
	case trimmed == emptyWord:
		return []byte(emptyWord), nil
	}
	return f.schema.Coerce(text), nil
}

// parseChoice parses a choice by its number, value or title.
func (f *field) parseChoice(text string) ([]byte, error) {
	if n, err := strconv.Atoi(text); err == nil && f.numbered {
		if n < 1 || n > len(f.choices) {
			return nil, fmt.Errorf("the choices are 1 to %d, not %d", len(f.choices), n)
		}
		return f.choices[n-1].value, nil
	}
	for _, same := range []func(c choice) bool{
		func(c choice) bool { return c.text == text },
		func(c choice) bool {
			return strings.EqualFold(c.text, text) || strings.EqualFold(c.title, text)
		},
	} {
		if i := slices.IndexFunc(f.choices, same); i >= 0 {
			return f.choices[i].value, nil
		}
	}
	return nil, fmt.Errorf("%q is not one of the choices", text)
}

func (f *field) parseChoices(text string) ([]byte, error) {
	if text == emptyWord {
		return []byte("[]"), nil
	}
	list := []byte{'['}
	for part := range strings.SplitSeq(text, ",") {
		value, err := f.parseChoice(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		list = jsonscan.AppendElement(list, value)
	}
	return append(list, ']'), nil
}
