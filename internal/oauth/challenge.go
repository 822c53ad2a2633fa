package oauth

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/httptoken"
)

// A Challenge is one challenge of a WWW-Authenticate header: a scheme alone, with a token68, or
// with parameters (RFC 9110, section 11.6.1).
type Challenge struct {
	Scheme  string // as received; schemes are case-insensitive
	Token68 string // such as the data of Negotiate; "" if there are parameters
	Params  []Param
}

// A Param is a parameter of a [Challenge].
type Param struct {
	Name  string // in lower case
	Value string // unquoted
}

// Get returns the value of a parameter, named in lower case. It does not distinguish an empty
// parameter from an absent one.
func (c Challenge) Get(name string) string {
	for _, p := range c.Params {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// Is reports whether the challenge has that scheme.
func (c Challenge) Is(scheme string) bool { return strings.EqualFold(c.Scheme, scheme) }

const (
	maxChallengeBytes = 16 << 10
	maxChallenges     = 16
	maxParams         = 32
)

// ParseChallenges parses the values of WWW-Authenticate headers, each of which may have several
// challenges. A syntax error ends the parsing of its value: the result has the complete challenges
// before it, those of the other values, and an error. It also stops, with an error, after 16 KiB,
// 16 challenges, or 32 parameters of a challenge. A parameter that occurs twice in a challenge is
// an error, because another reader might use the other one and contact another server.
//
// Servers also send what RFC 9110 does not allow: a URL without quotes, which extends to the next
// comma or blank, and a value in single quotes.
func ParseChallenges(values []string) ([]Challenge, error) {
	var all []Challenge
	var errs []error
	left := maxChallengeBytes
	for _, value := range values {
		if left -= len(value); left < 0 {
			errs = append(errs,
				fmt.Errorf("the challenges have more than %d bytes", maxChallengeBytes))
			break
		}
		more, err := parseChallenges(value, maxChallenges-len(all))
		all = append(all, more...)
		if err != nil {
			errs = append(errs, err)
		}
	}
	return all, errors.Join(errs...)
}

// parseChallenges parses one value. Commas separate challenges as well as parameters: an element
// with "=" after its first word is a parameter.
func parseChallenges(value string, most int) (all []Challenge, err error) {
	s := scanner{text: value}
	open := false // whether parameters may be added to the last challenge
	defer func() {
		if err != nil && len(all) > 0 {
			all = all[:len(all)-1] // the rest may belong to it
		}
	}()
	for {
		s.skip(" \t,")
		if s.text == "" {
			return all, nil
		}
		word := s.token()
		if word == "" {
			return all, s.unexpected("a scheme or a parameter")
		}
		gap := s.skip(" \t")
		if strings.HasPrefix(s.text, "=") {
			if !open {
				return all, fmt.Errorf("the parameter %q belongs to no challenge", word)
			}
			if err := s.param(&all[len(all)-1], word); err != nil {
				return all, err
			}
			continue
		}
		if len(all) == most {
			return append(all, Challenge{}),
				fmt.Errorf("there are more than %d challenges", maxChallenges)
		}
		all, open = append(all, Challenge{Scheme: word}), true
		c := &all[len(all)-1]
		switch {
		case s.text == "" || s.text[0] == ',':
			continue
		case !gap:
			return all, s.unexpected("a blank after the scheme")
		}
		if c.Token68 = s.token68(); c.Token68 != "" {
			open = false
			continue
		}
		if word = s.token(); word == "" {
			return all, s.unexpected("a parameter")
		}
		s.skip(" \t")
		if err := s.param(c, word); err != nil {
			return all, err
		}
	}
}

// A scanner holds the text that is left to parse.
type scanner struct{ text string }

// skip reports whether it skipped anything.
func (s *scanner) skip(chars string) bool {
	before := len(s.text)
	s.text = strings.TrimLeft(s.text, chars)
	return len(s.text) < before
}

func (s *scanner) token() string { return s.take(httptoken.Has) }

// take returns the characters at the start of the text that are of a kind.
func (s *scanner) take(is func(rune) bool) string {
	n := strings.IndexFunc(s.text, func(r rune) bool { return !is(r) })
	if n < 0 {
		n = len(s.text)
	}
	word := s.text[:n]
	s.text = s.text[n:]
	return word
}

// token68 parses a token68 if it extends to a comma or the end: "a" and "a=" do, "a=b" does not.
func (s *scanner) token68() string {
	rest := strings.TrimLeftFunc(s.text,
		func(r rune) bool { return isAlnum(r) || strings.ContainsRune("-._~+/", r) })
	if len(rest) == len(s.text) {
		return ""
	}
	rest = strings.TrimLeft(rest, "=")
	word := s.text[:len(s.text)-len(rest)]
	if rest = strings.TrimLeft(rest, " \t"); rest != "" && rest[0] != ',' {
		return ""
	}
	s.text = rest
	return word
}

// param parses a parameter from its "=" to the next comma.
func (s *scanner) param(c *Challenge, name string) error {
	if !strings.HasPrefix(s.text, "=") {
		return s.unexpected("a = after " + name)
	}
	s.text = s.text[1:]
	s.skip(" \t")
	value, err := s.value(name)
	if err != nil {
		return err
	}
	if s.skip(" \t"); s.text != "" && s.text[0] != ',' {
		return s.unexpected("a comma after " + name)
	}
	name = strings.ToLower(name)
	for _, p := range c.Params {
		if p.Name == name {
			return fmt.Errorf("the parameter %q occurs twice", name)
		}
	}
	if len(c.Params) == maxParams {
		return fmt.Errorf("a challenge has more than %d parameters", maxParams)
	}
	c.Params = append(c.Params, Param{name, value})
	return nil
}

func (s *scanner) value(name string) (string, error) {
	if !strings.HasPrefix(s.text, `"`) {
		if value, ok := s.singleQuoted(); ok {
			return value, nil
		}
		if value := s.take(isURL); value != "" {
			return value, nil
		}
		return "", s.unexpected("a value of " + name)
	}
	var b strings.Builder
	for i := 1; i < len(s.text); i++ {
		switch ch := s.text[i]; {
		case ch == '"':
			s.text = s.text[i+1:]
			return b.String(), nil
		case ch == '\\' && i+1 < len(s.text):
			i++
			ch = s.text[i]
			fallthrough
		default:
			if !isQuotable(ch) {
				return "", fmt.Errorf("the value of %s has the byte %#02x", name, ch)
			}
			b.WriteByte(ch)
		}
	}
	return "", fmt.Errorf("the value of %s has no end", name)
}

// singleQuoted parses a value in single quotes up to a comma or the end. Single quotes are also
// characters of a token.
func (s *scanner) singleQuoted() (string, bool) {
	if !strings.HasPrefix(s.text, "'") {
		return "", false
	}
	value, rest, ok := strings.Cut(s.text[1:], "'")
	after := strings.TrimLeft(rest, " \t")
	if !ok || after != "" && after[0] != ',' ||
		strings.ContainsFunc(value, func(r rune) bool { return r < 0x80 && !isQuotable(byte(r)) }) {
		return "", false
	}
	s.text = rest
	return value, true
}

// unexpected returns the error for a syntax error. It does not show the text, which may be
// anything.
func (s *scanner) unexpected(want string) error {
	if s.text == "" {
		return fmt.Errorf("it ends where there should be %s", want)
	}
	return fmt.Errorf("there is %q where there should be %s", s.text[0], want)
}

func isAlnum(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// isURL reports whether a URL without a comma, or a token, may have the character.
func isURL(r rune) bool { return httptoken.Has(r) || strings.ContainsRune("/:?#[]@()=;", r) }

func isQuotable(b byte) bool { return b == '\t' || b >= ' ' && b != 0x7f }

// String returns the challenge as header text. All values are quoted. Bytes that a header cannot
// have become spaces. The scheme and the names are not checked.
func (c Challenge) String() string {
	var b strings.Builder
	b.WriteString(c.Scheme)
	if c.Token68 != "" {
		b.WriteString(" " + c.Token68)
	}
	for i, p := range c.Params {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(" " + p.Name + `="`)
		for j := range len(p.Value) {
			switch ch := p.Value[j]; {
			case ch == '"' || ch == '\\':
				b.WriteByte('\\')
				b.WriteByte(ch)
			case isQuotable(ch):
				b.WriteByte(ch)
			default:
				b.WriteByte(' ')
			}
		}
		b.WriteByte('"')
	}
	return b.String()
}
