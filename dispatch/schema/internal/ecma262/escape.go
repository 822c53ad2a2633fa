package ecma262

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
)

// The characters of \s and \S in ECMA-262, as the inside of a class. \s is white space and line
// terminators.
const (
	space    = `\t-\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}`
	notSpace = `\x{0}-\x{8}\x{E}-\x{1F}!-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E}` +
		`\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{FEFE}\x{FF00}-\x{10FFFF}`
)

// escape translates an escape, of which the backslash is read, to a character r or, if set is not
// "", to the inside of a class.
func (t *translator) escape() (set string, r rune, err error) {
	c := t.peek()
	t.i++
	switch c {
	case 'd', 'D', 'w', 'W':
		return `\` + string(c), 0, nil
	case 's':
		return space, 0, nil
	case 'S':
		return notSpace, 0, nil
	case 'p', 'P':
		set, err := t.property(c)
		return set, 0, err
	case 't':
		return "", '\t', nil
	case 'n':
		return "", '\n', nil
	case 'v':
		return "", '\v', nil
	case 'f':
		return "", '\f', nil
	case 'r':
		return "", '\r', nil
	case 'c':
		letter := t.peek()
		if letter|0x20 < 'a' || letter|0x20 > 'z' {
			return "", 0, errors.New(`\c must be followed by a letter`)
		}
		t.i++
		return "", letter & 31, nil
	case 'x':
		r, err := t.hex(2)
		return "", r, err
	case 'u':
		r, err := t.unicode()
		return "", r, err
	case 'k':
		if !t.accept("<") {
			return "", 0, errors.New(`\k must be followed by the name of a group`)
		}
		if _, err := t.groupName(); err != nil {
			return "", 0, err
		}
		t.setUnsupported("a backreference")
		return "", 0, nil
	case -1:
		return "", 0, errors.New(`a \ ends the expression`)
	case '0':
		if next := t.peek(); next < '0' || next > '9' {
			return "", 0, nil
		}
	}
	switch {
	case '1' <= c && c <= '9':
		t.setUnsupported("a backreference")
		return "", 0, nil
	case IsWord(c) && c != '_':
		return "", 0, fmt.Errorf(`unknown escape \%c`, c)
	}
	return "", c, nil
}

// property translates \p{…} and \P{…}.
func (t *translator) property(c rune) (string, error) {
	if !t.accept("{") {
		return "", fmt.Errorf(`\%c must be followed by a property in braces`, c)
	}
	start := t.i
	for IsWord(t.peek()) || t.peek() == '=' {
		t.i++
	}
	name := string(t.in[start:t.i])
	if name == "" || !t.accept("}") {
		return "", fmt.Errorf(`\%c must be followed by a property in braces`, c)
	}
	for _, prefix := range []string{"General_Category=", "gc=", "Script=", "sc="} {
		if len(name) > len(prefix) && name[:len(prefix)] == prefix {
			name = name[len(prefix):]
			break
		}
	}
	t.Properties++
	// package regexp has the same names of categories and scripts
	return `\` + string(c) + "{" + name + "}", nil
}

func (t *translator) hex(digits int) (rune, error) {
	if t.i+digits > len(t.in) {
		return 0, fmt.Errorf("an escape must have %d hexadecimal digits", digits)
	}
	n, err := strconv.ParseUint(string(t.in[t.i:t.i+digits]), 16, 32)
	if err != nil {
		return 0, fmt.Errorf("an escape must have %d hexadecimal digits", digits)
	}
	t.i += digits
	return rune(n), nil
}

// unicode translates \u1234, \u{12345} and the two escapes of a surrogate pair.
func (t *translator) unicode() (rune, error) {
	if t.accept("{") {
		start := t.i
		for t.peek() != '}' && t.peek() >= 0 {
			t.i++
		}
		n, err := strconv.ParseUint(string(t.in[start:t.i]), 16, 32)
		if err != nil || n > 0x10FFFF || !t.accept("}") {
			return 0, errors.New(`\u{ must be followed by the hexadecimal number of a character and }`)
		}
		return t.rejectSurrogate(rune(n)), nil
	}
	r, err := t.hex(4)
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if start := t.i; t.accept(`\u`) {
		if low, err := t.hex(4); err == nil {
			if pair := utf16.DecodeRune(r, low); pair != 0xFFFD {
				return pair, nil
			}
		}
		t.i = start
	}
	return t.rejectSurrogate(r), nil
}

// rejectSurrogate returns r or, for a surrogate, which is unsupported, U+FFFD.
func (t *translator) rejectSurrogate(r rune) rune {
	if utf16.IsSurrogate(r) {
		t.setUnsupported("a lone surrogate")
		return 0xFFFD
	}
	return r
}

// class translates a character class, of which the [ is read.
func (t *translator) class() error {
	negated := t.accept("^")
	if t.accept("]") { // an empty class matches nothing, and negated everything
		if !negated {
			t.Text = append(t.Text, `[^\x{0}-\x{10FFFF}]`...)
		} else {
			t.Text = append(t.Text, `[\x{0}-\x{10FFFF}]`...)
		}
		return nil
	}
	t.Text = append(t.Text, '[')
	if negated {
		t.Text = append(t.Text, '^')
	}
	for !t.accept("]") {
		set, low, err := t.classAtom()
		if err != nil {
			return err
		}
		if set != "" {
			t.Text = append(t.Text, set...)
			continue
		}
		high := low
		if t.peek() == '-' && t.i+1 < len(t.in) && t.in[t.i+1] != ']' {
			t.i++
			if set, high, err = t.classAtom(); err != nil {
				return err
			}
			if set != "" { // [a-\d] is no range, so the hyphen stands for itself
				t.Text = fmt.Appendf(t.Text, `\x{%X}\-%s`, low, set)
				continue
			}
		}
		if high < low {
			return errors.New("a range in a class is out of order")
		}
		t.Text = fmt.Appendf(t.Text, `\x{%X}-\x{%X}`, low, high)
	}
	t.Text = append(t.Text, ']')
	return nil
}

func (t *translator) classAtom() (set string, r rune, err error) {
	switch c := t.peek(); {
	case c < 0:
		return "", 0, errors.New("a [ is not closed")
	case c != '\\':
		t.i++
		return "", c, nil
	}
	t.i++
	if t.accept("b") {
		return "", '\b', nil
	}
	return t.escape()
}
