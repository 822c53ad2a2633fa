package near

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestMatch(t *testing.T) {
	candidates := []string{"path", "start_line", "encoding", "a", "--root", "ÄÖ"}
	for word, want := range map[string]string{
		"pth": "path", "paht": "path", "Path": "path", "path": "path", "pathos": "", "start-line": "start_line", "strat_lin": "start_line",
		"--rot": "--root", "encodign": "encoding", "b": "", "": "", "xyz": "", strings.Repeat("a", 200): "",
	} {
		assert.Equal(t, Match(word, candidates), want, word)
	}
	assert.Equal(t, Match("aa", []string{"ab", "aa"}), "aa")
	assert.Equal(t, Match("x", nil), "")
}

func TestEdits(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abcd", "badc", 2}, {"kitten", "sitting", 3}} {
		assert.Equal(t, edits(tc.a, tc.b), tc.want, tc.a+" "+tc.b)
	}
}

func TestInstead(t *testing.T) {
	names := []string{"name", "size"}
	assert.Equal(t, DidYouMean("nmae", names), "did you mean name?")
	assert.Equal(t, DidYouMean("colour", names), "")
	assert.Equal(t, Instead("nmae", names), "did you mean name?")
	assert.Equal(t, Instead("colour", names), "there are name, size")
	assert.Equal(t, Instead("colour", nil), "")
	assert.Equal(t, Instead("colour", make([]string, 25)), "", "too many to list")
}
