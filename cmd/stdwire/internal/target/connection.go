package target

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/itemname"
)

// SetConnection takes the name of a connection that stdwire connect keeps.
func (t *Target) SetConnection(name string) error {
	if err := socket.CheckConnectionName(name); err != nil {
		return command.Usagef("%v", err).WithHint("stdwire connect list lists the connections")
	}
	t.Connection = name
	return nil
}

// Grammar returns the grammar of a command with these flags and those of the target, which may be
// an address.
func (t *Target) Grammar(word func(string) error, flags ...command.Flag) command.Grammar {
	return command.Grammar{Flags: append(flags, t.Flags()...), Word: word,
		Connection: t.SetConnection, Address: t.TakeAddress, Command: t.Command}
}

// checkConnection is Check for a connection. own is a flag of stdwire's own server, or "".
func (t *Target) checkConnection(own string) error {
	const remedy = "end it, and connect again with that flag"
	name := t.Name()
	switch extra := t.Configured.Given(); {
	case t.Configured.ID != "" || t.Remote.URL != "" || t.Words != nil:
		return command.Usagef("%s and another server exclude each other", name)
	case own != "":
		return command.Usagef("%s is for stdwire's own server, and %s is running already", own,
			name).WithHint(remedy)
	case extra != "":
		return command.Usagef("%s is for a server of the configuration, and %s is running already",
			extra, name).WithHint(remedy)
	}
	return t.Remote.checkUnused()
}

// openConnection connects to the process that keeps the connection.
func (t *Target) openConnection(ctx context.Context, o client.Options) (*client.Client, error) {
	conn, err := socket.ReachConnection(ctx, t.Connection)
	if missing, ok := errors.AsType[*socket.NoConnectionError](err); ok {
		return nil, &command.Failure{Code: "unreachable", Why: err.Error(),
			Hint: cmp.Or(missing.Near,
				"begin one: stdwire connect @"+t.Connection+" -s ID, --url URL or -- COMMAND…")}
	}
	if err != nil {
		return nil, &command.Failure{Code: "unreachable", Server: t.Name(), Why: err.Error(),
			Hint: "its process may be stuck or stopped: check it"}
	}
	return o.Connect(ctx, client.Stream(conn))
}

// ConnectionName returns the default name of a connection to the server, or "" if there is none.
func (t *Target) ConnectionName() string {
	name := t.LaunchedName()
	if t.Words != nil { // the command, or the package that a launcher runs
		name = name[strings.LastIndexAny(name, " /")+1:]
		name, _, _ = strings.Cut(name, "@")
	}
	return strings.TrimLeft(itemname.SuggestID(name), "._-")
}

// KeptServer returns the server for a manager that keeps it running: one process for all callers,
// which is not stopped when it is idle. log is called at each start.
func (t *Target) KeptServer(std *term.Streams,
	log func(id string) (*host.Log, error)) gateway.Upstream {
	t.servers = std.Servers
	s := gateway.Upstream{MaxArguments: math.MaxInt, MaxResult: math.MaxInt,
		Server: host.Server{ID: cmp.Or(itemname.SuggestID(t.Name()), "server")}}
	if c := t.Configured.server; c != nil {
		s = Upstream(c, client.Options{})
		s.Sharing, s.Disabled = host.Shared, false
	}
	s.IdleStop, s.Options = -1, t.ClientOptions(std)
	// the command that calls has its own limit
	s.Options.CallTimeout = cmp.Or(s.Options.CallTimeout, -1)
	s.Connect = func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
		written, err := log(s.ID)
		if err != nil {
			return nil, err
		}
		return t.Start(ctx, o, func(cmd *client.Command) {
			cmd.Stderr, cmd.Started = written, written.Started
		})
	}
	return s
}
