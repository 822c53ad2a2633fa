package host

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func TestCheckID(t *testing.T) {
	for _, id := range []string{"a", "files", "chrome-devtools", "A.b_c-9", "0", "a" +
		strings.Repeat("b", 31)} {
		assert.NilError(t, CheckID(id))
	}
	for _, id := range []string{"", "-a", ".a", "_a", "a b", "é", "a/b", "a" +
		strings.Repeat("b", 32)} {
		assert.ErrorContains(t, CheckID(id), "is not 1 to 32 letters")
	}
	assert.ErrorContains(t, CheckID("a__b"), `contains "__"`)
}

func TestPublicName(t *testing.T) {
	for _, tt := range []struct {
		id, name string
		most     int
		want     string
	}{
		{"files", "read", 64, "files__read"},
		{"files", "read/all öl", 64, "files__read_all__l"},
		{"f", strings.Repeat("x", 61), 64, "f__" + strings.Repeat("x", 61)},
		{"f", strings.Repeat("x", 62), 64, "f__" + strings.Repeat("x", 54) + "_14ac7f"},
		{"f", strings.Repeat("x", 62) + "y", 64, "f__" + strings.Repeat("x", 54) + "_6764ed"},
		{"f", strings.Repeat("x", 62) + "y", 128, "f__" + strings.Repeat("x", 62) + "y"},
	} {
		assert.Equal(t, PublicName(tt.id, tt.name, tt.most), tt.want)
	}
}

// Of names that are the same after invalid characters are replaced, the valid one stays, and the
// others get a digest, in any order.
func TestPublicNamesDiffer(t *testing.T) {
	long := strings.Repeat("x", 60)
	names := []string{"sp ace", "sp_ace", "sp/ace", "ünï", "önï", "plain", "a b", long + " y",
		long + "/y"}
	want := map[string]string{"sp_ace": "t__sp_ace", "sp ace": "t__sp_ace_40e9f1",
		"sp/ace": "t__sp_ace_e1f67f", "ünï": "t___n__f3fff2", "önï": "t___n__099ad2",
		"plain": "t__plain", "a b": "t__a_b"}
	for range 2 {
		got := PublicNames("t", names, 64)
		seen := map[string]bool{}
		for own, public := range got {
			assert.Assert(t, !seen[public] && len(public) <= 64, "%q: %q", own, public)
			seen[public] = true
			if w := want[own]; w != "" {
				assert.Check(t, cmp.Equal(public, w), own)
			}
		}
		assert.Equal(t, len(got), len(names))
		slices.Reverse(names)
	}
	operations := OperationNames("t", []string{"a_b", "a.b", "a b"})
	assert.Equal(t, len(operations), 3)
	assert.Equal(t, operations["a.b"], "t.a.b")
	assert.Assert(t, cmp.Regexp(`^t\.a_b_[0-9a-f]{6}$`, operations["a_b"]))
	assert.Assert(t, cmp.Regexp(`^t\.a_b_[0-9a-f]{6}$`, operations["a b"]))
}

func TestOperationName(t *testing.T) {
	for _, tt := range []struct{ id, name, want string }{
		{"files", "read", "files.read"},
		{"my.files", "read", "my_files.read"},
		{"files", "read/all öl", "files.read_all__l"},
		{"github", "issues.list", "github.issues.list"},
		{"github", "issues..list.", "github.issues__list_"},
		{"github", ".", "github._"},
		{"github", "", "github._"},
		{"f", strings.Repeat("x", 126), "f." + strings.Repeat("x", 126)},
		{"f", strings.Repeat("x", 127), "f." + strings.Repeat("x", 119) + "_a754df"},
	} {
		assert.Equal(t, OperationName(tt.id, tt.name), tt.want)
		assert.Assert(t, strings.HasPrefix(tt.want, ServiceName(tt.id)+"."))
	}
}

func TestFilter(t *testing.T) {
	for _, tt := range []struct {
		filter  Filter
		allowed string
		denied  string
	}{
		{Filter{}, "anything at_all", ""},
		{Filter{Allow: []string{}}, "", "anything"},
		{Filter{Allow: []string{"read_*", "list"}}, "read_ read_file list",
			"read write_read_ lists alist"},
		{Filter{Deny: []string{"*delete*"}}, "read", "delete_file undelete file_delete delete"},
		{Filter{Allow: []string{"*"}, Deny: []string{"rm"}}, "r m rmm", "rm"},
		{Filter{Allow: []string{"a?c"}}, "abc a?c", "ac abbc"},
		{Filter{Allow: []string{"a*b*c"}}, "abc aXbYc abbbc", "ab acb bc"},
	} {
		assert.NilError(t, tt.filter.Check())
		for _, name := range strings.Fields(tt.allowed) {
			assert.Assert(t, tt.filter.Allows(name), name)
		}
		for _, name := range strings.Fields(tt.denied) {
			assert.Assert(t, !tt.filter.Allows(name), name)
		}
	}
	for _, pattern := range []string{"", "[a-z]", "{a,b}", `a\*`} {
		assert.Assert(t, cmp.ErrorContains((&Filter{Deny: []string{pattern}}).Check(), "pattern"))
	}
}

// The time of match is not exponential.
func TestMatchIsNotExponential(t *testing.T) {
	assert.Assert(t, !match(strings.Repeat("*a", 1000)+"b", strings.Repeat("a", 10_000)))
}

// The conjunction of two filters passes no tool that one of them does not pass.
func TestFilterAnd(t *testing.T) {
	patterns := [][]string{nil, {}, {"*"}, {"a*"}, {"?"}, {"a?", "*b"}, {"ab", "a*b"}, {"a*", "?*"}}
	names := []string{"", "a", "b", "ab", "aab", "ba", "abb", "c*", "a?"}
	for _, a := range patterns {
		for _, b := range patterns {
			for _, deny := range []string{"", "ab"} {
				f, g := Filter{Allow: a}, Filter{Allow: b}
				if deny != "" {
					f.Deny = []string{deny}
				}
				both := f.And(g)
				for _, name := range names {
					assert.Assert(t, !both.Allows(name) || f.Allows(name) &&
						g.Allows(name), "%v and %v is %v: %q", f, g, both, name)
				}
				again := f.And(both)
				for _, name := range names {
					assert.Equal(t, again.Allows(name), both.Allows(name), "%v and %v: %q", f, both,
						name)
				}
			}
		}
	}
	assert.DeepEqual(t, Filter{Allow: []string{"*"}}.And(Filter{Allow: []string{"a?", "b*"}}).Allow,
		[]string{"a?", "b*"})
	assert.DeepEqual(t,
		Filter{Allow: []string{"a", "bc"}}.And(Filter{Allow: []string{"b*", "c"}}).Allow,
		[]string{"bc"})
}
