package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/printable"
)

// errNoConnections means that no connection exists.
var errNoConnections = &command.Failure{Code: "unreachable", Why: "there are no connections",
	Hint: "begin one: stdwire connect @NAME -s ID, --url URL or -- COMMAND…"}

// connections returns the connections of stdwire connect, the oldest first. The caller closes them
// with closeAll. The error is errNoConnections if there are none.
func connections(ctx context.Context, std *term.Streams) ([]*gatewayClient, error) {
	return running(ctx, std, func(g *gatewayClient) bool { return g.Connection != "" },
		errNoConnections)
}

// connectListCommand returns the command stdwire connect list.
func connectListCommand() command.Command {
	return command.Command{
		Name: "connect list", Usage: "[-o text|json]",
		Summary: "list the connections of stdwire connect",
		Help: `Prints each connection with its name, its server, its age, and the state of the server as in
stdwire status. If there are none, it prints "no connections" and succeeds.`,
		Make: func() (command.Grammar, command.Runner) {
			var output string
			return command.Grammar{
					Flags: []command.Flag{command.FormatFlag(&output, "text", "json")}},
				func(ctx context.Context, std *term.Streams) error {
					all, err := connections(ctx, std)
					if err == errNoConnections {
						err = nil
					}
					if err != nil {
						return err
					}
					defer closeAll(all)
					if output == "json" {
						return printConnectionsJSON(std, all)
					}
					printConnections(std, all, time.Now())
					return nil
				}
		},
	}
}

func printConnectionsJSON(std *term.Streams, all []*gatewayClient) error {
	type connection struct {
		Name    string `json:"name"`
		Behind  string `json:"behind"`
		Pid     int    `json:"pid"`
		Version string `json:"version"`
		Since   string `json:"since"`
		Dir     string `json:"dir"`

		Server *ops.Status `json:"server,omitempty"`
	}
	list := struct {
		Connections []connection `json:"connections"`
	}{[]connection{}}
	for _, g := range all {
		list.Connections = append(list.Connections,
			connection{g.Connection, g.Behind, g.Pid, g.Version, g.Since, g.Dir, g.server()})
	}
	return std.Out.PrintValue(list)
}

// server returns the state of the server of a connection, or nil.
func (g *gatewayClient) server() *ops.Status {
	if len(g.Servers) == 0 {
		return nil
	}
	return &g.Servers[0]
}

func printConnections(std *term.Streams, all []*gatewayClient, now time.Time) {
	if len(all) == 0 {
		std.Out.Print("no connections\n")
	}
	var rows [][]string
	for _, g := range all {
		rows = append(rows, []string{"@" + g.Connection, printable.Line(g.Behind)})
	}
	columns := std.Out.Columns()
	widths := columns.Widths(rows)
	for i, g := range all {
		row := columns.Pad(rows[i][0], widths[0]) + "  " + columns.Pad(rows[i][1], widths[1]) +
			"  for " + age(g.Since, now)
		if s := g.server(); s != nil {
			row += "  " + strings.Join(append([]string{s.State}, details(*s, now)...), ", ")
		}
		std.Out.Print(row + "\n")
	}
}

// withNames returns the connections with these names.
func withNames(all []*gatewayClient, names []string) (selected []*gatewayClient, err error) {
	var known []string
	for _, g := range all {
		known = append(known, g.name())
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(g *gatewayClient) bool { return g.Connection == name })
		if i < 0 {
			return nil, (&command.Failure{Code: "not_found",
				Why: fmt.Sprintf("there is no connection @%.40s", name)}).WithHint(
				near.Instead("@"+name, known))
		}
		if !slices.Contains(selected, all[i]) {
			selected = append(selected, all[i])
		}
	}
	return selected, nil
}

// stop ends a connection, and waits until its server has ended.
func (g *gatewayClient) stop(ctx context.Context) error {
	var none struct{}
	if err := g.call(ctx, "host.stop", nil, &none); ctx.Err() != nil {
		return context.Cause(ctx)
	} else if f, ok := errors.AsType[*command.Failure](err); ok && f.Code == "refused" {
		return err
	} // another error means that it has ended before it answered
	const limit = time.Minute
	select {
	case <-g.c.Done(): // the process has closed the socket
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(limit):
		return &command.Failure{Code: "call_timeout", Server: g.name(),
			Why:  "its server has not ended within " + command.ShortDuration(limit),
			Hint: fmt.Sprintf("end its process, %d", g.Pid)}
	}
}
