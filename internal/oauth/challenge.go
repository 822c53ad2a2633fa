package oauth

import (
	"errors"
	"fmt"
	"strings"
)

// A Challenge is one of a WWW-Authenticate header: a scheme with a token68, with parameters, or alone (RFC 9110, section 11.6.1).
type Challenge struct {
	Scheme  string // as it was written; schemes are compared without regard to case
	Token68 string // such as the data of Negotiate; "" if there are parameters
	Params  []Param
}

// A Param is a parameter of a [Challenge].
type Param struct {
	Name  string // in lower case
	Value string // without quotes and escapes
}

// Get returns the value of a parameter, whose name is in lower case. A parameter that is there and empty is like one that is not.
func (c Challenge) Get(name string) string {
	for _, p := range c.Params {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// Is says whether this is the scheme of the challenge.
func (c Challenge) Is(scheme string) bool { return strings.EqualFold(c.Scheme, scheme) }

const (
	maxChallengeBytes = 16 << 10
	maxChallenges     = 16
	maxParams         = 32
)

// ParseChallenges reads the values of a header WWW-Authenticate, of which one may have several challenges. What is no challenge ends the reading of the value that it is in: then
// there is an error, and the challenges are those that were complete before it, and those of the other values. Of more than 16 KiB, 16 challenges, or 32 parameters of a challenge,
// the rest is not read either. A parameter that occurs twice in a challenge is an error: whoever reads the other one would see another server.
func ParseChallenges(values []string) ([]Challenge, error) {
	var all []Challenge
	var errs []error
	left := maxChallengeBytes
	for _, value := range values {
		if left -= len(value); left < 0 {
			errs = append(errs, fmt.Errorf("the challenges have more than %d bytes", maxChallengeBytes))
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

// parseChallenges reads one value. The list separates challenges by commas, and parameters too: an element that has a "=" after its first word is a parameter.
func parseChallenges(value string, most int) (all []Challenge, err error) {
	s := scanner{text: value}
	open := false // the last challenge is one that parameters may be added to
	defer func() {
		if err != nil && len(all) > 0 {
			all = all[:len(all)-1] // what follows may have been its
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
			return append(all, Challenge{}), fmt.Errorf("there are more than %d challenges", maxChallenges)
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

// A scanner holds what is left to be read.
type scanner struct{ text string }

// skip says whether there was anything to skip.
func (s *scanner) skip(chars string) bool {
	before := len(s.text)
	s.text = strings.TrimLeft(s.text, chars)
	return len(s.text) < before
}

func (s *scanner) token() string {
	n := strings.IndexFunc(s.text, func(r rune) bool { return !isToken(r) })
	if n < 0 {
		n = len(s.text)
	}
	word := s.text[:n]
	s.text = s.text[n:]
	return word
}

// token68 reads one if it is all that there is up to a comma or the end: "a" and "a=" are, "a=b" is not.
func (s *scanner) token68() string {
	rest := strings.TrimLeftFunc(s.text, func(r rune) bool { return isAlnum(r) || strings.ContainsRune("-._~+/", r) })
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

// param reads a parameter from the "=" on, up to the comma behind it.
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
		if value := s.token(); value != "" {
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

// unexpected is the error of text that is not what it should be. The text itself may be anything, and is not shown.
func (s *scanner) unexpected(want string) error {
	if s.text == "" {
		return fmt.Errorf("it ends where there should be %s", want)
	}
	return fmt.Errorf("there is %q where there should be %s", s.text[0], want)
}

func isAlnum(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func isToken(r rune) bool {
	return isAlnum(r) || r < 0x80 && strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

func isQuotable(b byte) bool { return b == '\t' || b >= ' ' && b != 0x7f }

// String writes the challenge as a header has it. All values are quoted; bytes that no header may have become blanks. Names and scheme are written as they are.
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
