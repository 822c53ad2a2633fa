package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// A pattern is a compiled regular expression. Its source has the syntax of ECMA-262 with the u
// flag. Package regexp matches it, in time linear in the text, so what that package lacks is an
// error: lookahead, lookbehind, backreferences, inline modifiers, lone surrogates, the binary
// properties of \p except Any, ASCII and Assigned, and nested repetitions of more than 1000 in all.
type pattern struct {
	source string
	re     *regexp.Regexp
	size   int // approximate size of the expression with its repetitions expanded
}

// pattern compiles a regular expression.
func (c *compiler) pattern(source string) (*pattern, error) {
	t := translator{in: []rune(source)}
	err := t.translate()
	if err == nil {
		err = t.unsupported
	}
	if err != nil {
		return nil, fmt.Errorf("%w %.200q: %w", ErrPattern, source, err)
	}
	if len(t.out) > maxPatternText {
		return nil, fmt.Errorf("%w: the regular expression takes more than %d bytes", ErrLimit,
			maxPatternText)
	}
	const propertySize = 50 // hundreds of ranges
	if c.patternSize += t.size + propertySize*t.properties; c.patternSize > maxPatternSize {
		return nil, fmt.Errorf(
			"%w: the regular expressions together are longer than %d with repetitions expanded; %.200q is %d long",
			ErrLimit, maxPatternSize, source, t.size+propertySize*t.properties)
	}
	re, err := regexp.Compile(string(t.out))
	if err != nil {
		if wrong := (*syntax.Error)(nil); errors.As(err, &wrong) {
			// the text of wrong would show the translation
			err = errors.New(string(wrong.Code))
		}
		return nil, fmt.Errorf("%w %.200q: %w", ErrPattern, source, err)
	}
	return &pattern{source, re, t.size}, nil
}

// matches reports whether a pattern matches somewhere in a text.
func (v *validator) matches(p *pattern, text []byte) bool {
	const perStep = 32 // size of the expression times bytes of the text
	return v.step(1+len(text)*p.size/perStep) && p.re.Match(text)
}

// isRegex reports whether text is a regular expression of ECMA-262, even if compiling it is not
// supported.
func isRegex(text string) bool {
	t := translator{in: []rune(text)}
	return t.translate() == nil
}
