package schema

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/stdwire/stdwire/dispatch/schema/internal/ecma262"
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
	t, err := ecma262.Translate(source)
	if _, limit := errors.AsType[ecma262.LimitError](err); limit {
		err = fmt.Errorf("%w: %w", ErrLimit, err)
	}
	err = cmp.Or(err, t.Unsupported)
	if err != nil {
		return nil, fmt.Errorf("%w %.200q: %w", ErrPattern, source, err)
	}
	if len(t.Text) > ecma262.MaxText {
		return nil, fmt.Errorf("%w: the regular expression takes more than %d bytes", ErrLimit,
			ecma262.MaxText)
	}
	const propertySize = 50 // hundreds of ranges
	if c.patternSize += t.Size + propertySize*t.Properties; c.patternSize > maxPatternSize {
		return nil, fmt.Errorf(
			"%w: the regular expressions together are longer than %d with repetitions expanded; %.200q is %d long",
			ErrLimit, maxPatternSize, source, t.Size+propertySize*t.Properties)
	}
	re, err := regexp.Compile(string(t.Text))
	if err != nil {
		if wrong := (*syntax.Error)(nil); errors.As(err, &wrong) {
			// the text of wrong would show the translation
			err = errors.New(string(wrong.Code))
		}
		return nil, fmt.Errorf("%w %.200q: %w", ErrPattern, source, err)
	}
	return &pattern{source, re, t.Size}, nil
}

// matches reports whether a pattern matches somewhere in a text.
func (v *validator) matches(p *pattern, text []byte) bool {
	const perStep = 32 // size of the expression times bytes of the text
	return v.step(1+len(text)*p.size/perStep) && p.re.Match(text)
}

// isRegex reports whether text is a regular expression of ECMA-262, even if compiling it is not
// supported.
func isRegex(text string) bool {
	_, err := ecma262.Translate(text)
	return err == nil
}
