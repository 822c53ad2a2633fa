package uritemplate

import (
	"slices"
	"sort"
	"strings"
)

// Set finds out of many templates the one that a URI belongs to. It does not change; its methods may be called at the same time.
type Set struct {
	groups []group // sorted by their prefix
}

// group are the templates that begin with the same literal.
type group struct {
	prefix  string
	within  int // the group with the longest prefix that this one begins with; -1 is none
	members []member
}

type member struct {
	*Template
	index int
}

// NewSet returns a set of templates.
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

// Match returns the index of the template, in the order they were given to [NewSet], that the URI belongs to, and the values of its variables as
// [Template.Match] finds them; -1 if there is none. If the URI matches several, it is the one with the longest literal before its first expression;
// of those, the first. Templates that begin otherwise than the URI cost next to nothing, however many there are (their prefixes are sorted);
// those with the same beginning are tried one by one.
func (s *Set) Match(uri string) (index int, values Values, ok bool) {
	if uri, ok = normalise(uri); !ok {
		return -1, nil, false
	}
	// A prefix of uri is sorted before it, and whatever is sorted between the two begins with that prefix, too.
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
