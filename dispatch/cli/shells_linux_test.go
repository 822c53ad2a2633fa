package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// The scripts are tried in the shells themselves, as far as they are there.

// A completion is a command line with the cursor at its end, and what the shell says it may become:
// words, or what stands in for the last part of one.
type completion struct {
	line string
	want []string
}

var completions = []completion{
	{"notes te", []string{"test"}},
	{"notes test ", []string{"fail", "print", "wait"}},
	{"notes ", []string{"-", "completion", "note", "open", "test"}},
	{"notes completion ", []string{"bash", "fish", "powershell", "zsh"}},
	{"notes note archive old --y", []string{"--yes"}},
	{"notes note add --dr", []string{"--dry_run"}},
	{"notes note add --dry-", []string{"--dry-run"}},
	{"notes note add --title 'two words' --format m", []string{"markdown"}},
	{"notes note add --title a=b:c@d --format m", []string{"markdown"}},
	{"notes note add --size.h", []string{"--size.height"}},
	{"notes note add --colours red --colours ", []string{"blue", "green", "red"}},
	{"notes note add --format=m", []string{"--format=markdown"}},
	{"notes note add --format=", []string{"--format=html", "--format=markdown", "--format=plain"}},
	{"notes note add --title REA", []string{"README.md"}},
	{"notes note add --title=REA", []string{"--title=README.md"}},
	{"notes note add --title @REA", []string{"@README.md"}},
	{"box notes te", []string{"test"}},
	{"box notes note add --format=m", []string{"--format=markdown"}},
	{"box other REA", []string{"README.md"}},
}

// scene makes a directory with the programs "notes" and "box notes" and a file, and returns it and
// an environment to find them in.
func scene(t *testing.T) (dir string, env []string) {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	dir = t.TempDir()
	for name, program := range map[string]string{"notes": `set -- "$0" "$@"; name=notes`,
		"box": `[ "$1" = notes ] || exit 9; name='box notes'`} {
		script := fmt.Sprintf("#!/bin/sh\n%s\nshift\n%s=$name exec %s \"$@\"\n", program, asProgram,
			self)
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700))
	}
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "README.md"), nil, 0o600))
	return dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir, "TERM=dumb",
		"LC_ALL=C.UTF-8",
		"GORACE=atexit_sleep_ms=0") // or a program that looks for races takes a second to end
}

// In bash and zsh somebody has to press a key.
func TestBashAndZsh(t *testing.T) {
	for _, sh := range []struct{ name, args, setup, key string }{
		{"bash", "--norc --noprofile -i", `PS1=; bind 'set enable-bracketed-paste off'`, "\x1b*"},
		{"zsh", "-f -i", `PS1=; autoload -Uz compinit; compinit -u -D; bindkey -e
zle -C all complete-word _generic; bindkey '\e*' all; zstyle ':completion:all::::' completer _all_matches _complete; zstyle ':completion:*' insert true`, "\x1b*"},
	} {
		t.Run(sh.name, func(t *testing.T) {
			path, err := exec.LookPath(sh.name)
			if err != nil {
				t.Skipf("there is no %s", sh.name)
			}
			cmd := exec.Command(path, strings.Fields(sh.args)...)
			cmd.Dir, cmd.Env = scene(t)
			setup := sh.setup +
				fmt.Sprintf("; source <(notes completion %[1]s); source <(box notes completion %[1]s)",
					sh.name)
			assert.NilError(t, os.WriteFile(filepath.Join(cmd.Dir, "setup"), []byte(setup), 0o600))
			term := newTerminal(t, cmd)
			term.run("source ./setup\r", "")
			for _, c := range completions {
				t.Run(c.line, func(t *testing.T) {
					term.t = t
					before := strings.Count(strings.ReplaceAll(c.line, "two words", ""), " ")
					got, want := term.run(c.line, sh.key)[before:], slices.Clone(c.want)
					for i := 1; i < len(want) && sh.name == "bash"; i++ {
						// the key puts what is before only once
						want[i] = want[i][strings.LastIndexAny(want[i], "=@")+1:]
					}
					assert.DeepEqual(t, got, want)
				})
			}
		})
	}
}

// Fish says what it would offer.
func TestFish(t *testing.T) {
	path, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("there is no fish")
	}
	dir, env := scene(t)
	for _, c := range completions {
		t.Run(c.line, func(t *testing.T) {
			cmd := exec.Command(path, "--no-config", "-c",
				"notes completion fish | source; box notes completion fish | source; complete -C $argv[1]",
				c.line)
			cmd.Dir, cmd.Env = dir, env
			out, err := cmd.CombinedOutput()
			assert.NilError(t, err, "%s", out)
			var words []string
			for line := range strings.Lines(string(out)) {
				word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
				words = append(words, word)
			}
			slices.Sort(words)
			assert.DeepEqual(t, words, c.want)
		})
	}
}
