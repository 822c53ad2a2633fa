package doctor

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host"
)

// A mistyped pattern leaves a tool open, or offers none: doctor says so.
func TestDoctorFilter(t *testing.T) {
	var tools []json.RawMessage
	for _, name := range []string{"fs_read", "fs_search"} {
		tools = append(tools, json.RawMessage(`{"name":"`+name+`"}`))
	}
	const unmatched = `patterns of "tools" in its configuration that match no tool: `
	for _, tt := range []struct {
		filter host.Filter
		want   []string
	}{
		{host.Filter{}, nil},
		{host.Filter{Allow: []string{"fs_*"}, Deny: []string{"fs_rea?"}}, nil},
		{host.Filter{Deny: []string{"fs_serch", "x*"}},
			[]string{unmatched + `"fs_serch" in deny (did you mean "fs_search"?), "x*" in deny`}},
		{host.Filter{Allow: []string{"fs_reed"}},
			[]string{unmatched + `"fs_reed" in allow (did you mean "fs_read"?)`,
				`"tools" in its configuration lets none of its 2 tools through`}},
		{host.Filter{Deny: []string{"*"}},
			[]string{`"tools" in its configuration lets none of its 2 tools through`}},
	} {
		r := Report{Verdict: Fine}
		r.checkFilter(&tt.filter, tools)
		var got []string
		for _, f := range r.Findings {
			got = append(got, f.What)
		}
		assert.DeepEqual(t, got, tt.want)
	}
}
