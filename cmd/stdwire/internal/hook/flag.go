package hook

import (
	"os/exec"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/processgroup"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// A Program is the value of a flag: what is asked about calls.
type Program struct {
	words      []string // its command line
	persistent bool     // one process is asked about all calls
}

// Words returns the command line of the program.
func (p Program) Words() []string { return p.words }

// persistentPrefix begins the value of a flag for one process.
const persistentPrefix = "persistent:"

// Flag is a flag whose value is a command line (see [shellwords.CommandLine]), after
// persistentPrefix if one process is to be asked about all calls.
func Flag(target *[]Program, name, help string) command.Flag {
	return command.Flag{Name: name, Value: "COMMAND", Many: true, Help: help,
		Set: func(value string) (err error) {
			var p Program
			value, p.persistent = strings.CutPrefix(value, persistentPrefix)
			p.words, err = shellwords.CommandLine(value)
			*target = append(*target, p)
			return err
		}}
}

// Check returns an error if a command of a flag cannot be found: each call would fail.
func Check(flag string, programs []Program) error {
	for _, p := range programs {
		if _, err := exec.LookPath(p.words[0]); err != nil {
			return command.Usagef("%s: %q cannot be run: %v", flag, p.words[0],
				processgroup.Cause(err)).WithHint("write the path of the program")
		}
	}
	return nil
}
