package schema

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// A translator translates a regular expression of ECMA-262 with the u flag into one of package
// regexp. Like browsers without that flag, it lets a brace that does not start a quantifier, and an
// escaped punctuation mark, match themselves.
type translator struct {
	in          []rune
	i           int // of the next character
	out         []byte
	size        int   // approximate number of characters and classes, with repetitions expanded
	properties  int   // number of \p{…} and \P{…}
	unsupported error // for the first valid construct that cannot be translated
	groupNames  map[string]bool
}

func (t *translator) translate() error {
	if len(t.in) > maxPatternSize {
		return fmt.Errorf("%w: it is longer than %d characters", ErrLimit, maxPatternSize)
	}
	if err := t.alternatives(0); err != nil {
		return err
	}
	if t.i < len(t.in) {
		return errors.New("a ) closes no group")
	}
	return nil
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
	if t.unsupported == nil {
		t.unsupported = errors.New(what + " is not supported")
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
			t.out = append(t.out, '|')
			continue
		}
		start, before := len(t.out), t.size
		repeatable, err := t.term(depth)
		if err != nil {
			return err
		}
		if err := t.quantifier(start, t.size-before, repeatable); err != nil {
			return err
		}
	}
	return nil
}

// term translates one character, class, group or assertion. An assertion cannot be repeated.
func (t *translator) term(depth int) (repeatable bool, err error) {
	c := t.peek()
	t.i++
	t.size++
	switch c {
	case '^', '$':
		t.out = append(t.out, byte(c))
		return false, nil
	case '.':
		t.out = append(t.out, `[^\n\r\x{2028}\x{2029}]`...)
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
		t.out = append(t.out, `\{`...)
	case '\\':
		if next := t.peek(); next == 'b' || next == 'B' {
			t.i++
			t.out = append(t.out, '\\', byte(next))
			return false, nil
		}
		set, r, err := t.escape()
		switch {
		case err != nil:
			return false, err
		case set != "":
			t.out = append(t.out, "["+set+"]"...)
		default:
			t.out = append(t.out, regexp.QuoteMeta(string(r))...)
		}
	default:
		t.out = append(t.out, regexp.QuoteMeta(string(c))...)
	}
	return true, nil
}

func (t *translator) group(depth int) error {
	start := len(t.out)
	t.out = append(t.out, "(?:"...)
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
	if t.out = append(t.out, ')'); dropped {
		t.out = append(t.out[:start], "(?:)"...)
	}
	return nil
}

// groupName returns the name of a group, and skips it with the > after it.
func (t *translator) groupName() (string, error) {
	start := t.i
	for c := t.peek(); c > 0x7F || isWord(c) || c == '$'; c = t.peek() {
		t.i++
	}
	name := string(t.in[start:t.i])
	if name == "" || '0' <= name[0] && name[0] <= '9' || !t.accept(">") {
		return "", errors.New("a group must have a name between < and >")
	}
	return name, nil
}

func isWord(c rune) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
}

// quantifier translates the quantifier, if there is one, of the term that begins at out[start] and
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
	if t.size += (times - 1) * min(size, maxPatternSize); t.size > maxPatternSize {
		return fmt.Errorf("%w: it is longer than %d with its repetitions expanded", ErrLimit,
			maxPatternSize)
	}
	const maxCount = 1000
	if times/maxCount*(len(t.out)-start) > maxPatternText {
		return fmt.Errorf("%w: it has more than %d bytes with its repetitions expanded",
			ErrLimit, maxPatternText)
	}
	t.repeat(string(t.out[start:]), start, least, most)
	return nil
}

// repeat replaces out[start:] by a repetition of term, divided into counts that package regexp
// allows. most is -1 for no maximum.
func (t *translator) repeat(term string, start, least, most int) {
	const maxCount = 1000
	t.out = t.out[:start]
	write := func(least, most string) { t.out = append(t.out, term+"{"+least+most+"}"...) }
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
		n, ok = min(n*10+int(t.peek()-'0'), maxPatternSize+1), true
	}
	return n, ok
}
