package man

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/topic"
)

// hardCommand returns a command whose texts have everything that roff would interpret.
func hardCommand() command.Command {
	return command.Command{
		Name: "hard case", Usage: `"A" [-x] 'B' \e…`, Summary: `print "quotes", 'more' and \fBslashes\fP`,
		Help: `.SH is no heading. 'tis neither, and ` + "`x`" + ` ~/^ stay.

  .TP
  'br  \n "quoted" --flag=~/x
  a - b
and no example.

Before an example:
  stdwire hard \(rs`,
		Make: func() (command.Grammar, command.Runner) {
			return command.Grammar{Flags: []command.Flag{
				{Name: "--to", Value: `"NAME"`, Help: ".ds is text, … too"},
				{Name: "-q", Help: "'quoted'"}}}, nil
		},
	}
}

func pages() []Page {
	return Pages(Build{Version: "1.0", Date: "2026-01-02"}, "Before.", "After.",
		command.Groups{{Title: "Use a server", Commands: command.Table{hardCommand()}}},
		[]topic.Topic{{Name: "config", Summary: "a topic",
			Text: "a topic\n\nA paragraph.\n\nA heading\n\n    $ stdwire x\n    .y\n\nNo heading:\n\n  x\n"}})
}

func TestPages(t *testing.T) {
	var b strings.Builder
	for _, p := range pages() {
		b.WriteString("==== " + p.File() + "\n" + p.Text)
	}
	golden.Assert(t, b.String(), "pages.golden")
}

// mandoc and groff report nothing.
func TestLint(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for _, p := range pages() {
		file := filepath.Join(dir, filepath.Base(p.File()))
		assert.NilError(t, os.WriteFile(file, []byte(p.Text), 0o600))
		files = append(files, file)
	}
	for _, linter := range [][]string{{"mandoc", "-Tlint", "-Wwarning"},
		{"groff", "-man", "-Tutf8", "-ww", "-z"}} {
		if _, err := exec.LookPath(linter[0]); err != nil {
			t.Logf("%s is not installed", linter[0])
			continue
		}
		for _, file := range files {
			out, err := exec.Command(linter[0], append(linter[1:], file)...).CombinedOutput()
			assert.Check(t, err == nil && len(out) == 0, "%v: %v\n%s", linter, err, out)
		}
	}
	if _, err := exec.LookPath("mandoc"); err != nil {
		return
	}
	out, err := exec.Command("mandoc", "-Tutf8", "-O", "width=100", files[1]).Output()
	assert.NilError(t, err)
	plain := removeOverstrikes(string(out))
	for _, want := range []string{`stdwire hard case "A" [-x] 'B' \e…`, ".SH is no heading.",
		"'tis neither, and `x` ~/^ stay.", `.TP`, `'br  \n "quoted" --flag=~/x`,
		`stdwire hard \(rs`, `--to "NAME"`, ".ds is text, … too", "'quoted'",
		`print "quotes", 'more' and \fBslashes\fP`} {
		assert.Check(t, strings.Contains(plain, want), "%s\n%s", want, plain)
	}
}

// removeOverstrikes removes the overstruck characters by which mandoc prints bold text.
func removeOverstrikes(text string) string {
	var all []rune
	for _, c := range text {
		if c == '\b' {
			all = all[:len(all)-1]
			continue
		}
		all = append(all, c)
	}
	return string(all)
}
