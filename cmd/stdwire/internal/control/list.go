package control

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/configcmd"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// ListCommand returns the command stdwire list.
func ListCommand() command.Command {
	return command.Command{
		Name: "list", Usage: "[--profile NAME] [--config FILE]… [-o text|json]",
		Summary: "list the configured servers, and what running gateways do with them",
		Help: `Prints each server with its state, its command or URL without secrets, and the file that defines it.
The state is that in a running gateway, with the number of tools and the revision, as in stdwire
status; or else valid, disabled, untrusted (see stdwire trust) or broken, as in stdwire config
check. No server is started. If there are several gateways with a server, the first is shown; json
has all.`,
		Make: func() (command.Grammar, command.Runner) {
			var l listOptions
			flags := []command.Flag{command.FormatFlag(&l.output, "text", "json"),
				target.ProfileFlag(&l.profile), l.from.FileFlag()}
			return command.Grammar{Flags: flags}, l.run
		},
	}
}

// listOptions are the options of stdwire list.
type listOptions struct {
	from            target.ConfigFlags
	profile, output string
}

// A listedServer is a configured server.
type listedServer struct {
	ID        string       `json:"id"`
	State     string       `json:"state"`     // of the first gateway, or else of the configuration
	Transport string       `json:"transport"` // stdio or http
	Command   []string     `json:"command,omitempty"`
	URL       string       `json:"url,omitempty"`
	Source    string       `json:"source"` // the position of its definition
	Gateways  []gatewayRun `json:"gateways,omitempty"`
}

// A gatewayRun is the state of a server in a gateway.
type gatewayRun struct {
	Gateway int `json:"gateway"` // its process
	ops.Status
}

func (l *listOptions) run(ctx context.Context, std *term.Streams) error {
	c, env, err := l.from.Load()
	if err != nil {
		return err
	}
	servers, err := c.Select(l.profile)
	if err != nil {
		return target.ConfigFailure(err)
	}
	gateways, err := running(ctx, std, func(g *gatewayClient) bool { return g.Connection == "" },
		nil)
	if _, unreachable := errors.AsType[*command.Failure](err); unreachable {
		std.Err.Printf("warning: %v", err) // of sockets; the configuration is known all the same
	} else if err != nil {
		return err
	}
	defer closeAll(gateways)
	all := []listedServer{}
	for _, s := range servers {
		all = append(all, listed(s, env, gateways))
	}
	failures := target.ErrorsAmong(c.Diagnostics)
	if l.output == "json" {
		if err := std.Out.PrintValue(struct {
			Servers []listedServer `json:"servers"`
		}{all}); err != nil {
			return err
		}
	} else {
		printServers(std.Out, all, time.Now())
		if len(all) == 0 && failures == nil {
			std.Err.Printf("no servers are configured; add one: stdwire add NAME URL, or stdwire add NAME -- COMMAND…")
		}
	}
	if failures != nil {
		target.PrintDiagnostics(std, failures)
		return &command.Failure{Code: "config", Why: command.Plural(len(failures), "error")}
	}
	return nil
}

// listed returns a server with its states in the gateways that have it from the same file.
func listed(s *config.Server, env *config.Environment, gateways []*gatewayClient) listedServer {
	check, _ := configcmd.CheckServer(s, env)
	shown := s.Redacted()
	l := listedServer{ID: s.ID, State: check.State, Transport: "stdio", Source: s.Position.String()}
	switch {
	case s.URL != "":
		l.Transport, l.URL = "http", shown.URL
	case s.Command != "":
		l.Command = append([]string{shown.Command}, shown.Args...)
	}
	for _, g := range gateways {
		if !slices.Contains(g.Files, s.File) {
			continue
		}
		for _, status := range g.Servers {
			if status.Server == s.ID {
				l.Gateways = append(l.Gateways, gatewayRun{g.Pid, status})
			}
		}
	}
	if l.Gateways != nil {
		l.State = l.Gateways[0].State
	}
	return l
}

func printServers(out *term.Output, all []listedServer, now time.Time) {
	var rows [][]string
	for _, s := range all {
		reached := s.URL
		if s.Command != nil {
			var words []string
			for _, word := range s.Command {
				words = append(words, shellwords.Quote(word))
			}
			reached = strings.Join(words, " ")
		}
		row := []string{s.ID, s.State, s.Transport, s.Source, reached}
		if s.Gateways != nil {
			row = append(row, strings.Join(details(s.Gateways[0].Status, now), ", "))
		}
		rows = append(rows, row)
	}
	out.PrintTable(rows, 1)
}
