package instructions

import (
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
)

func TestCompose(t *testing.T) {
	long := strings.Repeat("wörd ", 1000)
	for _, tt := range []struct {
		all   []Server
		limit int
		want  string
	}{
		{nil, 100, ""},
		{[]Server{{"a", ""}, {"b", " \n"}}, 100, ""},
		{[]Server{{"a", "First.\n\n[b] not b"}, {"b", "Second."}}, 100,
			"[a] First. [b] not b\n[b] Second."},
		{[]Server{{"a", long}, {"b", "short"}, {"c", long}}, 50,
			"[a] wörd wörd wörd…\n[b] short\n[c] wörd wörd wörd…"},
		{[]Server{{"a", strings.Repeat("語", 100)}, {"b", "short"}}, 30,
			"[a] " + strings.Repeat("語", 15) + "…\n[b] short"},
		{[]Server{{"a", strings.Repeat("x", 100)}}, 5, ""},
	} {
		got := Compose(tt.all, tt.limit)
		assert.Equal(t, got, tt.want)
	}
	for limit := range 300 {
		got := Compose([]Server{{"a", long}, {"b", "short text"}, {"c", long}}, limit)
		assert.Assert(t, utf8.RuneCountInString(got) <= limit, "%d: %q", limit, got)
	}
}
