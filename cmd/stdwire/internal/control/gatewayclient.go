// Package control implements the commands that start connections, and that show, manage and end
// these and running gateways through their sockets.
package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A gatewayClient is a client of the control socket of a running gateway, or of a connection of
// stdwire connect.
type gatewayClient struct {
	ops.About
	ops.Statuses
	c *client.Client
}

// runningGateways connects to all running gateways, the oldest first. The caller closes them with
// closeAll.
func runningGateways(ctx context.Context, std *term.Streams) ([]*gatewayClient, error) {
	return running(ctx, std, func(g *gatewayClient) bool { return g.Connection == "" },
		&command.Failure{Code: "unreachable", Why: "no gateway is running",
			Hint: "configure your client to start stdwire serve --servers, --config FILE or --profile NAME, or run that with --http"})
}

// running connects to the control sockets of all processes for which selects returns true, and
// returns the oldest first. The caller closes them with closeAll. Without such a process it returns
// errNone.
func running(ctx context.Context, std *term.Streams, selects func(*gatewayClient) bool,
	errNone error) (all []*gatewayClient, err error) {
	var unanswered []error
	type answer struct {
		g   *gatewayClient
		err error
	}
	for _, a := range target.ForEach(socket.Sockets(), func(path string) answer {
		g, err := connectGateway(ctx, path)
		return answer{g, err}
	}) {
		switch {
		case a.err == nil && !selects(a.g):
			_ = a.g.c.Close()
		case a.err == nil:
			all = append(all, a.g)
		case !errors.Is(a.err, fs.ErrNotExist):
			unanswered = append(unanswered, a.err)
		}
	}
	slices.SortFunc(all, func(a, b *gatewayClient) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Pid, b.Pid))
	})
	switch {
	case ctx.Err() != nil:
		closeAll(all)
		return nil, context.Cause(ctx)
	case all == nil && unanswered != nil:
		return nil, &command.Failure{Code: "unreachable", Why: errors.Join(unanswered...).Error(),
			Hint: "its process may be stuck or stopped: check it"}
	case all == nil:
		return nil, errNone
	}
	for _, err := range unanswered {
		std.Err.Printf("warning: %v", err)
	}
	return all, nil
}

// connectGateway connects to the gateway at a socket and asks for its state. The error matches
// [fs.ErrNotExist] if the gateway has ended.
func connectGateway(ctx context.Context, path string) (*gatewayClient, error) {
	conn, err := socket.ReachSocket(ctx, path)
	if err != nil {
		return nil, err
	}
	const startTimeout, callTimeout = 5 * time.Second, time.Minute
	o := client.Options{
		Name: "gateway", Info: command.Implementation(),
		Era: mcp.Modern, StartTimeout: startTimeout, CallTimeout: callTimeout,
		Logger: slog.New(slog.DiscardHandler),
	}
	g := new(gatewayClient)
	if g.c, err = o.Connect(ctx, client.Stream(conn)); err == nil {
		statusCtx, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		err = errors.Join(g.call(statusCtx, "host.about", nil, &g.About),
			g.call(statusCtx, "host.status", nil, &g.Statuses))
		if err != nil {
			_ = g.c.Close()
		}
	}
	if err == nil {
		return g, nil
	}
	again, ended := socket.ReachSocket(ctx, path)
	if errors.Is(ended, fs.ErrNotExist) { // it has ended meanwhile
		return nil, ended
	}
	if ended == nil {
		_ = again.Close()
	}
	return nil, fmt.Errorf("the gateway at %s does not answer: %w", path, err)
}

func closeAll(all []*gatewayClient) {
	for _, g := range all {
		_ = g.c.Close()
	}
}

// call runs an operation of the gateway. The error may be a [*command.Failure] with the error's
// message.
func (g *gatewayClient) call(ctx context.Context, operation string, arguments, data any) error {
	result, err := g.c.CallTool(ctx, strings.ReplaceAll(operation, ".", "_"), arguments)
	if err != nil {
		if f := target.Explain(err); f != nil {
			f.Server = g.name()
			return f
		}
		return err
	}
	var envelope struct {
		Data  json.RawMessage `json:"data"`
		Error *struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(result.StructuredContent, &envelope); err != nil {
		return err
	}
	if e := envelope.Error; e != nil {
		f := &command.Failure{Code: "refused", Server: g.name(), Why: e.Message}
		if e.Code == "not_found" {
			f.Code = e.Code
		}
		return f
	}
	return json.Unmarshal(envelope.Data, data)
}

func (g *gatewayClient) name() string {
	if g.Connection != "" {
		return "@" + g.Connection
	}
	return "gateway " + strconv.Itoa(g.Pid)
}

func (g *gatewayClient) has(id string) bool {
	return g.isWaiting(ops.PendingServer, id) || g.offers(id)
}

// offers reports whether the gateway has a server, which may be disabled.
func (g *gatewayClient) offers(id string) bool {
	return slices.ContainsFunc(g.Servers, func(s ops.Status) bool { return s.Server == id })
}

// isDisabled reports whether a server was disabled when the gateway was asked for its state.
func (g *gatewayClient) isDisabled(id string) bool {
	return slices.ContainsFunc(g.Servers, func(s ops.Status) bool {
		return s.Server == id && s.State == "disabled"
	})
}

// isWaiting reports whether a change of a server or profile waits to be accepted.
func (g *gatewayClient) isWaiting(subject, name string) bool {
	return slices.ContainsFunc(g.Waiting,
		func(w ops.PendingChange) bool { return w.Subject == subject && w.Name == name })
}

// pidFlag returns the flag --pid.
func pidFlag(pid *int) command.Flag {
	return command.Flag{Name: "--pid", Value: "N",
		Help: "the process of the gateway, if there are several; see stdwire status",
		Set: func(value string) (err error) {
			if *pid, err = strconv.Atoi(value); err != nil || *pid <= 0 {
				return fmt.Errorf("%q is not a process ID", value)
			}
			return nil
		}}
}

// withPid returns the gateway with that process ID, or all gateways if pid is 0.
func withPid(all []*gatewayClient, pid int) ([]*gatewayClient, error) {
	if pid == 0 {
		return all, nil
	}
	for _, g := range all {
		if g.Pid == pid {
			return []*gatewayClient{g}, nil
		}
	}
	return nil, &command.Failure{Code: "unreachable",
		Why: fmt.Sprintf("no gateway is process %d", pid), Hint: "there are " + pidsOf(all)}
}

func pidsOf(all []*gatewayClient) string {
	var pids []string
	for _, g := range all {
		pids = append(pids, strconv.Itoa(g.Pid))
	}
	return strings.Join(pids, ", ")
}

// findOne returns the only gateway that matches. If no gateway matches, the error suggests one of
// the names that names returns.
func findOne(all []*gatewayClient, what, name string, isMatch func(*gatewayClient) bool,
	names func(*gatewayClient) []string) (*gatewayClient, error) {
	var matches []*gatewayClient
	var known []string
	for _, g := range all {
		known = append(known, names(g)...)
		if isMatch(g) {
			matches = append(matches, g)
		}
	}
	switch len(matches) {
	case 0:
		slices.Sort(known)
		return nil, (&command.Failure{Code: "not_found",
			Why: fmt.Sprintf("no gateway has a %s %.60q", what, name)}).WithHint(
			near.Instead(name, slices.Compact(known)))
	case 1:
		return matches[0], nil
	}
	return nil, command.Usagef("several gateways have the %s %s", what,
		name).WithHint(fmt.Sprintf("select one with --pid: %s", pidsOf(matches)))
}

// withServer returns the only gateway that has a server.
func withServer(all []*gatewayClient, id string) (*gatewayClient, error) {
	return findOne(all, "server", id, func(g *gatewayClient) bool { return g.has(id) },
		func(g *gatewayClient) (ids []string) {
			for _, s := range g.Servers {
				ids = append(ids, s.Server)
			}
			for _, w := range g.Waiting {
				if w.Subject == ops.PendingServer {
					ids = append(ids, w.Name)
				}
			}
			return ids
		})
}

// withProfile returns the only gateway that has a profile.
func withProfile(all []*gatewayClient, name string) (*gatewayClient, error) {
	return findOne(all, "profile", name, func(g *gatewayClient) bool {
		return slices.Contains(g.Profiles, name)
	}, func(g *gatewayClient) []string { return g.Profiles })
}
