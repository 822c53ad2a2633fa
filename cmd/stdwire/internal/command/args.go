// Package command parses command lines: commands with their flags, arguments and help, subcommands,
// failures with their exit codes, and signals.
//
// A [Command] describes itself. Its Make function returns a [Grammar], which parses the arguments,
// and a [Runner], which runs the command with them. A Runner returns a [*Failure], which names the
// server, the cause and the remedy, and has an exit code (see [ExitCodes]).
package command

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/near"
)

// A Grammar describes the arguments of a command. Flags and words may come in any order, up to
// "--".
type Grammar struct {
	Flags []Flag
	// Word is called with each argument that is not a flag. If it is nil, such an argument is an
	// error.
	Word func(word string) error
	// Argument, with %s for its name, says how an argument is written that was given as a flag.
	Argument string
	// Rest, in place of Word, is called with the first word and all arguments after it.
	Rest func(words []string)
	// Subcommands are the commands that the first word may name, for completion.
	Subcommands Subcommands
	// Connection is called with the first argument that is not a flag and begins with "@", without
	// its "@". If it is nil, that is an argument like others.
	Connection func(name string) error
	// Address is called with each argument that is not a flag, before Word. If it returns true, the
	// argument is the address of a server, such as a URL. It may be nil.
	Address func(word string) (bool, error)
	// IsServer reports whether an unexpected argument is the id of a configured server, which
	// follows -s. It may be nil.
	IsServer func(word string) bool
	// Command is called with the words after "--", at least one. If it is nil, "--" is an error.
	Command func(words []string)
	// Check is called with the flags that were given, once all arguments are parsed, and returns an
	// error if one has no effect with the others. It may be nil.
	Check func(given Given) error
	More  Runner // prints help after that of the flags; may be nil
}

// A Flag is an option of a command. It may be given once, unless Many is set.
type Flag struct {
	Name        string // as it is written: "--root", "-o"
	Value       string // a name for the value, for the help; "" for a switch
	Optional    bool   // the value may be omitted and is "" then; it must follow "="
	Help        string
	Synonyms    []string // names that other programs use for it; they are hints only
	Switch      string   // a switch that stands for the flag with SwitchValue; "" if there is none
	SwitchValue string
	Many        bool
	Set         func(value string) error // the error is the reason to refuse the value
}

// HelpFlag and ShortHelpFlag print the help of a command.
const HelpFlag, ShortHelpFlag = "--help", "-h"

// Given is the names of the flags that were given, in their order.
type Given []string

// Except returns the first given flag that is not among names, or "".
func (g Given) Except(names ...string) string {
	for _, name := range g {
		if !slices.Contains(names, name) {
			return name
		}
	}
	return ""
}

// FirstGiven returns the name of the first flag whose value, which follows its name, is not "". It
// returns "" if there is none.
func FirstGiven(namesAndValues ...string) string {
	for pair := range slices.Chunk(namesAndValues, 2) {
		if pair[1] != "" {
			return pair[0]
		}
	}
	return ""
}

// Parse parses the arguments of a command. help reports that --help or -h is among them. The error
// is a [*Failure].
func (g *Grammar) Parse(args []string) (help bool, err error) {
	var given Given
	if help, err = g.parse(args, &given); err == nil && !help && g.Check != nil {
		err = g.Check(given)
	}
	return help, err
}

func (g *Grammar) parse(args []string, given *Given) (help bool, err error) {
	connection := g.Connection // nil after it has been called
	for len(args) > 0 {
		arg := args[0]
		switch {
		case arg == "--":
			return help, g.parseCommand(args[1:])
		case arg == HelpFlag || arg == ShortHelpFlag:
			help = true
			args = args[1:]
		case len(arg) > 1 && arg[0] == '-':
			if args, err = g.parseFlag(args, given); err != nil {
				return help, err
			}
		case connection != nil && arg[:min(1, len(arg))] == "@":
			if err := connection(arg[1:]); err != nil {
				return help, err
			}
			connection, args = nil, args[1:]
		case g.isAddress(arg, &err):
			if err != nil {
				return help, err
			}
			args = args[1:]
		case g.Rest != nil:
			g.Rest(args)
			return help, nil
		case g.Word == nil:
			return help, Usagef("unexpected argument %q", arg).WithHint(g.commandHint(args))
		default:
			if err := g.Word(arg); err != nil {
				return help, err
			}
			args = args[1:]
		}
	}
	return help, nil
}

// isAddress reports whether an argument is the address of a server, or looks like one that is
// wrong: then it sets err.
func (g *Grammar) isAddress(arg string, err *error) (is bool) {
	if g.Address != nil {
		is, *err = g.Address(arg)
	}
	return is || *err != nil
}

func (g *Grammar) parseCommand(words []string) error {
	switch {
	case g.Command == nil:
		return Usagef("this command takes no server command after --")
	case len(words) == 0:
		return Usagef("the server command is missing after --").WithHint(
			"to use stdwire's own server, leave out the --")
	}
	g.Command(words)
	return nil
}

// parseFlag parses a flag and its value and returns the arguments after them.
func (g *Grammar) parseFlag(args []string, given *Given) ([]string, error) {
	name, value, hasValue := strings.Cut(args[0], "=")
	i := slices.IndexFunc(g.Flags,
		func(f Flag) bool { return f.Name == name || f.Switch != "" && f.Switch == name })
	if i < 0 {
		return nil, Usagef("unknown flag %s", name).WithHint(g.flagHint(name))
	}
	f := g.Flags[i]
	args = args[1:]
	if f.Switch == name && !hasValue {
		name, value, hasValue = f.Name, f.SwitchValue, true
	}
	switch {
	case slices.Contains(*given, name) && !f.Many:
		return nil, Usagef("%s is given twice", name)
	case (f.Value == "" || f.Switch == name) && hasValue:
		return nil, Usagef("%s takes no value", name)
	case f.Value != "" && !hasValue && !f.Optional:
		if len(args) == 0 {
			return nil, Usagef("%s wants a value: %s %s", name, name, f.Value)
		}
		value, args = args[0], args[1:]
	}
	*given = append(*given, name)
	if err := f.Set(value); err != nil {
		if already, ok := err.(*Failure); ok {
			return nil, already
		}
		return nil, Usagef("%s: %v", name, err)
	}
	return args, nil
}

// flagHint is the hint for an unknown flag, which may also be meant as an argument.
func (g *Grammar) flagHint(name string) string {
	for _, f := range g.Flags {
		if slices.Contains(f.Synonyms, name) {
			return "did you mean " + strings.TrimSpace(f.Name+" "+f.Value) + "?"
		}
	}
	hint := near.DidYouMean(name, g.names())
	if g.Argument == "" {
		return hint
	}
	argument := fmt.Sprintf(g.Argument, strings.TrimLeft(name, "-"))
	if hint == "" {
		return argument
	}
	return argument + "; among the flags, " + hint
}

func (g *Grammar) names() []string {
	names := []string{HelpFlag}
	for _, f := range g.Flags {
		names = append(names, f.Name)
	}
	return names
}

// commandHint is the hint for a server's id without -s, or its command without "--" before it.
func (g *Grammar) commandHint(words []string) string {
	switch {
	case g.IsServer != nil && g.IsServer(words[0]):
		return "did you mean -s " + words[0] + "?"
	case g.Command == nil:
		return ""
	}
	return "a server command follows --: -- " + strings.Join(words, " ")
}

// Arguments returns a function for [Grammar].Word that stores the arguments in targets, in this
// order. It refuses an empty argument, and one more than there are targets.
func Arguments(targets ...*string) func(word string) error {
	return func(word string) error {
		i := slices.IndexFunc(targets, func(target *string) bool { return *target == "" })
		switch {
		case i < 0:
			return Usagef("unexpected argument %q", word)
		case word == "":
			return Usagef("an argument is empty")
		}
		*targets[i] = word
		return nil
	}
}

// RecordFlags makes flags append themselves to args when they are set, for another process that is
// started with the same flags.
func RecordFlags(args *[]string, flags ...Flag) []Flag {
	for i := range flags {
		f := flags[i]
		flags[i].Set = func(value string) error {
			arg := f.Name
			if f.Value != "" && (value != "" || !f.Optional) {
				arg += "=" + value
			}
			*args = append(*args, arg)
			return f.Set(value)
		}
	}
	return flags
}

// SwitchFlag is a flag without a value, which sets target.
func SwitchFlag(target *bool, name, help string) Flag {
	return Flag{Name: name, Help: help, Set: func(string) error {
		*target = true
		return nil
	}}
}

// NumberFlag is a flag whose value is a whole number from least to most.
func NumberFlag(target *int, name, value string, least, most int, help string) Flag {
	return Flag{Name: name, Value: value, Help: help, Set: func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return Usagef("%s: %q is not a whole number from %d to %d", name, text, least, most)
		}
		*target = n
		return nil
	}}
}

// TextFlag is a flag whose value is a text that is not empty.
func TextFlag(target *string, name, value, help string) Flag {
	return Flag{Name: name, Value: value, Help: help, Set: func(text string) error {
		if text == "" {
			return errors.New("the value is empty")
		}
		*target = text
		return nil
	}}
}

// FileFlag is a flag whose value is the path of a file.
func FileFlag(target *string, name, help string) Flag {
	return Flag{Name: name, Value: "FILE", Help: help, Set: func(value string) error {
		if value == "" {
			return errors.New("the name of a file is missing")
		}
		*target = value
		return nil
	}}
}

// jsonSwitch is the switch that stands for -o json.
const jsonSwitch = "--json"

// FormatFlag is the flag -o, with --json beside it if that is a format. The first of the formats is
// the default.
func FormatFlag(target *string, formats ...string) Flag {
	*target = formats[0]
	f := ChoiceFlag(target, "-o", "how to print (default "+formats[0]+")", formats...)
	f.Synonyms = []string{"--output", "--format"}
	if slices.Contains(formats, "json") {
		f.Switch, f.SwitchValue = jsonSwitch, "json"
		f.Help += "; " + jsonSwitch + " is -o json"
	}
	return f
}

// ChoiceFlag is a flag whose value is one of options.
func ChoiceFlag(target *string, name, help string, options ...string) Flag {
	return Flag{Name: name, Value: strings.Join(options, "|"), Help: help,
		Set: func(value string) error {
			if err := CheckChoice(value, options...); err != nil {
				err.Why = name + ": " + err.Why
				return err
			}
			*target = value
			return nil
		}}
}

// CheckChoice returns a usage failure unless word is one of options.
func CheckChoice(word string, options ...string) *Failure {
	if slices.Contains(options, word) {
		return nil
	}
	return Usagef("%q is not one of %s", word, strings.Join(options, ", ")).
		WithHint(near.DidYouMean(word, options))
}

// DurationFlag is a flag whose value is a duration. It sets target to -1, for no limit, if the
// value is 0.
func DurationFlag(target *time.Duration, name, help string) Flag {
	return Flag{Name: name, Value: "DURATION", Help: help + " (default " + ShortDuration(*target) +
		", 0: for ever)", Set: func(value string) error {
		d, err := time.ParseDuration(value)
		switch {
		case err != nil:
			return Usagef("%s: %q is not a duration", name,
				value).WithHint("write 500ms, 30s, 5m or 1h")
		case d < 0:
			return Usagef("%s: %s is negative", name, value)
		case d == 0:
			d = -1
		}
		*target = d
		return nil
	}}
}
