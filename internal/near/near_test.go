package near

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestMatch(t *testing.T) {
	candidates := []string{"path", "start_line", "encoding", "a", "--root", "ÄÖ"}
	for word, want := range map[string]string{
		"pth": "path", "paht": "path", "Path": "path", "path": "path", "pathos": "",
		"start-line": "start_line", "strat_lin": "start_line",
		"--rot": "--root", "encodign": "encoding", "b": "", "": "", "xyz": "",
		strings.Repeat("a", 200): "",
	} {
		assert.Equal(t, Match(word, candidates), want, word)
	}
	assert.Equal(t, Match("aa", []string{"ab", "aa"}), "aa")
	assert.Equal(t, Match("x", nil), "")
}

// An abbreviation matches its word rather than a word of similar length.
func TestMatchOfAbbreviations(t *testing.T) {
	for _, tc := range []struct{ word, candidates, want string }{
		{"cmd", "cwd command env", "command"},
		{"cmd", "cwd env", "cwd"}, // better than nothing
		{"dir", "dri directory", "directory"},
		{"msg", "mag message", "message"},
		{"env", "environment", "environment"},
		{"desc", "disc description", "description"},
		{"pth", "path patch_threshold", "path"},
		{"path", "paths a_path", "paths"},
		{"arg", "args arguments", "args"},
		{"cmd", "customer_id_md", ""}, // it is not how a word is shortened
		{"a", "alpha", ""},            // too little to go by
		{"ab", "abcdefghi", ""},
		{"query", "a_quite_useful_entry", ""},
		{"titel", "title text_in_the_table_of_elements", "title"},
	} {
		assert.Equal(t, Match(tc.word, strings.Fields(tc.candidates)), tc.want, tc.word+" of "+
			tc.candidates)
	}
}

// The same item of another server comes before another item of the same server.
func TestMatchItem(t *testing.T) {
	for _, tc := range []struct{ word, candidates, want string }{
		{"files__raed", "files__read files__list web__read", "files__read"},
		{"wrong__read", "wrong__road files__read", "files__read"},
		{"file__read", "web__read files__read", "files__read"},
		{"read", "files__list files__read", "files__read"},
		{"fs_read", "files__fs_list files__fs_read host_status", "files__fs_read"},
		{"files_raed", "files_read files_rate", "files_read"},
		{"wrong_read", "wrong_x files_read", "files_read"},
		{"wrong_read", "files_list web_list", ""},
		{"list_file", "list_files read_file", "list_files"},
		{"nothing", "files__read", ""},
	} {
		assert.Equal(t, MatchItem(tc.word, strings.Fields(tc.candidates)), tc.want, tc.word+" of "+
			tc.candidates)
	}
}

func TestEdits(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"abc", "abc", 0}, {"abc", "acb", 1},
		{"abcd", "badc", 2}, {"kitten", "sitting", 3}} {
		assert.Equal(t, edits(tc.a, tc.b), tc.want, tc.a+" "+tc.b)
	}
}

func TestInstead(t *testing.T) {
	names := []string{"name", "size"}
	assert.Equal(t, DidYouMeanItem("a__size", []string{"b__size"}), "did you mean b__size?")
	assert.Equal(t, DidYouMean("nmae", names), "did you mean name?")
	assert.Equal(t, DidYouMean("colour", names), "")
	assert.Equal(t, Instead("nmae", names), "did you mean name?")
	assert.Equal(t, Instead("colour", names), "there are name, size")
	assert.Equal(t, Instead("colour", nil), "")
	assert.Equal(t, Instead("colour", make([]string, 21)), "", "too many to list")
}
