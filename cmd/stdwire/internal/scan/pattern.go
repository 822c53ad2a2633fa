package scan

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/stdwire/stdwire/internal/lazyregexp"
)

// A pattern matches one wording.
type pattern struct {
	severity Severity
	what     string         // the What of a finding
	needs    []string       // every matching text contains one of these, in lower case
	re       *regexp.Regexp // matched against text.plain
	except   *regexp.Regexp // matches that are harmless; nil for none
}

// phrase returns a pattern in which a blank stands for any white space, and "~3" for up to three
// other words in the same sentence.
func phrase(severity Severity, what, needs, expression string) pattern {
	expression = gap().ReplaceAllString(expression, `(?:[^\s.!?]+\s+){0,$1}?`)
	expression = strings.ReplaceAll(expression, " ", `\s+`)
	return pattern{severity, what, strings.Split(needs, "|"),
		regexp.MustCompile(`(?i)` + expression), nil}
}

var gap = lazyregexp.New(`~(\d)`)

// excluding returns the pattern without the matches that match expression.
func (p pattern) excluding(expression string) pattern {
	p.except = regexp.MustCompile(expression)
	return p
}

// matches returns a check that reports the worst of the patterns that match. If negatable is set, a
// negated match ("never share the user's password") does not count.
func matches(patterns func() []pattern, negatable bool) func(*scanner, *definition, *text) (Finding,
	bool) {
	return func(_ *scanner, _ *definition, t *text) (f Finding, found bool) {
		patterns := patterns()
		for i := range patterns {
			p := &patterns[i]
			if found && f.Severity >= p.severity {
				continue
			}
			m := p.find(t, negatable)
			if m == nil {
				continue
			}
			f, found = Finding{Severity: p.severity, What: p.what,
				Evidence: excerpt(t.plain, m[0], m[1])}, true
		}
		return f, found
	}
}

// find returns the first match of the pattern that is not negated, or nil.
func (p *pattern) find(t *text, negatable bool) []int {
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
		if (p.except == nil || !p.except.MatchString(t.plain[start:end])) &&
			!(negatable && isNegated(t.plain[max(0, start-50):start])) {
			return []int{start, end}
		}
		from = start + firstWord(t.plain[start:]) // a match may begin within a negated one
	}
}

// firstWord returns the end of the first word of a text; at least 1.
func firstWord(s string) int {
	n := strings.IndexFunc(s, func(r rune) bool {
		return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
	})
	if n < 0 {
		return len(s)
	}
	if end := strings.IndexFunc(s[n:], func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}); end >= 0 {
		return n + end
	}
	return len(s)
}

// isNegated reports whether the text before a match negates it.
func isNegated(before string) bool {
	m := negation().FindString(before)
	return m != "" && !doubleNegation().MatchString(m)
}

var (
	negation = lazyregexp.New(
		`(?i)\b(?:never|(?:do|does|must|should|shall|can|could|may|will|would)(?:\s+not|n't)|cannot|avoid|without)\s+(?:\w+\s+(?:or\s+)?)?$`)
	doubleNegation = lazyregexp.New(`(?i)\b(?:hesitate|forget|fail|omit|skip|only|just|matter|worry|need)\b`)
)
