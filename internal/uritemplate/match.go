package uritemplate

import (
	"math/bits"
	"strings"
)

// Match finds the values of the variables in a URI; those that are undefined are not among them. It tells whether the URI is one that the template
// describes, by the rules that the documentation of the package has. It takes no longer than len(uri) * len(template) small steps.
func (t *Template) Match(uri string) (Values, bool) {
	uri, ok := normalise(uri)
	if !ok {
		return nil, false
	}
	return t.match(uri)
}

// match is Match of a normalised URI.
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

// possible tells whether the literals are in the URI, one behind the other: most of what does not match is found out here.
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

// search looks for the one way to divide a URI among the steps of a template. It goes over the steps from the last to the first, and finds for
// each the places in the URI from which that step and all behind it can match; with those known, going forward has never to be taken back.
type search struct {
	t     *Template
	uri   string
	loose bool
	words int      // of a set of places
	can   []uint64 // for each step and for the end, the set of the places from which the rest matches
	lead  []uint64 // likewise, if the step begins with its lead there
	far   []int32  // for each place, how many characters it is to the next one where the following step can begin; -1 is none
	work  int      // places looked at, for the test of the bound
}

func (t *Template) search(uri string, loose bool) (values Values, ok bool, work int) {
	var sets [48]uint64 // enough for most, without allocating
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

func (s *search) put(set []uint64, step, place int) { set[step*s.words+place>>6] |= 1 << (place & 63) }

// literal finds where a step that is a literal can begin.
func (s *search) literal(i int) {
	literal := s.t.steps[i].literal
	for w, word := range s.can[(i+1)*s.words : (i+2)*s.words] {
		for ; word != 0; word &= word - 1 {
			s.work++
			end := w*64 + bits.TrailingZeros64(word)
			if start := end - len(literal); start >= len(s.t.prefix) && s.uri[start:end] == literal {
				s.put(s.can, i, start)
			}
		}
	}
}

// variables finds where a step of variables can begin.
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
			if s.near(st, j) {
				s.put(s.can, i, j)
			}
		case s.near(st, s.begin(i, j)):
			s.put(s.lead, i, j)
			s.put(s.can, i, j)
		case s.at(s.can, i+st.without, j):
			s.put(s.can, i, j)
		}
	}
}

// near tells whether a step whose value begins at a place can end there or later.
func (s *search) near(st *step, place int) bool {
	return place >= 0 && s.far[place] >= 0 && (st.limit == 0 || int(s.far[place]) <= st.limit)
}

// begin returns where the first value of a step is that begins with its lead; -1 if it does not begin here.
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

// character returns where the character ends that begins at a place in what a step takes, -1 if the step does not take it. What a parameter begins
// with is one character: the separator and the name, and after ? and & the equals sign. After ; that comes with the first character of the value,
// as an empty one has none.
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

// letter is character where no parameter begins.
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

// name returns where the beginning of the parameter ends that a separator at a place sets off, -1 if the step has no such parameter.
func (s *search) name(i, place int) int {
	st, start := &s.t.steps[i], place+1
	if end := s.known(i, place); end > 0 || !st.open {
		return end
	}
	end := start
	for end < len(s.uri) && s.uri[end] != '=' && s.uri[end] != st.lead { // no byte is looked at again from the next lead
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

// known is name of the parameters that have the name of a variable.
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

// equals returns where the beginning of a parameter ends whose name ends at a place, -1 if the name does not end there.
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

// divide goes forward through the URI, after it is known that the template matches. It takes t and uri as such, and not out of the search, so that
// the sets of the search can stay on the stack.
func (t *Template) divide(uri string, s *search) (Values, bool) {
	found := findings{all: make([]finding, 0, t.mentions)}
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

// end returns where a step ends that begins at a place: the last place from which the rest matches, or the first one from which it does with the
// lead of the next step, unless that is a parameter of this one; -1 if a parameter is longer than its prefix modifier allows.
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
		if st.op.named && (last == start || s.uri[last] == st.op.sep) { // this was the beginning of a parameter
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
