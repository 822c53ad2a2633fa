package hook

import (
	"os/exec"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/processgroup"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// Flag is a flag whose value is a command line; see [shellwords.CommandLine].
func Flag(target *[][]string, name, help string) command.Flag {
	return command.Flag{Name: name, Value: "COMMAND", Many: true, Help: help,
		Set: func(value string) error {
			words, err := shellwords.CommandLine(value)
			*target = append(*target, words)
			return err
		}}
}

// Check returns an error if a command of a flag cannot be found: each call would fail.
func Check(flag string, commands [][]string) error {
	for _, words := range commands {
		if _, err := exec.LookPath(words[0]); err != nil {
			return command.Usagef("%s: %q cannot be run: %v", flag, words[0],
				processgroup.Cause(err)).WithHint("write the path of the program")
		}
	}
	return nil
}
