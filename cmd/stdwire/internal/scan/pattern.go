package scan

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// A pattern is one way to word something.
type pattern struct {
	severity Severity
	what     string         // a sentence about a text that has it
	needs    []string       // one of these, in lower case, is in every text that matches
	re       *regexp.Regexp // matched against the text as it is read
	except   *regexp.Regexp // of what matches: is harmless; nil for nothing
}

// lazy is a regular expression that is compiled when it is first wanted: programs that never scan do not pay for it when they start.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// words is a pattern, in which a blank stands for any white space, and ~ for up to that many other words in the same sentence, as in "~3".
func words(severity Severity, what, needs, expression string) pattern {
	expression = gap().ReplaceAllString(expression, `(?:[^\s.!?]+\s+){0,$1}?`)
	expression = strings.ReplaceAll(expression, " ", `\s+`)
	return pattern{severity, what, strings.Split(needs, "|"), regexp.MustCompile(`(?i)` + expression), nil}
}

var gap = lazy(`~(\d)`)

// but is a pattern with exceptions.
func (p pattern) but(expression string) pattern {
	p.except = regexp.MustCompile(expression)
	return p
}

// matches makes a check of patterns. Of those that match, the worst counts. Where deniable says so, a match that is denied ("never share the user's password") is none.
func matches(patterns func() []pattern, deniable bool) func(*world, *definition, *text) (Finding, bool) {
	return func(_ *world, _ *definition, t *text) (f Finding, found bool) {
		patterns := patterns()
		for i := range patterns {
			p := &patterns[i]
			if found && f.Severity >= p.severity {
				continue
			}
			m := p.find(t, deniable)
			if m == nil {
				continue
			}
			f, found = Finding{Severity: p.severity, What: p.what, Evidence: excerpt(t.plain, m[0], m[1])}, true
		}
		return f, found
	}
}

// find is where a pattern first matches, and is not denied; nil if it does not.
func (p *pattern) find(t *text, deniable bool) []int {
	needed := false
	for _, word := range p.needs {
		if needed = strings.Contains(t.lower, word); needed {
			break
		}
	}
	if !needed {
		return nil
	}
	for from := 0; ; {
		m := p.re.FindStringIndex(t.plain[from:])
		if m == nil {
			return nil
		}
		start, end := from+m[0], from+m[1]
		if (p.except == nil || !p.except.MatchString(t.plain[start:end])) && !(deniable && denied(t.plain[max(0, start-50):start])) {
			return []int{start, end}
		}
		from = start + firstWord(t.plain[start:]) // one that is meant may begin within one that is not
	}
}

// firstWord is where the first word of a text ends; at least one byte.
func firstWord(s string) int {
	n := strings.IndexFunc(s, func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) })
	if n < 0 {
		return len(s)
	}
	if end := strings.IndexFunc(s[n:], func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }); end >= 0 {
		return n + end
	}
	return len(s)
}

// denied reports whether what follows is what is not to be done.
func denied(before string) bool {
	m := denial().FindString(before)
	return m != "" && !doubleDenial().MatchString(m)
}

var (
	denial       = lazy(`(?i)\b(?:never|(?:do|does|must|should|shall|can|could|may|will|would)(?:\s+not|n't)|cannot|avoid|without)\s+(?:\w+\s+(?:or\s+)?)?$`)
	doubleDenial = lazy(`(?i)\b(?:hesitate|forget|fail|omit|skip|only|just|matter|worry|need)\b`)
)
