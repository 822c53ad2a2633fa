package shell

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/calls"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A dotCommand is a command of the shell, such as .help.
type dotCommand struct {
	name, usage, summary string
	minArgs, maxArgs     int // maxArgs < 0: unlimited
	run                  func(s *Shell, ctx context.Context, words []string) error
	// complete returns candidates for the last of words. It may be nil.
	complete func(s *Shell, ctx context.Context, words []string) []arguments.Candidate
}

// dotCommands returns the commands in the order of the help.
func dotCommands() []dotCommand {
	return []dotCommand{
		{".tools", "[NAME]", "list the tools, or show one's definition", 0, 1, (*Shell).showTools,
			(*Shell).completeTool},
		{".resources", "", "list the resources, and the templates of more", 0, 0,
			(*Shell).showResources, nil},
		{".read", "URI", "read a resource", 1, 1, (*Shell).readResource, (*Shell).completeURI},
		{".prompts", "", "list the prompts", 0, 0, (*Shell).showPrompts, nil},
		{".prompt", "NAME [ARGUMENT=VALUE]…", "get a prompt", 1, -1, (*Shell).getPrompt,
			(*Shell).completePrompt},
		{".complete", "prompt|resource NAME ARGUMENT [VALUE] [OTHER=TEXT]…",
			"ask the server to complete an argument", 3, -1, (*Shell).completeValue,
			completeFirst("prompt", "resource")},
		{".subscribe", "[URI]…", "report when resources change, or list the subscriptions", 0, -1,
			(*Shell).subscribe, (*Shell).completeURI},
		{".unsubscribe", "[URI]…", "end subscriptions, or all of them", 0, -1,
			(*Shell).unsubscribe, (*Shell).completeSubscribed},
		{".log", "[LEVEL|off]", "show log messages of the server from a level on", 0, 1,
			(*Shell).setLog, completeWord(append(logLevels(), "off")...)},
		{".skills", "", "list the skills", 0, 0, (*Shell).showSkills, nil},
		{".skill", "NAME|URI [FILE]", "read the SKILL.md of a skill, or another file", 1, 2,
			(*Shell).getSkill, (*Shell).completeSkill},
		{".info", "", "show what the server is, its revision, capabilities and process", 0, 0,
			(*Shell).showInfo, nil},
		{".trace", "[on|off]", "show every message that is sent → and received ←", 0, 1,
			(*Shell).setTrace, completeWord("on", "off")},
		{".output", "[text|json|raw]",
			"print results for people, as JSON, or as the server wrote them", 0, 1,
			(*Shell).setOutput, completeWord(outputs...)},
		{".timeout", "[DURATION]", "how long to wait for a response; 0: for ever", 0, 1,
			(*Shell).setTimeout, nil},
		{".reload", "", "fetch the lists of tools, resources and prompts again", 0, 0, (*Shell).reload, nil},
		{".restart", "", "restart the server", 0, 0, (*Shell).restart, nil},
		{".history", "", "show the lines that were typed", 0, 0, (*Shell).showHistory, nil},
		{".help", "[TOOL|COMMAND]", "explain the shell, a tool or a command", 0, 1, (*Shell).help,
			(*Shell).completeHelp},
		{".quit", "", "end the shell and the server", 0, 0,
			func(*Shell, context.Context, []string) error { return errQuit }, nil},
	}
}

func findDotCommand(name string) (dotCommand, bool) {
	commands := dotCommands()
	i := slices.IndexFunc(commands, func(c dotCommand) bool { return c.name == name })
	if i < 0 {
		return dotCommand{}, false
	}
	return commands[i], true
}

func dotCommandNames() (names []string) {
	for _, c := range dotCommands() {
		names = append(names, c.name)
	}
	return names
}

// runDotCommand runs a line that begins with a dot.
func (s *Shell) runDotCommand(ctx context.Context, line inputLine) error {
	c, ok := findDotCommand(line.name)
	var err error
	switch {
	case !ok:
		err = command.Usagef("there is no such command").WithHint(
			near.Instead(line.name, dotCommandNames()))
	case line.data != nil:
		err = command.Usagef("it takes no JSON object").WithHint(c.hint())
	case len(line.words) < c.minArgs:
		err = command.Usagef("an argument is missing").WithHint(c.hint())
	case c.maxArgs >= 0 && len(line.words) > c.maxArgs:
		err = command.Usagef("unexpected argument %q", line.words[c.maxArgs]).WithHint(c.hint())
	default:
		err = c.run(s, ctx, line.words)
	}
	if f, ok := err.(*command.Failure); ok && f.What == "" {
		f.What, f.Why = line.name, strings.TrimPrefix(f.Why, line.name+": ")
	}
	return err
}

func (c *dotCommand) hint() string { return strings.TrimSpace("write " + c.name + " " + c.usage) }

func (s *Shell) showInfo(ctx context.Context, _ []string) error {
	output := s.output
	if output == "raw" {
		output = "json"
	}
	return s.withServer(ctx, func(c *connection) error {
		return calls.InspectServer(ctx, c.Client, s.Std, c.ready, 0, output)
	})
}

func (s *Shell) showTools(ctx context.Context, words []string) error {
	return s.withServer(ctx, func(c *connection) error {
		c.tools.invalidate() // fetch the current list
		if len(words) > 0 {
			if err := c.selected.CheckAllowed(words[0]); err != nil {
				return err
			}
			return calls.InspectTool(ctx, c.Client, s.Std, s.target.Lists()[0], words[0], s.output)
		}
		return s.showLists(ctx, c, s.target.Lists(), mcp.KindTool)
	})
}

func (s *Shell) setTrace(_ context.Context, words []string) error {
	if len(words) > 0 {
		if words[0] != "on" && words[0] != "off" {
			return command.Usagef("%q is neither on nor off", words[0])
		}
		s.trace.set(words[0] == "on")
		return nil
	}
	state := "off"
	if s.trace.isOn() {
		state = "on"
	}
	s.Std.Out.Print(state + "\n")
	return nil
}

func (s *Shell) setOutput(_ context.Context, words []string) error {
	if len(words) == 0 {
		s.Std.Out.Print(s.output + "\n")
		return nil
	}
	if err := command.CheckChoice(words[0], outputs...); err != nil {
		return err
	}
	s.output = words[0]
	return nil
}

func (s *Shell) setTimeout(_ context.Context, words []string) error {
	if len(words) > 0 {
		return command.DurationFlag(&s.timeout, ".timeout", "").Set(words[0])
	}
	text := "for ever"
	if s.timeout > 0 {
		text = command.ShortDuration(s.timeout)
	}
	s.Std.Out.Print(text + "\n")
	return nil
}

// reload fetches all lists again and prints their lengths.
func (s *Shell) reload(ctx context.Context, _ []string) error {
	return s.withServer(ctx, func(c *connection) error {
		c.invalidate()
		tools, err := c.allTools(ctx)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("tools %d", len(tools))
		if c.Capabilities().Resources != nil {
			resources, err := c.allResources(ctx)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(", resources %d", len(resources))
		}
		if c.Capabilities().Prompts != nil {
			prompts, err := c.allPrompts(ctx)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(", prompts %d", len(prompts))
		}
		s.Std.Out.Print(text + "\n")
		return nil
	})
}

func (s *Shell) restart(ctx context.Context, _ []string) error {
	s.disconnect()
	return s.withServer(ctx, func(*connection) error { return nil })
}

func (s *Shell) showHistory(context.Context, []string) error {
	for i, line := range s.history.Lines() {
		s.Std.Out.Print(fmt.Sprintf("%5d  %s\n", i+1, strings.ReplaceAll(line, "\n", "\n       ")))
	}
	return nil
}

func (s *Shell) help(ctx context.Context, words []string) error {
	if len(words) == 0 {
		s.Std.Out.Print(shellHelp())
		return nil
	}
	if c, ok := findDotCommand(words[0]); ok {
		s.Std.Out.Print(strings.TrimSpace(c.name+" "+c.usage) + "\n    " + c.summary + "\n")
		return nil
	}
	return s.withServer(ctx, func(c *connection) error {
		tool, err := c.tool(ctx, words[0])
		if err == nil {
			s.Std.Out.Print(ToolHelp(tool, s.Std.Out.Columns()))
		}
		return err
	})
}

func shellHelp() string {
	var b strings.Builder
	b.WriteString("TOOL [NAME=VALUE | NAME:=JSON | NAME=@FILE]…\nTOOL {JSON} [NAME=VALUE]…\n    call a tool\n")
	for _, c := range dotCommands() {
		fmt.Fprintf(&b, "%s\n    %s\n", strings.TrimSpace(c.name+" "+c.usage), c.summary)
	}
	b.WriteString("\nTab completes, Ctrl-R searches the history, Ctrl-C cancels a call or drops a line, Ctrl-D ends.\n")
	return b.String()
}

// ToolHelp returns the help of a tool: its signature, description and arguments.
func ToolHelp(tool *mcp.Tool, columns printable.Columns) string {
	var b strings.Builder
	b.WriteString(columns.WrapWords(output.Signature(tool), 0, 8) + "\n")
	if text := strings.TrimSpace(tool.Description); text != "" {
		b.WriteString("\n" + printable.Text(text) + "\n")
	}
	head := "\n"
	for _, property := range form.NewSchema(tool.InputSchema).Limited().Fields() {
		if text, _ := jsonscan.Text(property.Schema.Annotation("description")); text != "" {
			line := columns.WrapAfter("  "+printable.Line(property.Name), printable.Line(text), 17)
			b.WriteString(head + line + "\n")
			head = ""
		}
	}
	return b.String()
}
