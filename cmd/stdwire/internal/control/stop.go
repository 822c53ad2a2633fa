package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/near"
)

// StopCommand returns the command stdwire stop.
func StopCommand() command.Command {
	return command.Command{
		Name: "stop", Usage: "@NAME… | ID… [--pid N] | --all",
		Summary: "end connections of stdwire connect, and stop servers of a running gateway",
		Help: `@NAME is a connection; its server ends, too. ID is a server of a gateway, which is stopped as by
stdwire disable: stdwire enable offers it again. A gateway itself is ended by its client, by Ctrl-C,
or by kill with its process, which stdwire status shows. A name without @ is that of a connection if there
is one. Returns once the servers have ended. Calls in progress fail. --all ends all connections, and
succeeds if there are none.`,
		Make: func() (command.Grammar, command.Runner) {
			s := new(stop)
			return command.Grammar{Flags: []command.Flag{
				command.SwitchFlag(&s.all, "--all", "end all connections"), pidFlag(&s.pid)},
				Word: s.word}, s.run
		},
		Hidden: command.Table{disconnectCommand()},
	}
}

// disconnectCommand is stdwire disconnect, the older command, which ends connections only.
func disconnectCommand() command.Command {
	return command.Command{
		Name: "disconnect", Usage: "@NAME… | --all",
		Summary: "end connections of stdwire connect, and their servers",
		Help: `Returns once the servers have ended. Calls in progress fail. --all succeeds if there are no
connections. stdwire stop does the same, and stops servers of gateways, too.`,
		Make: func() (command.Grammar, command.Runner) {
			s := new(stop)
			return command.Grammar{Flags: []command.Flag{
				command.SwitchFlag(&s.all, "--all", "end all connections")},
				Word: func(name string) error {
					return s.word("@" + strings.TrimPrefix(name, "@"))
				}}, s.run
		},
	}
}

// A stop holds the options of stdwire stop.
type stop struct {
	names []string
	all   bool
	pid   int
}

func (s *stop) word(word string) error {
	if strings.TrimPrefix(word, "@") == "" {
		return command.Usagef("the name is empty")
	}
	s.names = append(s.names, word)
	return nil
}

func (s *stop) run(ctx context.Context, std *term.Streams) error {
	isConnection := func(name string) bool { return strings.HasPrefix(name, "@") }
	switch {
	case s.all && s.names != nil:
		return command.Usagef("--all and names exclude each other")
	case s.pid != 0 && (s.all || s.names != nil && !slices.ContainsFunc(s.names,
		func(name string) bool { return !isConnection(name) })):
		return command.Usagef("--pid is for a server of a gateway")
	case !s.all && s.names == nil:
		return command.Usagef("which connection or server?").WithHint(
			"stdwire connect list and stdwire gateway status list them")
	}
	all, err := running(ctx, std, func(*gatewayClient) bool { return true }, errNoConnections)
	switch {
	case err == errNoConnections && s.all:
		return nil
	case err == errNoConnections && !isConnection(s.names[0]):
		return &command.Failure{Code: "unreachable", Why: "no connection and no gateway is running"}
	case err != nil:
		return err
	}
	defer closeAll(all)
	var connections, gateways []*gatewayClient
	for _, g := range all {
		if g.Connection != "" {
			connections = append(connections, g)
		} else {
			gateways = append(gateways, g)
		}
	}
	selected, servers, err := s.find(connections, gateways)
	if err != nil {
		return err
	}
	if servers != nil {
		disable := switchOptions{operation: "host.disable",
			message: "is stopped until stdwire enable", ids: servers, pid: s.pid}
		if err := disable.apply(ctx, std, gateways); err != nil {
			return err
		}
	}
	for _, g := range selected {
		err = errors.Join(err, g.stop(ctx))
	}
	return err
}

// find returns the connections and the servers of gateways that the names mean. The error is about
// a name of nothing.
func (s *stop) find(connections, gateways []*gatewayClient) (selected []*gatewayClient,
	servers []string, err error) {
	if s.all {
		return connections, nil, nil
	}
	var names, known []string
	for _, g := range connections {
		known = append(known, g.name())
	}
	for _, g := range gateways {
		for _, server := range g.Servers {
			known = append(known, server.Server)
		}
	}
	for _, name := range s.names {
		bare, marked := strings.CutPrefix(name, "@")
		switch {
		case marked && connections == nil:
			return nil, nil, errNoConnections
		case marked || slices.Contains(known, "@"+bare):
			names = append(names, bare)
		case slices.ContainsFunc(gateways, func(g *gatewayClient) bool { return g.has(bare) }):
			servers = append(servers, bare)
		default:
			hint := near.Instead(name, known)
			if slices.ContainsFunc(gateways, func(g *gatewayClient) bool {
				return strconv.Itoa(g.Pid) == bare
			}) {
				hint = "to end that gateway: kill " + bare
			}
			return nil, nil, (&command.Failure{Code: "not_found", Why: fmt.Sprintf(
				"there is no connection and no gateway with a server %.40q", name)}).WithHint(hint)
		}
	}
	selected, err = withNames(connections, names)
	return selected, servers, err
}
