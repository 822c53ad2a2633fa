package fs

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
)

// maxGlob is the longest accepted pattern, in bytes; what it compiles to grows in proportion.
const maxGlob = 1024

// A glob matches paths against a pattern. In a pattern, * is any run of characters but /, ** as a whole path element is any
// number of directories (none too), ? is one character but /, [a-z] and [!a-z] are one character of or outside a set, {a,b}
// is either, and \ takes the meaning from the character behind it. A pattern without / is matched against the last element
// of a path, any other against the whole path.
//
// It is compiled to a regular expression of package regexp, so that matching takes time linear in the path whatever the
// pattern.
type glob struct {
	re       *regexp.Regexp
	baseOnly bool
}

func compileGlob(pattern string) (*glob, error) {
	if pattern == "" || len(pattern) > maxGlob {
		return nil, fmt.Errorf("glob has %d bytes; 1 to %d are allowed", len(pattern), maxGlob)
	}
	expr, err := globExpr(pattern)
	if err != nil {
		return nil, fmt.Errorf("glob %q: %w", pattern, err)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("glob %q is not well formed", pattern) // the cause would quote the expression, not the pattern
	}
	return &glob{re: re, baseOnly: !strings.Contains(pattern, "/")}, nil
}

// match reports whether the slash-separated relative path name matches. A nil glob matches everything.
func (g *glob) match(name string) bool {
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
			// All of a multi-byte character passes through byte by byte: QuoteMeta changes ASCII only.
			b.WriteString(regexp.QuoteMeta(p[i : i+1]))
		}
		i++
	}
	if braces > 0 {
		return "", fmt.Errorf("{ without }")
	}
	b.WriteString(`\z`)
	return b.String(), nil
}

// globStars translates the run of stars at p[i:] and returns how many bytes it took, 0 if there is none.
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

// globSet translates the character set at the start of p and returns how many bytes it took.
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
			return 0, "", fmt.Errorf("a set cannot hold /")
		case c == '\\':
			if i++; i == len(p) {
				return 0, "", fmt.Errorf("[ without ]")
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
	return 0, "", fmt.Errorf("[ without ]")
}

// globs compiles the patterns of what a caller wants to see and not to see. An empty pattern stands for none.
func globs(pattern string, exclude []string) (match *glob, excluded []*glob, err error) {
	if pattern != "" {
		if match, err = compileGlob(pattern); err != nil {
			return nil, nil, dispatch.Errorf(dispatch.InvalidInput, "%w", err)
		}
	}
	for _, pattern := range exclude {
		g, err := compileGlob(pattern)
		if err != nil {
			return nil, nil, dispatch.Errorf(dispatch.InvalidInput, "exclude: %w", err)
		}
		excluded = append(excluded, g)
	}
	return match, excluded, nil
}
