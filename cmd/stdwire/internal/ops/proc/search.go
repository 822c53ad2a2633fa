package proc

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/stdwire/stdwire/dispatch"
)

const (
	maxProgram = 1000    // instructions of a compiled pattern; each may be looked at for each character
	reach      = 4 << 10 // bytes that a match may be long and still is found however the output comes
)

// A search looks for a pattern in output as it comes. What it has looked at it does not look at again, but for the last lines, in which a match may
// have begun.
type search struct {
	re   *regexp.Regexp
	from int64 // where it began
	seen int64 // where it has got to
}

func newSearch(pattern string) (*search, error) {
	pattern = "(?m)" + pattern // prompts are at the start of a line, and output has many
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, dispatch.InvalidArgument("/pattern", "%w", err)
	}
	parsed = beforeCR(parsed)
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if n := len(program.Inst); n > maxProgram {
		return nil, dispatch.InvalidArgument("/pattern", "it takes %d steps, of which %d are allowed; use smaller repetitions", n, maxProgram)
	}
	re, err := regexp.Compile(parsed.String())
	return &search{re: re}, err
}

// beforeCR makes every $ take the CR of a line that ends with CR LF, as lines on Windows do, and
// what comes from a network.
func beforeCR(re *syntax.Regexp) *syntax.Regexp {
	if re.Op == syntax.OpEndLine {
		cr := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'\r'}}
		optional := &syntax.Regexp{Op: syntax.OpQuest, Sub: []*syntax.Regexp{cr}}
		return &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{optional, re}}
	}
	for i, sub := range re.Sub {
		re.Sub[i] = beforeCR(sub)
	}
	return re
}

// find returns the offset behind the first match that is between from and to.
func (s *search) find(r *ring, from, to int64) (end int64, ok bool) {
	if from != s.from {
		s.from, s.seen = from, from // somebody else has read, or what was there is lost
	}
	begin := s.seen - reach
	if before := max(from, begin-reach); begin > before {
		// Back to the start of the line, so that ^ is right.
		begin = before + int64(bytes.LastIndexByte(r.slice(before, begin), '\n')+1)
	} else {
		begin = from
	}
	// What is behind is not to be matched, but says whether $ and \b match.
	at := s.re.FindIndex(r.slice(begin, min(to+utf8.UTFMax, r.end)))
	if s.seen = to; at == nil || begin+int64(at[1]) > to {
		return 0, false
	}
	return begin + int64(at[1]), true
}
