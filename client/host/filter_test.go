package host

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

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
