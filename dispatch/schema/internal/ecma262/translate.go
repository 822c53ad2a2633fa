// Package ecma262 translates regular expressions of ECMA-262, which JSON Schema uses, into those of
// package regexp.
package ecma262

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

const (
	// MaxSize is the largest Size of an expression, and of its text in characters.
	MaxSize = 100_000
	// MaxText is the largest number of bytes that one repetition may take in the translation.
	MaxText = 1 << 20
)

// A LimitError says which limit an expression exceeds.
type LimitError string

func (e LimitError) Error() string { return string(e) }

func limitErrorf(format string, args ...any) error {
	return LimitError(fmt.Sprintf(format, args...))
}

// A Translation is a regular expression in the syntax of package regexp.
type Translation struct {
	Text        []byte
	Size        int   // approximate number of characters and classes, with repetitions expanded
	Properties  int   // number of \p{…} and \P{…}
	Unsupported error // for the first valid construct that cannot be translated
}

// Translate translates an expression with the u flag. Like browsers without that flag, it lets a
// brace that does not start a quantifier, and an escaped punctuation mark, match themselves. The
// error is a [LimitError], or says what is wrong with the expression.
func Translate(source string) (Translation, error) {
	t := translator{in: []rune(source)}
	if len(t.in) > MaxSize {
		return t.Translation, limitErrorf("it is longer than %d characters", MaxSize)
	}
	err := t.alternatives(0)
	if err == nil && t.i < len(t.in) {
		err = errors.New("a ) closes no group")
	}
	return t.Translation, err
}

type translator struct {
	Translation
	in         []rune
	i          int // of the next character
	groupNames map[string]bool
}

func (t *translator) peek() rune {
	if t.i < len(t.in) {
		return t.in[t.i]
	}
	return -1
}

// accept skips word and returns true if word is next.
func (t *translator) accept(word string) bool {
	runes := []rune(word)
	if t.i+len(runes) > len(t.in) || !slices.Equal(t.in[t.i:t.i+len(runes)], runes) {
		return false
	}
	t.i += len(runes)
	return true
}

func (t *translator) setUnsupported(what string) {
	if t.Unsupported == nil {
		t.Unsupported = errors.New(what + " is not supported")
	}
}

const maxGroupDepth = 200

// alternatives translates up to the end of the expression or the ) of the group. depth is the
// number of groups around it.
func (t *translator) alternatives(depth int) error {
	if depth > maxGroupDepth {
		return fmt.Errorf("groups are nested more than %d deep", maxGroupDepth)
	}
	for t.i < len(t.in) && t.peek() != ')' {
		if t.accept("|") {
			t.Text = append(t.Text, '|')
			continue
		}
		start, before := len(t.Text), t.Size
		repeatable, err := t.term(depth)
		if err != nil {
			return err
		}
		if err := t.quantifier(start, t.Size-before, repeatable); err != nil {
			return err
		}
	}
	return nil
}

// term translates one character, class, group or assertion. An assertion cannot be repeated.
func (t *translator) term(depth int) (repeatable bool, err error) {
	c := t.peek()
	t.i++
	t.Size++
	switch c {
	case '^', '$':
		t.Text = append(t.Text, byte(c))
		return false, nil
	case '.':
		t.Text = append(t.Text, `[^\n\r\x{2028}\x{2029}]`...)
	case '[':
		return true, t.class()
	case '(':
		return true, t.group(depth)
	case '*', '+', '?':
		return false, fmt.Errorf("nothing to repeat before %c", c)
	case '{':
		t.i--
		if _, _, ok := t.braces(); ok {
			return false, errors.New("nothing to repeat before {")
		}
		t.i++
		t.Text = append(t.Text, `\{`...)
	case '\\':
		if next := t.peek(); next == 'b' || next == 'B' {
			t.i++
			t.Text = append(t.Text, '\\', byte(next))
			return false, nil
		}
		set, r, err := t.escape()
		switch {
		case err != nil:
			return false, err
		case set != "":
			t.Text = append(t.Text, "["+set+"]"...)
		default:
			t.Text = append(t.Text, regexp.QuoteMeta(string(r))...)
		}
	default:
		t.Text = append(t.Text, regexp.QuoteMeta(string(c))...)
	}
	return true, nil
}

func (t *translator) group(depth int) error {
	start := len(t.Text)
	t.Text = append(t.Text, "(?:"...)
	dropped := false
	switch {
	case t.accept("?:"):
	case t.accept("?="), t.accept("?!"):
		t.setUnsupported("lookahead")
		dropped = true
	case t.accept("?<="), t.accept("?<!"):
		t.setUnsupported("lookbehind")
		dropped = true
	case t.accept("?<"):
		name, err := t.groupName()
		if err != nil {
			return err
		}
		if t.groupNames[name] {
			return fmt.Errorf("two groups are named %q", name)
		}
		if t.groupNames == nil {
			t.groupNames = map[string]bool{}
		}
		t.groupNames[name] = true
	case t.accept("?"):
		from := t.i
		for c := t.peek(); c == 'i' || c == 'm' || c == 's' || c == '-'; c = t.peek() {
			t.i++
		}
		if t.i == from || !t.accept(":") {
			return errors.New("an unknown kind of group after (?")
		}
		t.setUnsupported("an inline modifier")
	}
	if err := t.alternatives(depth + 1); err != nil {
		return err
	}
	if !t.accept(")") {
		return errors.New("a ( is not closed")
	}
	if t.Text = append(t.Text, ')'); dropped {
		t.Text = append(t.Text[:start], "(?:)"...)
	}
	return nil
}

// groupName returns the name of a group, and skips it with the > after it.
func (t *translator) groupName() (string, error) {
	start := t.i
	for c := t.peek(); c > 0x7F || IsWord(c) || c == '$'; c = t.peek() {
		t.i++
	}
	name := string(t.in[start:t.i])
	if name == "" || '0' <= name[0] && name[0] <= '9' || !t.accept(">") {
		return "", errors.New("a group must have a name between < and >")
	}
	return name, nil
}

// IsWord reports whether \w matches a character.
func IsWord(c rune) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
}

// quantifier translates the quantifier, if there is one, of the term that begins at Text[start] and
// has that size.
func (t *translator) quantifier(start, size int, repeatable bool) error {
	least, most := 0, -1
	switch {
	case t.accept("*"):
	case t.accept("+"):
		least = 1
	case t.accept("?"):
		most = 1
	default:
		var ok bool
		if least, most, ok = t.braces(); !ok {
			return nil
		}
		if most >= 0 && most < least {
			return errors.New("the numbers of a quantifier are out of order")
		}
	}
	t.accept("?") // whether a quantifier is greedy does not change whether the expression matches
	if !repeatable {
		return errors.New("an assertion cannot be repeated")
	}
	times := max(least, most, 1)
	if t.Size += (times - 1) * min(size, MaxSize); t.Size > MaxSize {
		return limitErrorf("it is longer than %d with its repetitions expanded", MaxSize)
	}
	const maxCount = 1000
	if times/maxCount*(len(t.Text)-start) > MaxText {
		return limitErrorf("it has more than %d bytes with its repetitions expanded", MaxText)
	}
	t.repeat(string(t.Text[start:]), start, least, most)
	return nil
}

// repeat replaces Text[start:] by a repetition of term, divided into counts that package regexp
// allows. most is -1 for no maximum.
func (t *translator) repeat(term string, start, least, most int) {
	const maxCount = 1000
	t.Text = t.Text[:start]
	write := func(least, most string) { t.Text = append(t.Text, term+"{"+least+most+"}"...) }
	optional := most - least
	for ; least > maxCount; least -= maxCount {
		write(strconv.Itoa(maxCount), "")
	}
	switch {
	case most < 0:
		write(strconv.Itoa(least), ",")
		return
	case least+optional <= maxCount:
		write(strconv.Itoa(least), ","+strconv.Itoa(least+optional))
		return
	}
	write(strconv.Itoa(least), "")
	for ; optional > 0; optional -= maxCount {
		write("0", ","+strconv.Itoa(min(optional, maxCount)))
	}
}

// braces reads {n}, {n,} or {n,m}, and skips no other text. most is -1 for {n,}.
func (t *translator) braces() (least, most int, ok bool) {
	start := t.i
	if t.accept("{") {
		if least, ok = t.digits(); ok {
			most = least
			if t.accept(",") {
				if most, ok = t.digits(); !ok {
					most = -1
				}
			}
			if t.accept("}") {
				return least, most, true
			}
		}
	}
	t.i = start
	return 0, 0, false
}

func (t *translator) digits() (n int, ok bool) {
	for ; '0' <= t.peek() && t.peek() <= '9'; t.i++ {
		n, ok = min(n*10+int(t.peek()-'0'), MaxSize+1), true
	}
	return n, ok
}
