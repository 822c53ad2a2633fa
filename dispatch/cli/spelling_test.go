package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch/cli"
)

// A property is given as a flag or as a word, with the same rules.
func TestSpellings(t *testing.T) {
	for _, tc := range []struct{ flags, words string }{
		{"--title a --count 3", "title=a count=3"},
		{"--title a --tags x --tags y", "title=a tags=x tags=y"},
		{`--title a --tags:=["x"]`, `title=a tags:=["x"]`},
		{"--title a --size.width 1", "title=a size.width=1"},
		{"--title a=b", "title=a=b"},
		{`--json {"title":"a"} --count 3`, `-d {"title":"a"} count=3`},
	} {
		args := strings.Fields("note add " + tc.flags)
		want := run(t, nil, args...)
		assert.Assert(t, want.sent != "", want.err)
		got := run(t, nil, strings.Fields("note add "+tc.words)...)
		assert.Equal(t, got.sent, want.sent, got.err)
	}
	r := run(t, nil, "-", "a=b")
	assert.Equal(t, r.code, 2, "a word after - is not dropped")
	for _, tc := range []struct{ words, want string }{
		{"note add title=a count=many",
			`notes: note add: invalid_input: --count must be an integer, not "many"`},
		{"note add titel=a",
			"notes: note add: invalid_input: unknown flag --titel; did you mean --title?"},
		{"note add title=a =b",
			`notes: note add: invalid_input: unexpected argument "=b"; did you mean --title "=b"?`},
	} {
		r := run(t, nil, strings.Fields(tc.words)...)
		assert.Equal(t, r.code, 2)
		assert.Equal(t, r.err, tc.want+"\n")
	}
}

// A file may hold a value of any type.
func TestFilesOfAnyType(t *testing.T) {
	file := filepath.Join(t.TempDir(), "count")
	assert.NilError(t, os.WriteFile(file, []byte("3\n"), 0o600))
	r := run(t, nil, "note", "add", "title=a", "count=@"+file)
	assert.Equal(t, r.sent, `{"title":"a","count":3}`, r.err)
}

// The beginning of an operation's name lists the operations.
func TestPrefixLists(t *testing.T) {
	r := run(t, nil, "note", "archive")
	assert.Equal(t, r.code, 0, r.err)
	assert.Equal(t, r.out, run(t, nil, "note", "archive", "--help").out)
}

func TestFlagOfTheProgram(t *testing.T) {
	before := func(std *cli.IO) { std.Before = []string{"--root", "--write"} }
	for args, want := range map[string]string{
		"note add --title a --root x":  "unknown flag --root; it belongs before the operation: notes --root … note add",
		"note add --title a --rooot x": "unknown flag --rooot; did you mean --root?",
		"note add --title a --zzz":     "unknown flag --zzz; notes note add --help lists the flags",
	} {
		r := run(t, before, strings.Fields(args)...)
		assert.Equal(t, r.err, "notes: note add: invalid_input: "+want+"\n")
		assert.Equal(t, r.code, 2)
	}
}
