package uritemplate

import (
	"math/bits"
	"strings"
)

// Match returns the values of the variables in a URI, without undefined ones, and whether the
// template describes the URI by the rules in the package documentation. It needs at most len(uri) *
// len(template) small steps.
func (t *Template) Match(uri string) (Values, bool) {
	uri, ok := normalise(uri)
	if !ok {
		return nil, false
	}
	return t.match(uri)
}

// match is Match for a normalised URI.
func (t *Template) match(uri string) (Values, bool) {
	if !t.possible(uri) {
		return nil, false
	}
	values, ok, _ := t.search(uri, false)
	if !ok {
		values, ok, _ = t.search(uri, true)
	}
	return values, ok
}

// possible reports whether the URI contains the literals in order. Most URIs that do not match fail
// here.
func (t *Template) possible(uri string) bool {
	rest, ok := strings.CutPrefix(uri, t.prefix)
	if !ok || t.never {
		return false
	}
	for i := range t.steps {
		literal := t.steps[i].literal
		if i == len(t.steps)-1 {
			return strings.HasSuffix(rest, literal)
		}
		at := strings.Index(rest, literal)
		if at < 0 {
			return false
		}
		rest = rest[at+len(literal):]
	}
	return rest == ""
}

// A search divides a URI among the steps of a template. It visits the steps from last to first, and
// computes for each the positions in the URI from which that step and all later ones can match.
// With those known, the division from first to last needs no backtracking.
type search struct {
	t     *Template
	uri   string
	loose bool
	words int      // words per set of positions
	can   []uint64 // for each step and the end, the positions from which the rest matches
	lead  []uint64 // the same, if the step has its lead there
	// per position, the distance to the next one where the following step can start; -1 is none
	far  []int32
	work int // positions visited, for the test of the bound
}

func (t *Template) search(uri string, loose bool) (values Values, ok bool, work int) {
	var sets [48]uint64 // avoids an allocation for most URIs
	var places [200]int32
	s := search{t: t, uri: uri, loose: loose, words: len(uri)/64 + 1, far: places[:]}
	if len(uri) >= len(places) {
		s.far = make([]int32, len(uri)+1)
	}
	size := (len(t.steps) + 1) * s.words
	if 2*size <= len(sets) {
		s.can, s.lead = sets[:size], sets[size:2*size]
	} else {
		s.can, s.lead = make([]uint64, size), make([]uint64, size)
	}
	s.put(s.can, len(t.steps), len(uri))
	for i := len(t.steps) - 1; i >= 0; i-- {
		if t.steps[i].literal != "" {
			s.literal(i)
		} else {
			s.variables(i)
		}
	}
	if s.at(s.can, 0, len(t.prefix)) {
		values, ok = t.divide(uri, &s)
	}
	return values, ok, s.work
}

func (s *search) at(set []uint64, step, place int) bool {
	return set[step*s.words+place>>6]>>(place&63)&1 != 0
}

func (s *search) put(set []uint64, step, place int) {
	set[step*s.words+place>>6] |= 1 << (place & 63)
}

// literal computes the positions where a literal step can start.
func (s *search) literal(i int) {
	literal := s.t.steps[i].literal
	for w, word := range s.can[(i+1)*s.words : (i+2)*s.words] {
		for ; word != 0; word &= word - 1 {
			s.work++
			end := w*64 + bits.TrailingZeros64(word)
			if start := end - len(literal); start >= len(s.t.prefix) &&
				s.uri[start:end] == literal {
				s.put(s.can, i, start)
			}
		}
	}
}

// variables computes the positions where a step of variables can start.
func (s *search) variables(i int) {
	st := &s.t.steps[i]
	for j := len(s.uri); j >= len(s.t.prefix); j-- {
		s.far[j] = -1
		if s.at(s.can, i+1, j) {
			s.far[j] = 0
		} else if end := s.character(i, j); end > 0 && s.far[end] >= 0 {
			s.far[j] = s.far[end] + 1
		}
		switch {
		case st.lead == 0:
			if s.canEnd(st, j) {
				s.put(s.can, i, j)
			}
		case s.canEnd(st, s.begin(i, j)):
			s.put(s.lead, i, j)
			s.put(s.can, i, j)
		case s.at(s.can, i+st.without, j):
			s.put(s.can, i, j)
		}
	}
}

// canEnd reports whether a step whose value starts at a position can end there or later.
func (s *search) canEnd(st *step, place int) bool {
	return place >= 0 && s.far[place] >= 0 && (st.limit == 0 || int(s.far[place]) <= st.limit)
}

// begin returns the start of the first value of a step that starts with its lead; -1 if the lead is
// absent.
func (s *search) begin(i, place int) int {
	st := &s.t.steps[i]
	switch {
	case place == len(s.uri) || s.uri[place] != st.lead:
		return -1
	case st.op.named:
		return s.name(i, place)
	}
	return place + 1
}

// character returns the end of the character at a position in the value of a step, or -1 if the
// step does not accept it. The start of a parameter counts as one character: the separator, the
// name and, after ? and &, the equals sign. After ; the equals sign belongs to the first character
// of the value, because an empty value has none.
func (s *search) character(i, place int) int {
	st := &s.t.steps[i]
	s.work++
	switch {
	case !st.op.named || place == len(s.uri):
	case s.uri[place] == st.op.sep:
		return s.name(i, place)
	case s.uri[place] == '=' && st.op.ifEmpty == "":
		if end := s.letter(st, place+1); end > 0 || !s.loose {
			return end
		}
		return place + 1
	}
	return s.letter(st, place)
}

// letter is character where no parameter starts.
func (s *search) letter(st *step, place int) int {
	switch {
	case place == len(s.uri):
	case s.uri[place] == '%':
		return place + width(s.uri[place:])
	case st.strict.has(s.uri[place]), s.loose && st.loose.has(s.uri[place]):
		return place + 1
	}
	return -1
}

// name returns the end of the start of a parameter whose separator is at a position, or -1 if the
// step has no such parameter.
func (s *search) name(i, place int) int {
	st, start := &s.t.steps[i], place+1
	if end := s.known(i, place); end > 0 || !st.open {
		return end
	}
	end := start
	for end < len(s.uri) && s.uri[end] != '=' && s.uri[end] != st.lead {
		// each byte is visited once per lead
		next := s.letter(st, end)
		if next < 0 {
			break
		}
		s.work++
		end = next
	}
	if end == start {
		return -1
	}
	return s.equals(i, end)
}

// known is name for the parameters with the name of a variable.
func (s *search) known(i, place int) int {
	for _, name := range s.t.steps[i].names {
		s.work++
		if start := place + 1; strings.HasPrefix(s.uri[start:], name) {
			if end := s.equals(i, start+len(name)); end > 0 {
				return end
			}
		}
	}
	return -1
}

// equals returns the end of the start of a parameter whose name ends at a position, or -1 if the
// name does not end there.
func (s *search) equals(i, place int) int {
	op, assigned := s.t.steps[i].op, strings.HasPrefix(s.uri[place:], "=")
	ends := place == len(s.uri) || s.uri[place] == op.sep || s.at(s.can, i+1, place)
	switch {
	case op.ifEmpty == "" && (ends || assigned), s.loose && ends && !assigned:
		return place
	case assigned:
		return place + 1
	}
	return -1
}

// divide divides the URI, which matches, from first to last step. It takes t and uri as arguments,
// not from the search, so that the sets of the search can stay on the stack.
func (t *Template) divide(uri string, s *search) (Values, bool) {
	found := captures{all: make([]capture, 0, t.mentions)}
	place := len(t.prefix)
	for i := 0; i < len(t.steps); i++ {
		st := &t.steps[i]
		switch {
		case st.literal != "":
			place += len(st.literal)
		case st.lead == 0:
			end := s.end(i, place)
			found.undelimited(st, uri[place:end])
			place = end
		case !s.at(s.lead, i, place):
			found.absent(t.steps[i : i+st.without])
			i += st.without - 1
		default:
			end := s.end(i, place)
			if st.op.named {
				if end < 0 || !found.parameters(st, uri[place+1:end]) {
					return nil, false
				}
			} else {
				found.present(st, uri[place+1:end])
			}
			place = end
		}
	}
	return found.values(t)
}

// end returns the end of a step that starts at a position: the last position from which the rest
// matches, or the first from which it does with the lead of the next step, unless that is a
// parameter of this one. It returns -1 if a parameter is longer than its prefix modifier allows.
func (s *search) end(i, start int) (end int) {
	end = -1
	st, last, place := &s.t.steps[i], start, start
	if st.lead != 0 {
		place = s.begin(i, start)
	}
	for n, limit := 0, st.limit; place >= 0; n++ {
		if s.at(s.can, i+1, place) {
			end = place
		}
		sep := st.op.named && place < len(s.uri) && s.uri[place] == st.op.sep
		if s.at(s.lead, i+1, place) && !(sep && s.known(i, place) > 0) {
			break
		}
		if st.op.named && (last == start || s.uri[last] == st.op.sep) { // the start of a parameter
			name, _, assigned := strings.Cut(s.uri[last+1:place], "=")
			if !assigned && !sep && !strings.HasPrefix(s.uri[place:], "=") {
				break
			}
			n, limit = 0, st.most(name)
		}
		if limit > 0 && n == limit && !sep {
			break
		}
		last, place = place, s.character(i, place)
	}
	return end
}
