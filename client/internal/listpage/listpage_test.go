package listpage

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Only the definitions over a limit are cut, and every byte of the rest stays.
func TestCut(t *testing.T) {
	var cut []string
	report := func(list, name string, reason error) {
		cut = append(cut, list+" "+name+": "+reason.Error())
	}
	small := json.RawMessage(`{ "tools":[{"name":"a"}], "nextCursor" : "x"}`)
	assert.Equal(t, string(Cut(small, report)), string(small))
	assert.Equal(t, len(cut), 0)
	deep := strings.Repeat("[", maxDefinitionDepth) + strings.Repeat("]", maxDefinitionDepth)
	page := json.RawMessage(`{"x":[` + deep + `],"tools":[{"name":"a"},{"name":"b","y":` + deep +
		`},{"name":"[[{"}]}`)
	assert.Equal(t, string(Cut(page, report)),
		`{"x":[`+deep+`],"tools":[{"name":"a"},{"name":"[[{"}]}`)
	assert.DeepEqual(t, cut, []string{"tools b: it is nested 201 deep; at most 200 are allowed"})
}

// The sum of a page does not depend on what may differ each time.
func TestSum(t *testing.T) {
	one := Sum([]byte(`{"tools":[],"ttlMs":1,"_meta":{"a":1}}`))
	assert.Equal(t, one, Sum([]byte(`{"tools":[],"_meta":{},"ttlMs":2}`)))
	assert.Assert(t, one != Sum([]byte(`{"tools":[],"nextCursor":"2"}`)))
}
