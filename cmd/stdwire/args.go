package main

import (
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/near"
)

// A grammar is what may stand behind a command's name. Flags and words may come in any order, up to "--".
type grammar struct {
	flags   []flag
	word    func(word string) error // takes each argument that is no flag; nil: there are none
	rest    func(words []string)    // takes the first word and all that follows, flags or not, in place of word
	command func(words []string)    // takes what follows "--", at least one word; nil: nothing may
	more    runner                  // prints what the help cannot know beforehand; may be nil
}

// A flag is one option of a command. All may be given once, but for those that say many.
type flag struct {
	name     string // as it is written: "--root", "-o"
	value    string // what it takes, for the help; "" for a switch
	optional bool   // the value may be left out, and is set to "" then; it has to follow a "="
	help     string
	many     bool
	set      func(value string) error // the error says what is wrong with the value
}

const helpFlag, shortHelpFlag = "--help", "-h"

// parse reads a command's arguments. help says that nothing is to be done but to print the help. The error is a [*failure].
func (g *grammar) parse(args []string) (help bool, err error) {
	seen := map[string]bool{}
	for len(args) > 0 {
		arg := args[0]
		switch {
		case arg == "--":
			return help, g.parseCommand(args[1:])
		case arg == helpFlag || arg == shortHelpFlag:
			help = true
			args = args[1:]
		case len(arg) > 1 && arg[0] == '-':
			if args, err = g.parseFlag(args, seen); err != nil {
				return help, err
			}
		case g.rest != nil:
			g.rest(args)
			return help, nil
		case g.word == nil:
			return help, usagef("unexpected argument %q", arg).withHint(g.commandHint(args))
		default:
			if err := g.word(arg); err != nil {
				return help, err
			}
			args = args[1:]
		}
	}
	return help, nil
}

func (g *grammar) parseCommand(words []string) error {
	switch {
	case g.command == nil:
		return usagef("there is no server's command to give behind --")
	case len(words) == 0:
		return usagef("the server's command is missing behind --").withHint("to use stdwire's own server, leave out the --")
	}
	g.command(words)
	return nil
}

// parseFlag takes a flag, and its value, off args.
func (g *grammar) parseFlag(args []string, seen map[string]bool) ([]string, error) {
	name, value, hasValue := strings.Cut(args[0], "=")
	i := slices.IndexFunc(g.flags, func(f flag) bool { return f.name == name })
	if i < 0 {
		return nil, usagef("unknown flag %s", name).withHint(near.Instead(name, g.names()))
	}
	f := g.flags[i]
	args = args[1:]
	switch {
	case seen[name] && !f.many:
		return nil, usagef("%s is given twice", name)
	case f.value == "" && hasValue:
		return nil, usagef("%s takes no value", name)
	case f.value != "" && !hasValue && !f.optional:
		if len(args) == 0 {
			return nil, usagef("%s wants a value: %s %s", name, name, f.value)
		}
		value, args = args[0], args[1:]
	}
	seen[name] = true
	if err := f.set(value); err != nil {
		if already, ok := err.(*failure); ok {
			return nil, already
		}
		return nil, usagef("%s: %v", name, err)
	}
	return args, nil
}

func (g *grammar) names() []string {
	names := []string{helpFlag}
	for _, f := range g.flags {
		names = append(names, f.name)
	}
	return names
}

// commandHint is for who forgets the --.
func (g *grammar) commandHint(words []string) string {
	if g.command == nil {
		return ""
	}
	return "a server's command stands behind --: -- " + strings.Join(words, " ")
}

// toggle is a flag without a value.
func toggle(target *bool, name, help string) flag {
	return flag{name: name, help: help, set: func(string) error {
		*target = true
		return nil
	}}
}

// format is the flag -o. The first of the formats is the default.
func format(target *string, formats ...string) flag {
	*target = formats[0]
	return choice(target, "-o", "how to print (default "+formats[0]+")", formats...)
}

// choice is a flag whose value is one of a few.
func choice(target *string, name, help string, options ...string) flag {
	return flag{name: name, value: strings.Join(options, "|"), help: help, set: func(value string) error {
		if !slices.Contains(options, value) {
			return usagef("%s: %q is none of %s", name, value, strings.Join(options, ", ")).withHint(near.DidYouMean(value, options))
		}
		*target = value
		return nil
	}}
}

// duration is a flag whose value is a time; 0 becomes negative, which is for ever.
func duration(target *time.Duration, name, help string) flag {
	return flag{name: name, value: "DURATION", help: help + " (default " + shortDuration(*target) + ", 0: for ever)", set: func(value string) error {
		d, err := time.ParseDuration(value)
		switch {
		case err != nil:
			return usagef("%s: %q is no duration", name, value).withHint("write 500ms, 30s, 5m or 1h")
		case d < 0:
			return usagef("%s: %s is negative", name, value)
		case d == 0:
			d = -1
		}
		*target = d
		return nil
	}}
}
