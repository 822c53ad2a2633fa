package uritemplate

import (
	"fmt"
	"unicode/utf8"
)

// Expand returns the expansion of the template with the values (RFC 6570, section 3). An undefined
// variable expands to nothing. Expand fails if a text is not UTF-8, or if a variable with a prefix
// modifier, such as {x:3}, is a list or pairs.
func (t *Template) Expand(values Values) (string, error) {
	var out []byte
	for _, p := range t.parts {
		out = append(out, p.literal...)
		lead := p.op.first
		for _, v := range p.vars {
			value := values[v.name]
			if value.kind == Undefined {
				continue
			}
			if err := v.check(value); err != nil {
				return "", fmt.Errorf("URI template %.200q: %w", t.text, err)
			}
			if lead != 0 {
				out = append(out, lead)
			}
			lead = p.op.sep
			if v.explode && value.kind != Text {
				out = p.op.appendExploded(out, v, value)
			} else {
				out = p.op.appendWhole(out, v, value)
			}
		}
	}
	return string(out), nil
}

func (v variable) check(value Value) error {
	if v.max > 0 && value.kind != Text {
		return fmt.Errorf(
			"the value of %s is not a string, and :%d takes the beginning of a string; give one, or remove it",
			v.name, v.max)
	}
	for _, part := range value.parts {
		if !utf8.ValidString(part) {
			return fmt.Errorf("the value of %s is not UTF-8", v.name)
		}
	}
	return nil
}

func (op operator) appendText(out []byte, text string) []byte {
	if op.reserved {
		return appendReserved(out, text)
	}
	return appendEncoded(out, text, unreserved)
}

// appendWhole appends a value with commas between its parts. If the operator is named, it first
// appends the name.
func (op operator) appendWhole(out []byte, v variable, value Value) []byte {
	if op.named {
		out = append(append(out, v.name...), '=')
	}
	start := len(out)
	for i, text := range value.parts {
		if i > 0 {
			out = append(out, ',')
		}
		if v.max > 0 {
			text = prefix(text, v.max, op.reserved)
		}
		out = op.appendText(out, text)
	}
	if op.named && len(out) == start {
		out = append(out[:start-1], op.ifEmpty...)
	}
	return out
}

// appendExploded appends each member of a list, or each pair, like a variable of its own.
func (op operator) appendExploded(out []byte, v variable, value Value) []byte {
	step := int(value.kind - Text) // 1 for a list, 2 for pairs
	for i := 0; i < len(value.parts); i += step {
		if i > 0 {
			out = append(out, op.sep)
		}
		text := value.parts[i+step-1]
		switch {
		case value.kind == Mapping:
			out = op.appendText(out, value.parts[i])
		case op.named:
			out = append(out, v.name...)
		}
		switch {
		case op.named && text == "":
			out = append(out, op.ifEmpty...)
		case op.named || value.kind == Mapping:
			out = append(out, '=')
		}
		out = op.appendText(out, text)
	}
	return out
}
