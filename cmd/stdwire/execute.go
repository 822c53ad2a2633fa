package main

import (
	"context"

	"github.com/stdwire/stdwire/client/host/config"
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
	"github.com/stdwire/stdwire/cmd/stdwire/internal/policycmd"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/runcmd"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/serve"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/shell"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tapcmd"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web"
)

// groups returns the commands by what they are used for, in the order of the help.
func groups() command.Groups {
	return command.Groups{
		{Title: "Use a server", Commands: command.Table{
			calls.LsCommand(), calls.FindCommand(), calls.CallCommand(), calls.ReadCommand(),
			calls.PromptCommand(), calls.CompleteCommand(), calls.SkillCommand(),
			calls.TaskCommand(), calls.InspectCommand(), shell.ShellCommand(), runcmd.RunCommand(),
			control.ConnectCommand(), control.StopCommand()}},
		{Title: "Debug a server", Commands: command.Table{
			web.WebCommand(), doctor.DoctorCommand(), doctor.ScanCommand(), calls.TestCommand(),
			tapcmd.TapCommand(), bridge.BridgeCommand()}},
		{Title: "Run a server or a gateway", Commands: command.Table{
			serve.ServeCommand(), control.GatewayCommand(), configcmd.PinCommand(),
			policycmd.PolicyCommand(),
			manifestCommand()}},
		{Title: "Set up", Commands: command.Table{
			control.ListCommand(), installcmd.AddCommand(), installcmd.RemoveCommand(),
			control.TrustCommand(), authcmd.AuthCommand(), configcmd.ConfigCommand(),
			installcmd.InstallCommand(), installcmd.UninstallCommand(), bundlecmd.BundleCommand(),
			completion.CompletionCommand(), command.VersionCommand(), helpCommand()}},
	}
}

// commands returns the commands in the order of the help.
func commands() command.Table { return groups().Table() }

// execute runs the command that args name and returns the exit code. A failure is printed as one
// line on stderr.
func execute(ctx context.Context, args []string, std *term.Streams) int {
	return command.Exit(ctx, args, std, dispatchCommand(ctx, args, std))
}

func dispatchCommand(ctx context.Context, args []string, std *term.Streams) error {
	if len(args) == 0 {
		if !std.InTerminal { // probably started by a host, as if it were a server
			return command.Usagef("what to do?").WithHint(
				"to serve MCP on stdin and stdout: stdwire serve; for all else: stdwire help")
		}
		var found []string
		if env, err := config.System(""); err == nil { // there are a home and a working directory
			found = configcmd.Found(env)
		}
		std.Out.Print(shortHelp(std.Out.Columns(), found))
		return nil
	}
	if name := flagCommands[args[0]]; name != "" {
		args = append([]string{name}, args[1:]...)
	}
	if args[0] == completeCommand {
		complete(ctx, args[1:], std)
		return nil
	}
	c, err := commands().Find(args[0])
	if err != nil {
		return err
	}
	return c.Run(ctx, args[1:], std)
}

// flagCommands maps flags that stand in place of a command to commands.
var flagCommands = map[string]string{command.HelpFlag: "help", command.ShortHelpFlag: "help",
	"--version": "version", "-v": "version"}
