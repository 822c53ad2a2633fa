package cli

import (
	"embed"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// completionCommand is a command beside the operations, unless the catalog has an operation of that
// name.
const completionCommand = "completion"

var shells = []string{"bash", "zsh", "fish", "powershell"}

//go:embed completion.bash completion.zsh completion.fish completion.powershell
var scripts embed.FS

func (s *surface) isCompletion(words []string) bool {
	return len(words) > 0 && words[0] == completionCommand && !s.has(completionCommand)
}

// printScript prints the completion script for a shell.
func (s *surface) printScript(args []string) error {
	if len(args) != 1 || !slices.Contains(shells, args[0]) {
		return dispatch.Errorf(dispatch.InvalidInput, "name a shell: %s",
			strings.Join(shells, ", "))
	}
	script, err := CompletionScript(s.Program, args[0])
	if err != nil {
		return err
	}
	return s.print(script)
}

// CompletionScript returns a script for a shell, which is bash, zsh, fish or powershell, that
// completes the words after program. The script runs program with the argument __complete and the
// typed words, of which it completes the last, which may be empty. The program prints one candidate
// a line, optionally followed by a tab and an explanation; the shell adds a blank, unless a
// candidate ends in "=", "." or "/". If there is none, the shell completes the names of files.
func CompletionScript(program, shell string) (string, error) {
	if !slices.Contains(shells, shell) {
		return "", dispatch.Errorf(dispatch.InvalidInput, "there is no completion for the shell %q; there is for %s",
			shell, strings.Join(shells, ", "))
	}
	script, err := scripts.ReadFile("completion." + shell)
	return fill(string(script), program), err
}

// fill replaces the placeholders of a script: PROGRAM by the words of the program name, COMMAND by
// the first of them, and FUNCTION by an identifier made of them.
func fill(script, name string) string {
	var program []string
	for word := range strings.FieldsSeq(name) {
		program = append(program, shellwords.Quote(word))
	}
	function := strings.Map(func(r rune) rune {
		if 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, name)
	return strings.NewReplacer("PROGRAM", strings.Join(program, " "), "COMMAND", program[0],
		"FUNCTION", function).Replace(script)
}

// completionManual returns the help of completionCommand.
func (s *surface) completionManual() string {
	return `usage: ` + s.Program + ` completion bash|zsh|fish|powershell

Print a script that completes operations, flags and values in a shell.

  bash  source <(` + s.Program + ` completion bash)
  zsh   source <(` + s.Program + ` completion zsh)
  fish  ` + s.Program + ` completion fish | source
  powershell
        ` + s.Program + ` completion powershell | Out-String | Invoke-Expression
`
}
