package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/stdwire/stdwire/internal/near"
)

// commands are in the order of the help.
func commands() []command {
	return []command{
		serveCommand(), lsCommand(), toolsCommand(), callCommand(), readCommand(), promptCommand(), completeCommand(), inspectCommand(),
		shellCommand(), statusCommand(), enableCommand(), disableCommand(), restartCommand(), logsCommand(), tapCommand(), bridgeCommand(), doctorCommand(), scanCommand(), pinCommand(), configCommand(), trustCommand(), authCommand(),
		runCommand(), manifestCommand(), versionCommand(), helpCommand(),
	}
}

func commandNames() (names []string) {
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

func findCommand(name string) (command, error) {
	i := slices.IndexFunc(commands(), func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, usagef("there is no command %q", name).withHint(cmp.Or(near.DidYouMean(name, commandNames()), "stdwire help lists them"))
	}
	return commands()[i], nil
}

// execute does what the arguments of the program say, and returns the exit code. Whatever goes wrong ends with one line on stderr.
func execute(ctx context.Context, args []string, std *streams) int {
	err := dispatchCommand(ctx, args, std)
	if flushed := std.out.flush(); err == nil {
		err = flushed
	}
	if err == nil {
		return 0
	}
	if status, ok := errors.AsType[childStatus](err); ok {
		return int(status)
	}
	f := asFailure(ctx, err)
	status, told := errors.AsType[exitStatus](err)
	switch {
	case told && context.Cause(ctx) == nil:
		return int(status)
	case !told && f.code != "closed_pipe": // whoever closed it knows
		f.print(std.err, wantsJSON(args))
	}
	return f.exit()
}

func dispatchCommand(ctx context.Context, args []string, std *streams) error {
	if len(args) == 0 {
		if !std.inTerminal { // most likely a host that takes this for a server
			return usagef("what to do?").withHint("to serve MCP on stdin and stdout: stdwire serve; for all else: stdwire help")
		}
		args = []string{"help"}
	}
	if args[0] == helpFlag || args[0] == shortHelpFlag {
		args = append([]string{"help"}, args[1:]...)
	}
	c, err := findCommand(args[0])
	if err != nil {
		return err
	}
	return c.dispatch(ctx, args[1:], std)
}

// wantsJSON reports whether errors are to be JSON. It looks for itself, because the arguments may be what is wrong.
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
