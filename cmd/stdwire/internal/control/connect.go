package control

import (
	"context"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/bridge"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// ConnectCommand returns the command stdwire connect.
func ConnectCommand() command.Command {
	return command.Command{
		Name: "connect", Usage: "[list] [@NAME] [--idle DURATION] [FLAG]… [-s ID | --url URL | -- SERVER-COMMAND…]",
		Summary: "keep a server running for several commands",
		Help: `Starts a server, or connects to one at a URL, and keeps it in the background behind a socket
that only you can reach. It prints the name of the connection. With @NAME in place of a server, ls,
call, read, prompt, complete, inspect and shell use the connection, from any directory and any
process of yours. They share the state of the server, such as a page that is open in a browser,
and do not wait for its start. The command that makes a call asks you the server's questions.

Without @NAME the connection gets the name of the server. stdwire stop ends it; it also ends
if it was not used for the time of --idle. If the server ends, the next call starts it again.
stdwire connect list, or stdwire connections, lists the connections, and stdwire logs @NAME shows
what the server writes to stderr. If stdwire is killed, the processes of the server are ended.

  stdwire connect @chrome -- npx -y chrome-devtools-mcp@latest --headless
  stdwire call @chrome navigate_page url=https://example.com
  stdwire call @chrome list_pages
  stdwire stop @chrome

` + connectCommands().List(),
		Subcommands: connectCommands(),
		Hidden:      command.Table{connectListCommand().Named("connections")},
		Make: func() (command.Grammar, command.Runner) {
			c := &connect{target: target.NewTarget(), idle: 30 * time.Minute}
			flags := append([]command.Flag{command.DurationFlag(&c.idle, "--idle",
				"end the connection when it was not used for this time")}, c.target.Flags()...)
			flags = append(command.RecordFlags(&c.args, flags...),
				command.SwitchFlag(&c.foreground, "--foreground",
					"stay in the foreground until Ctrl-C or SIGTERM"),
				command.SwitchFlag(&c.unguarded, "--unguarded",
					"with --foreground: do not guard the processes of the server; for a supervisor that ends all processes itself, such as systemd"))
			return command.Grammar{Flags: flags, Connection: c.setName, Address: c.address,
				Rest: func(words []string) { c.rest = words }, Subcommands: connectCommands(),
				Check:   c.checkRest,
				Command: c.target.Command}, c.run
		},
	}
}

// connectCommands returns the commands that begin with "connect".
func connectCommands() command.Subcommands { return command.Subcommands{connectListCommand()} }

// checkRest returns an error if the words are no subcommand, or one that the flags are not for.
func (c *connect) checkRest(given command.Given) error {
	switch {
	case c.rest == nil:
		return nil
	case c.rest[0] != "list":
		return command.Usagef("unexpected argument %q", c.rest[0]).WithHint(
			"a server command follows --: -- " + strings.Join(c.rest, " "))
	case len(given) > 0:
		return command.Usagef("%s is for a server to connect to", given[0])
	case c.name != "" || !c.target.IsBuiltin():
		return command.Usagef("a server and list exclude each other")
	}
	return nil
}

// A connect holds the options of stdwire connect.
type connect struct {
	name       string
	target     *target.Target
	idle       time.Duration
	foreground bool
	unguarded  bool
	rest       []string // a subcommand and its arguments
	args       []string // the flags as given, but not the two above
}

// address takes the address of the server.
func (c *connect) address(word string) (bool, error) {
	taken, err := c.target.TakeAddress(word)
	if taken {
		c.args = append(c.args, word)
	}
	return taken, err
}

func (c *connect) setName(name string) error {
	if err := socket.CheckConnectionName(name); err != nil {
		return command.Usagef("%v", err)
	}
	c.name = name
	return nil
}

func (c *connect) run(ctx context.Context, std *term.Streams) error {
	if c.rest != nil {
		return connectListCommand().Run(ctx, c.rest[1:], std)
	}
	if err := c.check(); err != nil {
		return err
	}
	line := "@" + c.name
	if c.unguarded {
		std.Servers.LeaveUnguarded()
		kept := bridge.Connection{Name: c.name, Target: c.target, Idle: c.idle}
		return kept.Keep(ctx, std, func() error {
			std.Out.Print(line + "\n")
			return std.Out.Flush()
		})
	}
	if c.foreground {
		return runGuarded(ctx, std, c.again(line, "--foreground", "--unguarded"), line)
	}
	stop := std.Err.StatusAfter(3*time.Second, func(elapsed time.Duration) string {
		return c.target.Name() + ": still starting " + elapsed.Round(time.Second).String()
	})
	err := startBackground(ctx, std, c.again(line, "--foreground"), line)
	stop()
	if err != nil {
		return err
	}
	std.Out.Print(line + "\n")
	if std.InTerminal {
		std.Err.Printf("use it: stdwire ls %s; end it: stdwire stop %s", line, line)
	}
	return nil
}

// again returns the arguments that run this command with more flags.
func (c *connect) again(more ...string) []string {
	args := append(append([]string{"connect"}, more...), c.args...)
	if c.target.Words != nil {
		args = append(append(args, "--"), c.target.Words...)
	}
	return args
}

// check returns an error if flags contradict each other, and completes the name.
func (c *connect) check() error {
	if c.unguarded && !c.foreground {
		return command.Usagef("--unguarded is for a connection in the foreground").WithHint(
			"add --foreground")
	}
	if c.target.ServerLogs {
		return command.Usagef("--server-logs is for commands that start a server").WithHint(
			"stdwire logs NAME shows what the server of a connection writes")
	}
	if c.target.OnSample() != nil {
		return command.Usagef("--sample is for the commands that call").WithHint(
			"stdwire call @NAME … --sample COMMAND")
	}
	if err := c.target.Check(); err != nil {
		return err
	}
	if c.name == "" {
		c.name = c.target.ConnectionName()
	}
	if socket.CheckConnectionName(c.name) != nil {
		return command.Usagef("the connection needs a name").WithHint(
			"give one: stdwire connect @NAME " + strings.Join(c.args, " "))
	}
	return nil
}
