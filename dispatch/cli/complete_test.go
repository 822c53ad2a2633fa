package cli_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch/cli"
)

func TestComplete(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		// words are separated by spaces, the last is to be completed
		{"", "note: Say how many notes there are|open: Take any arguments|test|completion: Print a script that completes commands in a shell|-: Run command lines from standard input"},
		{"n", "note: Say how many notes there are"},
		{"x", ""},
		{"test ", "fail: Fail|print: Return what is given|wait: Wait until cancelled"},
		{"test p", "print: Return what is given"},
		{"note archive ", "old: Put old notes away"},
		{"note a", "add: Add a note|archive"},
		{"note ", "add: Add a note|archive|--json: All arguments as one object"},
		{"note --", "--json: All arguments as one object|--help: Show help"},
		{"nope ", ""},
		{"-", "-: Run command lines from standard input|-o: How to print the result|--help: Show help"},
		{"-o ", "text|json"},
		{"-o j", "json"},
		{"-o=", "-o=text|-o=json"},
		{"-o json n", "note: Say how many notes there are"},
		{"completion ", "bash|zsh|fish|powershell"},
		{"completion f", "fish"},
		{"completion fish ", ""},
		{"completion fish -", ""},

		{"note add --ti", "--title: What the note is about"},
		{"note add --title ", ""},
		{"note add --title --done --d",
			"--done: Nothing is left to do|--dry_run: Only say what would happen"},
		{"note add --done --d", "--dry_run: Only say what would happen"},
		{"note add --dry-", "--dry-run: Only say what would happen"},
		{"note add --no", "--notify|--no-show"},
		{"note add --no-d",
			"--no-done: Nothing is left to do|--no-dry_run: Only say what would happen"},
		{"note add --tags a --t", "--title: What the note is about|--tags: Words to find it by"},
		{"note add --size.", "--size.width: In characters|--size.height"},
		{"note add --env", ""},
		{"note add --format ", "plain|markdown|html"},
		{"note add --format m", "markdown"},
		{"note add --format=m", "--format=markdown"},
		{"note add --format=", "--format=plain|--format=markdown|--format=html"},
		{"note add --priority ", "1|2|3"},
		{"note add --colours red --colours ", "red|green|blue"},
		{"note add --done=", "--done=true|--done=false"},
		{"note add --json ", ""},
		{"note add --json {} --js", ""},
		{"note add --unknown x --ti", "--title: What the note is about"},
		{"note add --unknown=", ""},
		{"note add milk --ti", "--title: What the note is about"},
		{"test wait --x=", ""},

		{"note archive old ", "--yes: Confirm in advance|--json: All arguments as one object"},
		{"note archive old --y", "--yes: Confirm in advance"},
		{"note archive old -y --", "--json: All arguments as one object|--help: Show help"},
		{"note archive old --yes=", ""},
		{"note add --y", ""},
		{"- ", ""},
		{"- -", "-o: How to print the result|--help: Show help"},
	} {
		t.Run(c.words, func(t *testing.T) {
			r := run(t, nil, append([]string{"__complete"}, strings.Split(c.words, " ")...)...)
			assert.Equal(t, r.code, 0)
			assert.Equal(t, r.err, "")
			assert.Equal(t, r.sent, "")
			assert.Equal(t, strings.ReplaceAll(strings.ReplaceAll(r.out, "\t", ": "), "\n", "|"),
				strings.TrimPrefix(c.want+"|", strings.Repeat("|", 1-min(1, len(c.want)))))
		})
	}
	assert.Equal(t, run(t, nil, "__complete").out, "")
}

// Of a program that is a command of another, the shell hands over that command too.
func TestCompleteBelowACommand(t *testing.T) {
	below := func(std *cli.IO) { std.Program = "box notes" }
	for _, c := range []struct{ words, want string }{
		{"notes o", "open\tTake any arguments\n"},
		{"notes -o t", "text\n"},
		{"notes", ""},
		{"other o", ""},
		{"", ""},
	} {
		assert.Equal(t, run(t, below,
			append([]string{"__complete"}, strings.Split(c.words, " ")...)...).out, c.want)
	}
}
