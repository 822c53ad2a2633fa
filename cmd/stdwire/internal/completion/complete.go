package completion

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/control"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/topic"
	"github.com/stdwire/stdwire/internal/form"
)

// operands says what the words after a command are, beside flags: names of what [line.values]
// knows, or a set such as a|b. If the last one ends in …, the others are like it. Commands that are
// not here have none that can be completed.
var operands = map[string][]string{
	"ls":      {"tools|resources|templates|prompts|skills"},
	"call":    {"TOOL", "ARGUMENT…"},
	"inspect": {"TOOL"},
	"stop":    {"@NAME|RUNNING…"}, "disconnect": {"@NAME…"},
	"enable": {"RUNNING…"}, "disable": {"RUNNING…"}, "restart": {"RUNNING…"},
	"remove": {"ID"},
	"logs":   {"@NAME|RUNNING"},
	"doctor": {"ID…"}, "scan": {"ID…"},
	"pin":         {"diff|accept|rm", "TOOL…"},
	"config show": {"ID"},
	"trust":       {"ID…"},
	"auth login":  {"ID"}, "auth logout": {"ID"}, "auth status": {"ID"},
	"complete":   {"prompt|resource"},
	"run":        {"ID"},
	"help":       {"COMMAND"},
	"completion": {strings.Join(shells, "|")},
}

// Complete returns candidates for the last of words, which may be empty. words begin with the name
// of the command.
func Complete(ctx context.Context, commands []command.Command, words []string) []Candidate {
	typed := words[len(words)-1]
	if len(words) == 1 {
		return commandCandidates(commands)
	}
	c, err := command.Table(commands).Find(words[0])
	if err != nil {
		return nil
	}
	before := words[1 : len(words)-1]
	grammar, _ := c.Make()
	for len(before) > 0 {
		i := slices.IndexFunc(grammar.Subcommands,
			func(sub command.Command) bool { return sub.Name == c.Name+" "+before[0] })
		if i < 0 {
			break
		}
		c, before = grammar.Subcommands[i], before[1:]
		grammar, _ = c.Make()
	}
	l := line{command: c.Name, target: target.NewTarget(), commands: commands}
	if slices.ContainsFunc(grammar.Flags,
		func(f command.Flag) bool { return f.Name == target.ServersFlag }) {
		l.target.OrServers()
	}
	if !l.parse(grammar, before, typed) {
		return nil
	}
	switch {
	case l.flag != nil:
		return l.flagValues(ctx, typed)
	case l.connection:
		return l.values(ctx, "@NAME", typed)
	case !l.operand || l.rest:
		return nil // of a command after --, or of an operation
	case strings.HasPrefix(typed, "-"):
		return l.flags(grammar)
	case grammar.Subcommands != nil && len(l.operands) == 0:
		return subcommandCandidates(grammar.Subcommands)
	}
	kinds := operands[strings.TrimPrefix(c.Name, "gateway ")]
	n := len(l.operands)
	switch {
	case n < len(kinds):
		return l.values(ctx, strings.TrimSuffix(kinds[n], "…"), typed)
	case len(kinds) > 0 && strings.HasSuffix(kinds[len(kinds)-1], "…"):
		return l.values(ctx, strings.TrimSuffix(kinds[len(kinds)-1], "…"), typed)
	}
	return nil
}

// A line is a command line up to the typed word. Exactly one of flag, connection and operand says
// what the word is, unless it follows "--".
type line struct {
	command  string
	commands []command.Command
	target   *target.Target // with the flags that select the server
	given    []string       // the names of the flags before the word
	operands []string       // words before it

	flag       *command.Flag // the word is its value
	connection bool          // the word is the name of a connection
	operand    bool          // the word is neither of these
	rest       bool          // and it belongs to the command that an earlier operand names
}

// typedWord stands for the typed word, or its end, which is parsed with the words before it to find
// its place.
const typedWord = "\x00"

// parse parses the words before the typed one, and returns false if they are wrong.
func (l *line) parse(g command.Grammar, before []string, typed string) bool {
	targetFlags := map[string]command.Flag{}
	for _, f := range l.target.Flags() {
		targetFlags[f.Name] = f
	}
	parser := command.Grammar{Command: g.Command}
	for _, f := range g.Flags {
		set := f // flags that select no server are only recognized
		set.Set = func(value string) error {
			if strings.HasSuffix(value, typedWord) {
				l.flag = &f
				return nil
			}
			l.given = append(l.given, f.Name)
			if flag, ok := targetFlags[f.Name]; ok {
				_ = flag.Set(value)
			}
			return nil
		}
		parser.Flags = append(parser.Flags, set)
	}
	operand := func(word string) error {
		if strings.HasSuffix(word, typedWord) {
			l.operand = true
		} else {
			l.operands = append(l.operands, word)
		}
		return nil
	}
	parser.Word = operand
	if g.Rest != nil {
		parser.Rest = func(words []string) {
			l.rest = len(words) > 1
			for _, word := range words {
				_ = operand(word)
			}
		}
	}
	if g.Connection != nil {
		parser.Connection = func(name string) error {
			if name == typedWord {
				l.connection = true
				return nil
			}
			return l.target.SetConnection(name)
		}
	}
	if parser.Command != nil {
		parser.Command = func([]string) {}
	}
	if g.Address != nil {
		parser.Address = func(word string) (bool, error) {
			if l.operands != nil { // what follows a tool is its arguments
				return false, nil
			}
			return l.target.TakeAddress(word)
		}
	}
	word := typedWord
	if name, _, ok := strings.Cut(typed, "="); ok && strings.HasPrefix(name, "-") {
		word = name + "=" + typedWord
	} else if strings.HasPrefix(typed, "@") {
		word = "@" + typedWord
	}
	_, err := parser.Parse(append(slices.Clone(before), word))
	return err == nil
}

// flags returns the flags that can still be given.
func (l *line) flags(g command.Grammar) (all []Candidate) {
	for _, f := range g.Flags {
		if f.Many || !slices.Contains(l.given, f.Name) {
			all = append(all, Candidate{f.Name, f.Help})
			if f.Switch != "" {
				all = append(all, Candidate{f.Switch, f.Name + " " + f.SwitchValue})
			}
		}
	}
	return append(all, Candidate{command.HelpFlag, "Print the help of this command"})
}

// flagValues returns candidates for the value of a flag, which stands alone or after "=".
func (l *line) flagValues(ctx context.Context, typed string) (all []Candidate) {
	prefix := ""
	if strings.HasPrefix(typed, l.flag.Name+"=") {
		prefix = l.flag.Name + "="
	}
	kind := l.flag.Value
	if l.flag.Name == "--profile" {
		kind = "PROFILE"
	}
	for _, c := range l.values(ctx, kind, strings.TrimPrefix(typed, prefix)) {
		all = append(all, Candidate{prefix + c.Word, c.Doc})
	}
	return all
}

// choice matches an alternative such as json, which stands for itself, unlike NAME.
var choice = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// values returns candidates for a word of a kind: the name of a flag's value in the help, or one of
// operands.
func (l *line) values(ctx context.Context, kind, typed string) (all []Candidate) {
	switch kind {
	case "ID":
		return l.servers()
	case "@NAME|RUNNING":
		return append(l.values(ctx, "@NAME", typed), l.values(ctx, "RUNNING", typed)...)
	case "RUNNING":
		for _, id := range control.ServerIDs(ctx) {
			all = append(all, Candidate{id, ""})
		}
	case "PROFILE":
		return l.profiles()
	case "@NAME":
		for _, name := range socket.ConnectionNames() {
			all = append(all, Candidate{"@" + name, ""})
		}
	case "COMMAND":
		if l.command != "help" { // a command line
			return nil
		}
		all = commandCandidates(l.commands)
		for _, page := range topic.All() {
			all = append(all, Candidate{page.Name, page.Summary})
		}
	case "TOOL":
		for _, tool := range l.tools(ctx) {
			if !strings.HasPrefix(tool.Name, "-") && !strings.HasPrefix(tool.Name, "@") {
				all = append(all, Candidate{tool.Name, tool.Description})
			}
		}
	case "ARGUMENT":
		return l.arguments(ctx, typed)
	default:
		for word := range strings.SplitSeq(kind, "|") {
			if choice.MatchString(word) && strings.Contains(kind, "|") {
				all = append(all, Candidate{word, ""})
			}
		}
	}
	return all
}

// arguments returns candidates for an argument of the tool.
func (l *line) arguments(ctx context.Context, typed string) (all []Candidate) {
	for _, tool := range l.tools(ctx) {
		if tool.Name != l.operands[0] {
			continue
		}
		words := append(slices.Clone(l.operands[1:]), typed)
		for _, c := range arguments.Complete(form.NewSchema(tool.InputSchema).Limited(), words) {
			word := c.Text
			if c.Name != "" {
				word = c.Name + "=" + c.Text
			}
			if !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "@") {
				all = append(all, Candidate{word, ""})
			}
		}
	}
	return all
}

func commandCandidates(commands []command.Command) (all []Candidate) {
	for _, c := range commands {
		all = append(all, Candidate{c.Name, c.Summary})
	}
	return all
}

func subcommandCandidates(subcommands command.Subcommands) (all []Candidate) {
	for _, c := range subcommands {
		all = append(all, Candidate{c.Word(), c.Summary})
	}
	return all
}
