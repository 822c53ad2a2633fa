package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/topic"
	"github.com/stdwire/stdwire/internal/printable"
	"gotest.tools/v3/assert"
)

// The pages are at most 80 columns wide, name existing commands and flags, and show the real
// output.
func TestTopics(t *testing.T) {
	flags := helpFlags(t)
	for _, name := range []string{"--path", "--from-literal", "--from-file"} { // of other programs
		flags[name] = true
	}
	for _, page := range topic.All() {
		t.Run(page.Name, func(t *testing.T) {
			got := run(t, "help", page.Name)
			assert.Equal(t, got.code, 0)
			assert.Assert(t, strings.HasSuffix(got.stdout, page.Text))
			for line := range strings.Lines(got.stdout) {
				assert.Check(t, utf8.RuneCountInString(
					strings.TrimSuffix(line, "\n")) <= printable.Width, line)
			}
			prose := strings.Join(strings.Fields(page.Text), " ")
			for _, name := range regexp.MustCompile(`--[a-z][a-z-]*`).FindAllString(prose, -1) {
				assert.Check(t, flags[name], "no command has %s", name)
			}
			for _, m := range regexp.MustCompile(`stdwire ([a-z]+)`).FindAllStringSubmatch(prose,
				-1) {
				verbs := []string{"a", "or", "reads", "prints", "defends", "ends", "asks", "acts",
					"is", "does"}
				if !slices.Contains(verbs, m[1]) {
					_, err := commands().Find(m[1])
					assert.Check(t, err == nil, m[0])
				}
			}
			t.Chdir(t.TempDir())
			ownHome(t)
			checkTranscripts(t, page.Text)
		})
	}
	overview := run(t, "help").stdout
	for _, page := range topic.All() {
		assert.Check(t, strings.Contains(overview, page.Name), page.Name)
	}
	assert.Equal(t, run(t, "help", "security", "again").code, 2)
	got := run(t, "help", "securty")
	assert.Equal(t, got.code, 2)
	assert.Assert(t, strings.Contains(got.stderr, `did you mean "security"?`) ||
		strings.Contains(got.stderr, "did you mean security?"), got.stderr)
}

// helpFlags returns the flags that the help of the commands and their subcommands lists.
func helpFlags(t *testing.T) map[string]bool {
	flags := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		text := run(t, append(strings.Fields(name), "--help")...).stdout
		for _, m := range regexp.MustCompile(`(?m)^  (--[a-z-]+)`).FindAllStringSubmatch(text, -1) {
			flags[m[1]] = true
		}
		subcommands := regexp.MustCompile(`(?m)^  stdwire (` + name + ` [a-z]+)   `)
		for _, m := range subcommands.FindAllStringSubmatch(text, -1) {
			add(m[1])
		}
	}
	for _, name := range commands().Names() {
		add(name)
	}
	return flags
}

// checkTranscripts runs the commands of a text, which are the lines that begin with four spaces and
// "$ stdwire", and compares their output with the lines below. There … stands for any characters,
// and a line of … for any lines. "$ cat FILE" writes the lines below to the file, with the path of
// this program for the command "stdwire".
func checkTranscripts(t *testing.T, text string) {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		words, isCommand := strings.CutPrefix(line, "    $ stdwire ")
		file, isFile := strings.CutPrefix(line, "    $ cat ")
		if !isCommand && !isFile {
			continue
		}
		var want []string
		for _, next := range lines[i+1:] {
			next, indented := strings.CutPrefix(next, "    ")
			if !indented || strings.HasPrefix(next, "$ ") {
				break
			}
			want = append(want, next)
		}
		if isFile {
			path, err := json.Marshal(self)
			assert.NilError(t, err)
			content := strings.ReplaceAll(strings.Join(want, "\n"), `"command": "stdwire"`,
				`"command": `+string(path))
			assert.NilError(t, os.WriteFile(file, []byte(content), 0o600))
			continue
		}
		args := strings.Fields(words)
		for i := range args {
			if i > 0 && args[i] == "stdwire" {
				args[i] = self
			}
		}
		got := run(t, args...)
		pattern := ""
		for _, w := range want {
			if w == "…" {
				pattern += `(?s:.*)`
				continue
			}
			pattern += strings.ReplaceAll(regexp.QuoteMeta(w), "…", ".*") + `\n`
		}
		printed := regexp.MustCompile(`(?m) +$`).ReplaceAllString(got.stdout+got.stderr, "")
		matched := regexp.MustCompile(`^` + pattern + `$`).MatchString(printed)
		assert.Check(t, matched, "%s\nprints\n%s\nand the page says\n%s", line, printed,
			strings.Join(want, "\n"))
	}
}
