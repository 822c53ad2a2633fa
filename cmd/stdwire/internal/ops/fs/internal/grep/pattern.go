package grep

import (
	"context"
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/stdwire/stdwire/dispatch"
)

const (
	maxProgram = 5000     // instructions of a compiled pattern; each may run for each character
	longLine   = 16 << 10 // bytes of a line from which on a match must be interruptible
)

// Compile compiles the regular expression of an input.
func Compile(expr string, literal, caseInsensitive bool) (*regexp.Regexp, error) {
	if literal {
		expr = regexp.QuoteMeta(expr)
	}
	if caseInsensitive {
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
		return nil, dispatch.Errorf(dispatch.InvalidInput,
			"pattern: it has %d instructions when compiled, and %d are allowed; use smaller "+
				"repetitions", n, maxProgram)
	}
	return re, nil
}

// findMatch returns the offset of the first match in line, or -1. In a long line it stops when ctx
// is done and returns -1.
func findMatch(ctx context.Context, re *regexp.Regexp, line []byte) int {
	if len(line) >= longLine && !isLiteral(re) {
		if at := re.FindReaderIndex(&runeReader{ctx: ctx, rest: line}); at != nil {
			return at[0]
		}
		return -1
	}
	if !re.Match(line) { // faster than FindIndex, because it finds no position
		return -1
	}
	return re.FindIndex(line)[0]
}

// isLiteral reports whether the expression is plain text, which needs no regular expression
// program.
func isLiteral(re *regexp.Regexp) bool {
	_, all := re.LiteralPrefix()
	return all
}

// runeReader reads the characters of a line until its context is done.
type runeReader struct {
	ctx  context.Context
	rest []byte
	n    int
}

func (r *runeReader) ReadRune() (rune, int, error) {
	if r.n++; len(r.rest) == 0 || r.n%1024 == 0 && r.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRune(r.rest)
	r.rest = r.rest[size:]
	return c, size, nil
}
