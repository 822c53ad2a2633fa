package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/authcmd"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/bridge"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/bundlecmd"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/calls"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/completion"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/configcmd"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/control"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/doctor"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/installcmd"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/runcmd"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/serve"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/shell"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tapcmd"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web"
	"github.com/stdwire/stdwire/internal/near"
)

// commands returns the commands in the order of the help.
func commands() []command.Command {
	return []command.Command{
		serve.ServeCommand(), calls.LsCommand(), calls.ToolsCommand(), calls.CallCommand(),
		calls.ReadCommand(), calls.PromptCommand(), calls.SkillCommand(), calls.CompleteCommand(),
		calls.TaskCommand(), calls.InspectCommand(), calls.TestCommand(), shell.ShellCommand(),
		web.WebCommand(), control.ConnectCommand(),
		control.ConnectionsCommand(), control.DisconnectCommand(), control.StatusCommand(),
		control.EnableCommand(), control.DisableCommand(), control.RestartCommand(),
		control.LogsCommand(), tapcmd.TapCommand(), bridge.BridgeCommand(), doctor.DoctorCommand(),
		doctor.ScanCommand(), configcmd.PinCommand(), configcmd.ConfigCommand(),
		installcmd.InstallCommand(), installcmd.UninstallCommand(), control.TrustCommand(),
		authcmd.AuthCommand(), bundlecmd.BundleCommand(), runcmd.RunCommand(), manifestCommand(),
		completion.CompletionCommand(), command.VersionCommand(), helpCommand(),
	}
}

func commandNames() (names []string) {
	for _, c := range commands() {
		names = append(names, c.Name)
	}
	return names
}

func findCommand(name string) (command.Command, error) {
	i := slices.IndexFunc(commands(), func(c command.Command) bool { return c.Name == name })
	if i < 0 {
		return command.Command{},
			command.Usagef("there is no command %q",
				name).WithHint(cmp.Or(near.DidYouMean(name, commandNames()),
				"stdwire help lists them"))
	}
	return commands()[i], nil
}

// execute runs the command that args name and returns the exit code. A failure is printed as one
// line on stderr.
func execute(ctx context.Context, args []string, std *term.Streams) int {
	err := dispatchCommand(ctx, args, std)
	if flushed := std.Out.Flush(); err == nil {
		err = flushed
	}
	if err == nil {
		return 0
	}
	if status, ok := errors.AsType[command.ExitStatus](err); ok {
		return int(status)
	}
	f := command.AsFailure(ctx, err)
	if f.Code != "closed_pipe" { // the reader that closed it expects no message
		f.Print(std.Err, wantsJSON(args))
	}
	return f.ExitCode()
}

func dispatchCommand(ctx context.Context, args []string, std *term.Streams) error {
	if len(args) == 0 {
		if !std.InTerminal { // probably started by a host, as if it were a server
			return command.Usagef("what to do?").WithHint(
				"to serve MCP on stdin and stdout: stdwire serve; for all else: stdwire help")
		}
		std.Out.Print(shortHelp(std.Out.Columns()))
		return nil
	}
	if name := flagCommands[args[0]]; name != "" {
		args = append([]string{name}, args[1:]...)
	}
	if args[0] == completeCommand {
		complete(ctx, args[1:], std)
		return nil
	}
	c, err := findCommand(args[0])
	if err != nil {
		return err
	}
	return c.Run(ctx, args[1:], std)
}

// flagCommands maps flags that stand in place of a command to commands.
var flagCommands = map[string]string{command.HelpFlag: "help", command.ShortHelpFlag: "help",
	"--version": "version", "-v": "version"}

// wantsJSON reports whether errors are printed as JSON. It does not parse the arguments, because
// these may be wrong.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		switch {
		case arg == "--":
			return false
		case arg == "-o=json", arg == "-o" && i+1 < len(args) && args[i+1] == "json":
			return true
		}
	}
	return false
}
