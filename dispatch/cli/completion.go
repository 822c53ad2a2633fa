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

var shells = []string{"bash", "zsh", "fish"}

//go:embed completion.bash completion.zsh completion.fish
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
	script, err := scripts.ReadFile("completion." + args[0])
	if err != nil {
		return err
	}
	return s.print(s.fill(string(script)))
}

// fill replaces the placeholders of a script: PROGRAM by the words of the program name, COMMAND by
// the first of them, and FUNCTION by an identifier made of them.
func (s *surface) fill(script string) string {
	var program []string
	for word := range strings.FieldsSeq(s.Program) {
		program = append(program, shellwords.Quote(word))
	}
	function := strings.Map(func(r rune) rune {
		if 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, s.Program)
	return strings.NewReplacer("PROGRAM", strings.Join(program, " "), "COMMAND", program[0],
		"FUNCTION", function).Replace(script)
}

// completionManual returns the help of completionCommand.
func (s *surface) completionManual() string {
	return `usage: ` + s.Program + ` completion bash|zsh|fish

Print a script that completes operations, flags and values in a shell.

  bash  source <(` + s.Program + ` completion bash)
  zsh   source <(` + s.Program + ` completion zsh)
  fish  ` + s.Program + ` completion fish | source
`
}
