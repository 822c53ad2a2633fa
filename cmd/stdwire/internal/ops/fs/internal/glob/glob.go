// Package glob matches paths against patterns.
package glob

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
)

// maxGlob is the maximum length of a pattern in bytes. Its compiled size is proportional.
const maxGlob = 1024

// A Glob matches paths against a pattern. In a pattern, * matches any run of characters except /,
// ** as a whole path element matches any number of directories, including none, ? matches one
// character except /, [a-z] and [!a-z] match one character in or not in a set, {a,b} matches
// either, and \ quotes the next character. A pattern without / is matched against the last element
// of a path, other patterns against the whole path.
//
// A glob is compiled to a regular expression of package regexp, so that the time of a match is
// linear in the length of the path.
type Glob struct {
	re       *regexp.Regexp
	baseOnly bool
}

func compile(pattern string) (*Glob, error) {
	if pattern == "" || len(pattern) > maxGlob {
		return nil, fmt.Errorf("glob has %d bytes; 1 to %d are allowed", len(pattern), maxGlob)
	}
	expr, err := globExpr(pattern)
	if err != nil {
		return nil, fmt.Errorf("glob %q: %w", pattern, err)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		// the cause quotes the expression, not the pattern
		return nil, fmt.Errorf("glob %q is not well formed", pattern)
	}
	return &Glob{re: re, baseOnly: !strings.Contains(pattern, "/")}, nil
}

// Match reports whether the slash-separated relative path name matches. A nil glob matches
// everything.
func (g *Glob) Match(name string) bool {
	switch {
	case g == nil:
		return true
	case g.baseOnly:
		return g.re.MatchString(path.Base(name))
	default:
		return g.re.MatchString(name)
	}
}

// globExpr translates a pattern to an anchored regular expression.
func globExpr(p string) (string, error) {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	braces := 0
	for i := 0; i < len(p); {
		if n, expr := globStars(p, i); n > 0 {
			b.WriteString(expr)
			i += n
			continue
		}
		switch c := p[i]; {
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[':
			n, expr, err := globSet(p[i:])
			if err != nil {
				return "", err
			}
			b.WriteString(expr)
			i += n
			continue
		case c == '{':
			braces++
			b.WriteString(`(?:`)
		case c == '}' && braces > 0:
			braces--
			b.WriteString(`)`)
		case c == ',' && braces > 0:
			b.WriteString(`|`)
		case c == '\\':
			if i++; i == len(p) {
				return "", fmt.Errorf(`nothing follows the last \`)
			}
			fallthrough
		default:
			// Bytes of multi-byte characters are unchanged: QuoteMeta escapes ASCII only.
			b.WriteString(regexp.QuoteMeta(p[i : i+1]))
		}
		i++
	}
	if braces > 0 {
		return "", errors.New("{ without }")
	}
	b.WriteString(`\z`)
	return b.String(), nil
}

// globStars translates the run of stars at p[i:] and returns its length, which may be 0.
func globStars(p string, i int) (n int, expr string) {
	for i+n < len(p) && p[i+n] == '*' {
		n++
	}
	elementStart := i == 0 || p[i-1] == '/'
	switch rest := p[i+n:]; {
	case n == 0:
		return 0, ""
	case n == 2 && elementStart && rest == "":
		return n, `.*`
	case n == 2 && elementStart && rest[0] == '/':
		return n + 1, `(?:[^/]+/)*`
	default:
		return n, `[^/]*`
	}
}

// globSet translates the character set at the start of p and returns its length.
func globSet(p string) (n int, expr string, err error) {
	var b strings.Builder
	b.WriteByte('[')
	i := 1
	if i < len(p) && (p[i] == '!' || p[i] == '^') {
		b.WriteString(`^/`)
		i++
	}
	for start := i; i < len(p); i++ {
		switch c := p[i]; {
		case c == ']' && i > start:
			b.WriteByte(']')
			return i + 1, b.String(), nil
		case c == '/':
			return 0, "", errors.New("a set cannot hold /")
		case c == '\\':
			if i++; i == len(p) {
				return 0, "", errors.New("[ without ]")
			}
			b.WriteString(regexp.QuoteMeta(p[i : i+1]))
		case c == '-':
			b.WriteByte(c)
		case strings.IndexByte(`[]^&~`, c) >= 0:
			b.WriteByte('\\')
			fallthrough
		default:
			b.WriteByte(c)
		}
	}
	return 0, "", errors.New("[ without ]")
}

// Compile compiles the patterns of an input. match is nil for an empty pattern.
func Compile(pattern string, exclude []string) (match *Glob, excluded []*Glob, err error) {
	if pattern != "" {
		if match, err = compile(pattern); err != nil {
			return nil, nil, dispatch.Errorf(dispatch.InvalidInput, "%w", err)
		}
	}
	for _, pattern := range exclude {
		g, err := compile(pattern)
		if err != nil {
			return nil, nil, dispatch.Errorf(dispatch.InvalidInput, "exclude: %w", err)
		}
		excluded = append(excluded, g)
	}
	return match, excluded, nil
}
