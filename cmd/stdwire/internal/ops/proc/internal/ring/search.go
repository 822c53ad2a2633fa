package ring

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/stdwire/stdwire/dispatch"
)

const (
	maxProgram = 1000    // instructions of a compiled pattern; each may run for each character
	maxMatch   = 4 << 10 // bytes of a match that is always found, however the output is split
)

// A Search finds a pattern in growing output. It does not search output again, except for the last
// lines, in which a match may begin.
type Search struct {
	re   *regexp.Regexp
	from int64 // start of the search
	seen int64 // end of the output searched
}

func NewSearch(pattern string) (*Search, error) {
	// ^ matches at every line, because prompts are at the start of a line
	pattern = "(?m)" + pattern
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, dispatch.InvalidArgument("/pattern", "%w", err)
	}
	parsed = allowCR(parsed)
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if n := len(program.Inst); n > maxProgram {
		return nil, dispatch.InvalidArgument("/pattern",
			"it compiles to %d instructions, and the maximum is %d; use smaller repetitions", n, maxProgram)
	}
	re, err := regexp.Compile(parsed.String())
	return &Search{re: re}, err
}

// allowCR makes every $ match before CR LF as well, the line end of Windows and of network
// protocols.
func allowCR(re *syntax.Regexp) *syntax.Regexp {
	if re.Op == syntax.OpEndLine {
		cr := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'\r'}}
		optional := &syntax.Regexp{Op: syntax.OpQuest, Sub: []*syntax.Regexp{cr}}
		return &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{optional, re}}
	}
	for i, sub := range re.Sub {
		re.Sub[i] = allowCR(sub)
	}
	return re
}

// Find returns the end offset of the first match between from and to.
func (s *Search) Find(r *Ring, from, to int64) (end int64, ok bool) {
	if from != s.from {
		s.from, s.seen = from, from // another read has consumed output, or output is lost
	}
	begin := s.seen - maxMatch
	if before := max(from, begin-maxMatch); begin > before {
		// Start at the start of a line, so that ^ matches correctly.
		begin = before + int64(bytes.LastIndexByte(r.Slice(before, begin), '\n')+1)
	} else {
		begin = from
	}
	// The bytes beyond the range decide whether $ and \b match, but are not part of a match.
	at := s.re.FindIndex(r.Slice(begin, min(to+utf8.UTFMax, r.End)))
	if s.seen = to; at == nil || begin+int64(at[1]) > to {
		return 0, false
	}
	return begin + int64(at[1]), true
}
