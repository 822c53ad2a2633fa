package uritemplate

import (
	"slices"
	"sort"
	"strings"
)

// A Set finds the template that a URI belongs to. It is immutable and safe for concurrent use.
type Set struct {
	groups []group // sorted by prefix
}

// A group holds the templates that start with the same literal.
type group struct {
	prefix  string
	within  int // index of the group with the longest proper prefix of this one; -1 if none
	members []member
}

type member struct {
	*Template
	index int
}

// NewSet returns a set of the templates.
func NewSet(templates ...*Template) *Set {
	var s Set
	members := map[string][]member{}
	for i, t := range templates {
		if !t.never {
			members[t.prefix] = append(members[t.prefix], member{t, i})
		}
	}
	for prefix, members := range members {
		s.groups = append(s.groups, group{prefix: prefix, members: members})
	}
	slices.SortFunc(s.groups, func(a, b group) int { return strings.Compare(a.prefix, b.prefix) })
	for i := range s.groups {
		within := i - 1
		for within >= 0 && !strings.HasPrefix(s.groups[i].prefix, s.groups[within].prefix) {
			within = s.groups[within].within
		}
		s.groups[i].within = within
	}
	return &s
}

// Match returns the index, in the arguments of [NewSet], of the template that the URI belongs to,
// and the values of its variables as [Template.Match] returns them; -1 if there is none. If several
// templates match, the one with the longest literal before its first expression is selected; of
// those, the first. Templates with another prefix cost almost nothing, because prefixes are sorted;
// those with the same prefix are tried in order.
func (s *Set) Match(uri string) (index int, values Values, ok bool) {
	if uri, ok = normalise(uri); !ok {
		return -1, nil, false
	}
	// A prefix of uri is sorted before it, and everything sorted between the two starts with that
	// prefix.
	i := sort.Search(len(s.groups), func(i int) bool { return s.groups[i].prefix > uri }) - 1
	for ; i >= 0; i = s.groups[i].within {
		if !strings.HasPrefix(uri, s.groups[i].prefix) {
			continue
		}
		for _, m := range s.groups[i].members {
			if values, ok := m.match(uri); ok {
				return m.index, values, true
			}
		}
	}
	return -1, nil, false
}
