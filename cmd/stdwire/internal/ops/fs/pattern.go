package fs

import (
	"context"
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/stdwire/stdwire/dispatch"
)

const (
	maxProgram = 5000     // instructions of a compiled pattern; each may be looked at for each character
	longLine   = 16 << 10 // bytes from which on a line can take so long that it must be possible to give up within it
)

// compilePattern returns the regular expression that a caller asked for.
func compilePattern(in SearchInput) (*regexp.Regexp, error) {
	expr := in.Pattern
	if in.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	if in.CaseInsensitive {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, dispatch.Errorf(dispatch.InvalidInput, "pattern: %w", err)
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if n := len(program.Inst); n > maxProgram {
		return nil, dispatch.Errorf(dispatch.InvalidInput, "pattern: it takes %d steps, of which %d are allowed; use smaller repetitions", n, maxProgram)
	}
	return re, nil
}

// find returns the offset of the first match in line, -1 if there is none. In a long line it gives up when ctx is done, and finds
// nothing.
func find(ctx context.Context, re *regexp.Regexp, line []byte) int {
	if len(line) >= longLine && !simple(re) {
		if at := re.FindReaderIndex(&runes{ctx: ctx, rest: line}); at != nil {
			return at[0]
		}
		return -1
	}
	if !re.Match(line) { // does not look for where, and so is faster on most lines
		return -1
	}
	return re.FindIndex(line)[0]
}

// simple reports whether the expression is plain text, which is found without running a program.
func simple(re *regexp.Regexp) bool {
	_, all := re.LiteralPrefix()
	return all
}

// runes reads the characters of a line until its context is done.
type runes struct {
	ctx  context.Context
	rest []byte
	n    int
}

func (r *runes) ReadRune() (rune, int, error) {
	if r.n++; len(r.rest) == 0 || r.n%1024 == 0 && r.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRune(r.rest)
	r.rest = r.rest[size:]
	return c, size, nil
}
