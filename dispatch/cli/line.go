package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// A line is a parsed command line.
type line struct {
	words     []string // of the operation's name
	op        *dispatch.Operation
	given     []given
	whole     *string // of --json
	output    string  // of -o
	help      bool
	yes       bool   // confirmed from the start
	readInput bool   // a flag read standard input
	wants     string // the last argument, if it is a flag whose value is missing
}

// given is a flag with its value.
type given struct {
	flag
	text  string
	isRaw bool // text is JSON, after :=
}

func (l *line) name() string { return strings.Join(l.words, ".") }

// parse parses arguments. It returns the first error but continues after it, because -o, which
// decides how the error is printed, may follow.
func (s *surface) parse(args []string) (*line, error) {
	l := &line{output: s.output}
	var first error
	settled := false // the words are complete and op is looked up
	settle := func() (err error) {
		if !settled {
			settled = true
			l.op, err = s.resolve(l)
		}
		return err
	}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		var err error
		switch name, text, hasText := strings.Cut(arg, "="); {
		case arg == helpFlag || arg == shortHelpFlag:
			l.help = true
		case name == outputFlag:
			if text, args, err = l.operand(name, text, hasText, args); err == nil {
				err = l.setOutput(text)
			}
		case len(arg) > 1 && arg[0] == '-':
			if err = settle(); err != nil {
				break
			}
			if l.op == nil {
				err = dispatch.Errorf(dispatch.InvalidInput, "unknown flag %s", name)
				break
			}
			args, err = s.parseFlag(l, name, text, hasText, args)
		case hasText && isName(strings.TrimSuffix(name, ":")) && len(l.words) > 0:
			switch err = settle(); {
			case err != nil:
			case l.op == nil:
				l.words = append(l.words, arg)
			default:
				args, err = s.parseFlag(l, "--"+name, text, hasText, args)
			}
		case !settled:
			l.words = append(l.words, arg)
		case l.op != nil:
			err = l.unexpected(arg)
		}
		first = cmp.Or(first, err)
	}
	if err := settle(); first == nil {
		first = err
	}
	return l, first
}

// operand returns the value of a flag that requires one, and the arguments after it.
func (l *line) operand(name, text string, hasText bool, args []string) (string, []string, error) {
	switch {
	case hasText:
		return text, args, nil
	case len(args) == 0:
		l.wants = name
		return "", nil, dispatch.Errorf(dispatch.InvalidInput, "%s wants a value", name)
	}
	return args[0], args[1:], nil
}

func (l *line) setOutput(name string) error {
	if !slices.Contains(outputs, name) {
		return dispatch.Errorf(dispatch.InvalidInput, "%s: %q is not one of %s", outputFlag, name,
			strings.Join(outputs, ", "))
	}
	l.output = name
	return nil
}

// parseFlag parses a flag of the operation and its value, and returns the arguments after them.
func (s *surface) parseFlag(l *line, name, text string, hasText bool,
	args []string) ([]string, error) {
	var err error
	if name == wholeFlag || name == shortWholeFlag {
		if l.whole != nil {
			return args, dispatch.Errorf(dispatch.InvalidInput, "%s is given twice", wholeFlag)
		}
		text, args, err = l.operand(name, text, hasText, args)
		l.whole = &text
		return args, err
	}
	if l.op.Destructive() && (name == yesFlag || name == shortYesFlag) {
		if hasText {
			return args, dispatch.Errorf(dispatch.InvalidInput, "%s takes no value", name)
		}
		l.yes = true
		return args, nil
	}
	g := given{text: text}
	if hasText {
		name, g.isRaw = strings.CutSuffix(name, ":")
	}
	input := shapeOf(l.op)
	if input.isReserved(name) {
		return args, dispatch.Errorf(dispatch.InvalidInput,
			"%s is reserved; give the property of that name in %s", name, wholeFlag)
	}
	bare, long := strings.CutPrefix(name, "--")
	var known bool
	if long {
		g.flag, known = input.find(bare)
	}
	if negated, ok := strings.CutPrefix(bare, "no-"); long && ok && (!known || g.free) &&
		!input.isReserved("--"+negated) {
		if f, ok := input.find(negated); ok && f.shape.isSwitch() {
			if hasText {
				return args, dispatch.Errorf(dispatch.InvalidInput, "%s takes no value", name)
			}
			l.given = append(l.given, given{flag: f, text: "false"})
			return args, nil
		}
	}
	switch {
	case !known:
		return args, dispatch.Errorf(dispatch.InvalidInput, "unknown flag %s%s", name,
			s.flagHint(l, name))
	case !hasText && g.shape.isSwitch():
		g.text = "true"
	default:
		g.text, args, err = l.operand(g.name(), text, hasText, args)
	}
	l.given = append(l.given, g)
	return args, err
}

// isName reports whether the text before "=" is meant as the name of a property.
func isName(text string) bool {
	return text != "" && !strings.ContainsAny(text, " /\\")
}

// flagHint returns the end of a message about an unknown flag: where it belongs, the flag that was
// probably meant, or how to list all.
func (s *surface) flagHint(l *line, name string) string {
	typed := s.Program + " " + strings.Join(l.words, " ")
	if slices.Contains(s.Before, name) {
		return "; it belongs before the operation: " + s.Program + " " + name + " … " +
			strings.Join(l.words, " ")
	}
	if hint := near.DidYouMean(name, append(l.flagNames(), s.Before...)); hint != "" {
		return "; " + hint
	}
	return "; " + typed + " " + helpFlag + " lists the flags"
}

// flagNames returns the flags of the operation as they are typed.
func (l *line) flagNames() (names []string) {
	input := shapeOf(l.op)
	for _, f := range input.flags() {
		names = append(names, f.name())
	}
	if input.canConfirm {
		names = append(names, yesFlag)
	}
	return append(names, wholeFlag, outputFlag, helpFlag)
}

// unexpected returns the error for an argument that is neither a flag nor the value of a flag.
func (l *line) unexpected(arg string) error {
	hint := ""
	if n := len(l.given); n > 0 && l.given[n-1].shape.isSwitch() &&
		(arg == "true" || arg == "false") {
		hint = "; write " + l.given[n-1].name() + "=" + arg
	} else if f, ok := firstText(shapeOf(l.op)); ok {
		hint = "; did you mean " + f.name() + " " + shellwords.Quote(arg) + "?"
	}
	return dispatch.Errorf(dispatch.InvalidInput, "unexpected argument %q%s", arg, hint)
}

// firstText returns the first required flag that is a string, which the user of a bare argument
// probably meant.
func firstText(input shape) (flag, bool) {
	flags := input.flags()
	i := slices.IndexFunc(flags, func(f flag) bool { return f.required && f.shape.Is("string") })
	if i < 0 {
		return flag{}, false
	}
	return flags[i], true
}
