package control

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// A Gateway is a running gateway that is reached through its control socket.
type Gateway struct{ client *gatewayClient }

// ReachGateway connects to the running gateway with a process ID, or, if pid is 0, to the only one
// that runs. The error is a [*command.Failure].
func ReachGateway(ctx context.Context, std *term.Streams, pid int) (*Gateway, error) {
	all, err := runningGateways(ctx, std)
	if err != nil {
		return nil, err
	}
	chosen, err := withPid(all, pid)
	if err == nil && len(chosen) > 1 {
		err = command.Usagef("several gateways are running").WithHint(
			"select one: " + pidsOf(chosen))
	}
	if err != nil {
		closeAll(all)
		return nil, err
	}
	for _, other := range all {
		if other != chosen[0] {
			_ = other.c.Close()
		}
	}
	return &Gateway{chosen[0]}, nil
}

// Name returns the name of the gateway in messages.
func (g *Gateway) Name() string { return "gateway " + strconv.Itoa(g.client.Pid) }

// Pid returns the process of the gateway.
func (g *Gateway) Pid() int { return g.client.Pid }

// Call runs an operation of the gateway, such as host.status. The error may be a
// [*command.Failure] with the error's message.
func (g *Gateway) Call(ctx context.Context, operation string, arguments, data any) error {
	return g.client.call(ctx, operation, arguments, data)
}

// Endpoint returns the URL of the gateway, or "" if it has none.
func (g *Gateway) Endpoint() string {
	if strings.HasPrefix(g.client.Endpoint, "http") {
		return g.client.Endpoint
	}
	return ""
}

// Connect returns a new client of the gateway. The gateway serves it like its other clients.
func (g *Gateway) Connect(ctx context.Context, o client.Options) (*client.Client, error) {
	if g.client.Socket == "" {
		return nil, &command.Failure{Code: "unreachable", Server: g.Name(),
			Why: "it has no socket for clients", Hint: "restart it, perhaps with this version of stdwire"}
	}
	conn, err := socket.ReachSocket(ctx, g.client.Socket)
	if err != nil {
		return nil, &command.Failure{Code: "unreachable", Server: g.Name(), Why: err.Error()}
	}
	return o.Connect(ctx, client.Stream(conn))
}

// Close closes the connection.
func (g *Gateway) Close() { _ = g.client.c.Close() }

// Running returns the processes of the running gateways by their names in messages.
func Running(ctx context.Context) map[string]int {
	found := map[string]int{}
	all, err := runningGateways(ctx, &term.Streams{Err: &term.Console{W: io.Discard}})
	if err != nil {
		return found
	}
	defer closeAll(all)
	for _, g := range all {
		found[(&Gateway{g}).Name()] = g.Pid
	}
	return found
}

// ServerIDs returns the ids of the servers of all running gateways, for completion.
func ServerIDs(ctx context.Context) (ids []string) {
	all, err := runningGateways(ctx, &term.Streams{Err: &term.Console{W: io.Discard}})
	if err != nil {
		return nil
	}
	defer closeAll(all)
	for _, g := range all {
		for _, s := range g.Servers {
			ids = append(ids, s.Server)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
