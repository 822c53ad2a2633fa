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

// A controlled is a gateway that runs, and the way to it.
type controlled struct {
	ops.About
	ops.Statuses
	c *client.Client
}

// running returns the gateways that run, the oldest first. They are to be hung up on.
func running(ctx context.Context, std *term.Streams) (all []*controlled, err error) {
	var silent []error
	type answer struct {
		g   *controlled
		err error
	}
	for _, a := range target.ForEach(socket.Sockets(), func(path string) answer {
		g, err := callGateway(ctx, path)
		return answer{g, err}
	}) {
		switch {
		case a.err == nil:
			all = append(all, a.g)
		case !errors.Is(a.err, fs.ErrNotExist):
			silent = append(silent, a.err)
		}
	}
	slices.SortFunc(all, func(a, b *controlled) int { return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Pid, b.Pid)) })
	switch {
	case ctx.Err() != nil:
		hangUp(all)
		return nil, context.Cause(ctx)
	case all == nil && silent != nil:
		return nil, &command.Failure{Code: "unreachable", Why: errors.Join(silent...).Error(), Hint: "it may be stuck, or stopped; look at its process"}
	case all == nil:
		return nil, &command.Failure{Code: "unreachable", Why: "no gateway is running", Hint: "stdwire serve --servers is one, or --config FILE, or --profile NAME: have your client start it, or serve it over --http"}
	}
	for _, err := range silent {
		std.Err.Printf("warning: %v", err)
	}
	return all, nil
}

// callGateway connects to the gateway at a socket, and asks what it is and what it has. The error matches [fs.ErrNotExist] for one that is no more.
func callGateway(ctx context.Context, path string) (*controlled, error) {
	conn, err := socket.ReachSocket(ctx, path)
	if err != nil {
		return nil, err
	}
	const patience, ends = 5 * time.Second, time.Minute
	o := client.Options{
		Name: "gateway", Info: mcp.Implementation{Name: "stdwire", Version: command.Version()}, Era: mcp.Modern, StartTimeout: patience, CallTimeout: ends,
		Logger: slog.New(slog.DiscardHandler),
	}
	g := new(controlled)
	if g.c, err = o.Connect(ctx, client.Stream(conn)); err == nil {
		asking, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		err = errors.Join(g.ask(asking, "host.about", nil, &g.About), g.ask(asking, "host.status", nil, &g.Statuses))
		if err != nil {
			_ = g.c.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the gateway at %s does not answer: %w", path, err)
	}
	return g, nil
}

func hangUp(all []*controlled) {
	for _, g := range all {
		_ = g.c.Close()
	}
}

// ask has the gateway run an operation. The error may be a [*failure] with what it says.
func (g *controlled) ask(ctx context.Context, operation string, arguments, data any) error {
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

func (g *controlled) name() string { return "gateway " + strconv.Itoa(g.Pid) }

func (g *controlled) has(id string) bool {
	return g.waits(ops.WaitingServer, id) || slices.ContainsFunc(g.Servers, func(s ops.Status) bool { return s.Server == id })
}

// waits reports whether what the files say of a server or profile waits.
func (g *controlled) waits(kind, name string) bool {
	return slices.ContainsFunc(g.Waiting, func(w ops.Waiting) bool { return w.Kind == kind && w.Name == name })
}

// pidFlag is the flag --pid.
func pidFlag(pid *int) command.Flag {
	return command.Flag{Name: "--pid", Value: "N", Help: "the process of the gateway, if there are several; see stdwire status", Set: func(value string) (err error) {
		if *pid, err = strconv.Atoi(value); err != nil || *pid <= 0 {
			return fmt.Errorf("%q is no process id", value)
		}
		return nil
	}}
}

// of returns those gateways that are process pid, all if that is 0.
func of(all []*controlled, pid int) ([]*controlled, error) {
	if pid == 0 {
		return all, nil
	}
	for _, g := range all {
		if g.Pid == pid {
			return []*controlled{g}, nil
		}
	}
	return nil, &command.Failure{Code: "unreachable", Why: fmt.Sprintf("no gateway is process %d", pid), Hint: "there are " + pidsOf(all)}
}

func pidsOf(all []*controlled) string {
	var pids []string
	for _, g := range all {
		pids = append(pids, strconv.Itoa(g.Pid))
	}
	return strings.Join(pids, ", ")
}

// only returns the one gateway of which that is true; what says what it has, and names are what others have.
func only(all []*controlled, what, name string, has func(*controlled) bool, names func(*controlled) []string) (*controlled, error) {
	var having []*controlled
	var known []string
	for _, g := range all {
		known = append(known, names(g)...)
		if has(g) {
			having = append(having, g)
		}
	}
	switch len(having) {
	case 0:
		slices.Sort(known)
		return nil, (&command.Failure{Code: "not_found", Why: fmt.Sprintf("no gateway has a %s %.60q", what, name)}).WithHint(near.Instead(name, slices.Compact(known)))
	case 1:
		return having[0], nil
	}
	return nil, command.Usagef("several gateways have the %s %s", what, name).WithHint(fmt.Sprintf("say which: --pid, of %s", pidsOf(having)))
}

// withServer returns the one gateway that has a server.
func withServer(all []*controlled, id string) (*controlled, error) {
	return only(all, "server", id, func(g *controlled) bool { return g.has(id) }, func(g *controlled) (ids []string) {
		for _, s := range g.Servers {
			ids = append(ids, s.Server)
		}
		for _, w := range g.Waiting {
			if w.Kind == ops.WaitingServer {
				ids = append(ids, w.Name)
			}
		}
		return ids
	})
}

// withProfile returns the one gateway that has a profile.
func withProfile(all []*controlled, name string) (*controlled, error) {
	return only(all, "profile", name, func(g *controlled) bool { return slices.Contains(g.Profiles, name) }, func(g *controlled) []string { return g.Profiles })
}
