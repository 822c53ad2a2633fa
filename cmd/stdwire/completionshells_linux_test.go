package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/completion"
)

// The scripts ask this program in the shells themselves. dispatch/cli tests them with keys.
var shellScripts = map[string]string{
	// $1 is the line, $2 its words as bash splits them.
	"bash": `compopt() { :; }
source <(stdwire completion bash)
COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=($2)
[[ $1 == *' ' ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_stdwire
printf '%s\n' "${COMPREPLY[@]}"`,
	"zsh": `compdef() { :; }
_files() { print -l FILES; }
compset() { :; }
compadd() { while [[ $1 != -a ]]; do shift; done; print -lr -- ${(P)2}; }
eval "$(stdwire completion zsh)"
words=(${=1}); [[ $1 == *' ' ]] && words+=("")
CURRENT=$#words PREFIX=$words[-1]
_stdwire`,
	"fish": `stdwire completion fish | source; complete -C $argv[1]`,
}

func TestCompletionInShells(t *testing.T) {
	self, err := os.Executable()
	assert.NilError(t, err)
	bin := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(bin, "stdwire"),
		[]byte(fmt.Sprintf("#!/bin/sh\nexec %s \"$@\"\n", self)), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	commandtest.Project(t, map[string]string{"mine.json": `{"servers": {"files": {"command": "x"}}}`})
	for name, script := range shellScripts {
		t.Run(name, func(t *testing.T) {
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("there is no %s", name)
			}
			for _, c := range []struct {
				line, split string // split as bash does
				want        []string
			}{
				{"stdwire insp", "", []string{"inspect"}},
				{"stdwire task ", "", []string{"cancel", "get", "list"}},
				{"stdwire call fs_r", "", []string{"fs_read"}},
				{"stdwire call fs_list rec", "", []string{"recursive="}},
				{"stdwire call fs_list recursive=f", "stdwire call fs_list recursive = f",
					[]string{"recursive=false"}},
				{"stdwire ls --era=le", "stdwire ls --era = le", []string{"--era=legacy"}},
				{"stdwire ls --config mine.json -s ", "", []string{"files"}},
			} {
				split := cmp.Or(c.split, c.line)
				args := map[string][]string{
					"bash": {"--norc", "-c", script, name, c.line, split},
					"zsh":  {"-f", "-c", script, name, c.line},
					"fish": {"--no-config", "-c", script, c.line}}[name]
				want := slices.Clone(c.want)
				if c.split != "" && name == "bash" { // which replaces what is after the =
					_, want[0], _ = strings.Cut(want[0], "=")
				}
				var words []string
				for range 20 { // a busy machine may not have the time that a completion may take
					began := time.Now()
					out, err := exec.Command(path, args...).CombinedOutput()
					assert.NilError(t, err, "%s: %s", c.line, out)
					words = nil
					for line := range strings.Lines(string(out)) {
						word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
						words = append(words, word)
					}
					slices.Sort(words)
					if slices.Equal(words, want) || time.Since(began) < completion.Timeout {
						break
					}
				}
				assert.DeepEqual(t, words, want)
			}
		})
	}
}

// PowerShell is not here; its script is that of dispatch/cli.
func TestCompletionForPowerShell(t *testing.T) {
	got := run(t, "completion", "powershell")
	assert.Equal(t, got.code, 0)
	for _, part := range []string{
		"Register-ArgumentCompleter -Native -CommandName 'stdwire' -ScriptBlock {",
		"& $program @words __complete @typed 2>$null",
		"CompletionResult]::new(",
	} {
		assert.Assert(t, strings.Contains(got.stdout, part), part)
	}
	assert.Assert(t, !strings.Contains(got.stdout, "PROGRAM") && !strings.Contains(got.stdout, "COMMAND"), got.stdout)
	assert.Equal(t, strings.Count(got.stdout, "{"), strings.Count(got.stdout, "}"))
	assert.Equal(t, strings.Count(got.stdout, "("), strings.Count(got.stdout, ")"))
	for _, args := range [][]string{{"completion"}, {"completion", "tcsh"}, {"completion", "bash", "x"}} {
		assert.Equal(t, run(t, args...).code, 2, args)
	}
}
