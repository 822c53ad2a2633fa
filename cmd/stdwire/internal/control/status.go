package control

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/gatewaytext"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/hosts"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
)

// statusCommand returns the command stdwire status.
func statusCommand() command.Command {
	return command.Command{
		Name: "status", Usage: "[--watch] [-o text|json]",
		Summary: "show the running gateways and their servers",
		Help: `Prints each running stdwire serve of yours that offers configured servers: its process, the time of
its start, its address and its configuration files. For each server it prints the state, the
revision, the number of tools, the memory of its processes, the running calls and the time of its
last message; or why the server does not work and when it is started again.

It lists withheld definitions, with the reason and the remedy: a definition differs from the first
use, or a server earlier in the configuration has the same name, which is an error. It also lists
changes of the configuration that wait, and how to accept them, and says why a configuration on disk
is invalid and ignored. A gateway ends with its client, by Ctrl-C, or by kill and its process.

It names the clients that have listed the tools, the principals that they have shown to be, and how
the tools are listed for them.

With --watch it prints, every two seconds until Ctrl-C, each server with its state, the number of
calls, reads and prompts that have ended since this watch began, how many of them failed, their latency, and the number of
withheld definitions. p50 and p95 are the times within which half and 95 % of the last 1,000 were
answered. A gateway that is started again is shown again. If stdout is not a terminal, each server
is a line that begins with the time.`,
		Make: func() (command.Grammar, command.Runner) {
			var output string
			var watched bool
			return command.Grammar{Flags: []command.Flag{
					command.FormatFlag(&output, "text", "json"),
					command.SwitchFlag(&watched, "--watch",
						"show calls, errors and latencies of the servers every two seconds"),
				}},
				func(ctx context.Context, std *term.Streams) error {
					if watched {
						if output == "json" {
							return command.Usagef("--watch prints text").WithHint(
								"leave out -o json")
						}
						ticker := time.NewTicker(watchInterval)
						defer ticker.Stop()
						return watch(ctx, std, ticker.C)
					}
					all, err := runningGateways(ctx, std)
					if err != nil {
						return err
					}
					defer closeAll(all)
					if output == "json" {
						return printStatusJSON(std, all)
					}
					for i, g := range all {
						if i > 0 {
							std.Out.Print("\n")
						}
						g.print(std.Out, time.Now())
					}
					return nil
				}
		},
	}
}

func printStatusJSON(std *term.Streams, all []*gatewayClient) error {
	type gateway struct {
		ops.About
		Servers []ops.Status `json:"servers"`
	}
	list := struct {
		Gateways []gateway `json:"gateways"`
	}{}
	for _, g := range all {
		list.Gateways = append(list.Gateways, gateway{g.About, g.Servers})
	}
	return std.Out.PrintValue(list)
}

// print prints the state of a gateway and its servers.
func (g *gatewayClient) print(out *term.Output, now time.Time) {
	out.Print(fmt.Sprintf("gateway %d  %s, for %s, stdwire %s\n", g.Pid, g.Endpoint,
		age(g.Since, now), g.Version))
	for _, file := range g.Files {
		out.Print("  " + printable.Line(file) + "\n")
	}
	for _, why := range g.Invalid {
		out.PrintState("  invalid: " + printable.Line(why) + "\n")
		out.PrintState("    → it is ignored, and the servers stay as they were\n")
	}
	if len(g.Servers) == 0 {
		out.Print("  no servers\n")
	}
	wide := 0
	for _, s := range g.Servers {
		wide = max(wide, len(s.Server))
	}
	for _, s := range g.Servers {
		out.Print(fmt.Sprintf("  %-*s  ", wide, s.Server))
		row := fmt.Sprintf("%-8s  %4s  %s", s.State, age(s.Since, now),
			strings.Join(details(s, now), ", "))
		out.PrintState(strings.TrimRight(row, " ") + "\n")
		for line := range strings.Lines(gatewaytext.WithheldLines(s)) {
			out.PrintState(line)
		}
	}
	for _, p := range g.Costs {
		out.Print(fmt.Sprintf("  profile %s: %s, %s\n", printable.Line(p.Profile),
			command.Plural(p.Tools, "tool"), tokens(p.Bytes)))
	}
	for _, c := range g.Clients {
		out.Print("  " + clientTools(c) + "\n")
	}
	for _, r := range g.Rates {
		out.Print("  " + rateUse(r) + "\n")
	}
	if g.Store != nil {
		for _, line := range storeLines(g.Store, now) {
			out.PrintState("  " + line + "\n")
		}
	}
	for _, w := range g.Waiting {
		out.PrintState(fmt.Sprintf("  waiting: %s\n", printable.Line(gatewaytext.WaitingText(w))))
	}
}

// storeLines says how a gateway uses a store.
func storeLines(u *ops.StoreUse, now time.Time) (lines []string) {
	text := "store " + printable.Line(u.URL)
	switch {
	case u.Reachable:
		text += ": " + printable.Line(cmp.Or(u.Server, "reachable")) + ", for " + age(u.Since, now)
	default:
		text += ": failed, for " + age(u.Since, now) + ": " + printable.Line(u.Error)
	}
	lines = append(lines, text)
	for _, part := range u.Parts {
		line := "  " + printable.Line(part) + " use it"
		if why := u.Affected[part]; why != "" {
			line = "  " + printable.Line(part) + " do without it: " + printable.Line(why)
		}
		lines = append(lines, line)
	}
	if u.Forwarded > 0 {
		lines = append(lines, fmt.Sprintf("  %s passed on to the gateways that own their sessions",
			command.Plural(int(u.Forwarded), "request")))
	}
	return lines
}

// rateUse says what a rate has refused.
func rateUse(r ops.RateUse) string {
	text := "rate " + printable.Line(r.Rate)
	if r.Limit != "" {
		text += ": " + printable.Line(r.Limit)
	}
	return fmt.Sprintf("%s, %s refused", text, command.Plural(int(r.Refused), "call"))
}

// tokens says how many tokens of a model definitions of so many bytes are.
func tokens(bytes int) string { return fmt.Sprintf("≈ %d tokens", hosts.Tokens(bytes)) }

// clientTools says how the tools are listed for a client.
func clientTools(c ops.ClientTools) string {
	name := cmp.Or(printable.Line(c.Client), "without a name")
	if c.Principal != "" {
		name += " of " + printable.Line(c.Principal)
	}
	if c.Profile != "" {
		name += " (" + c.Profile + ")"
	}
	text := fmt.Sprintf("client %s: all %s, %s", name, command.Plural(c.Tools, "tool"),
		tokens(c.Bytes))
	if c.Search {
		text = fmt.Sprintf("client %s: finds its %s by a search, %s listed of %s", name,
			command.Plural(c.Tools, "tool"), tokens(c.ListedBytes), tokens(c.Bytes))
	}
	if c.OtherNames > 0 {
		text += fmt.Sprintf("; %s by shorter names", command.Plural(c.OtherNames, "tool"))
	}
	if c.Cut > 0 {
		text += fmt.Sprintf("; %s cut", command.Plural(c.Cut, "description"))
	}
	return text
}

// details returns the facts about a server that follow its state in the output.
func details(s ops.Status, now time.Time) (all []string) {
	say := func(when bool, format string, args ...any) {
		if when {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	say(s.Session != "", "session %s", printable.Line(s.Session))
	say(s.Revision != "", "%s (%s)", s.Revision, s.Era)
	if s.Tools != nil {
		say(s.State != "disabled", "%s", command.Plural(*s.Tools, "tool"))
		say(s.State != "disabled" && s.Bytes > 0, "%s", tokens(s.Bytes))
	}
	say(s.Unlisted != nil, "not listed: %ss", strings.Join(s.Unlisted, "s, "))
	say(s.Pid != 0, "process %d", s.Pid)
	say(s.Memory != 0, "%.0f MiB", float64(s.Memory)/(1<<20))
	say(s.Uses != 0, "%s under way", command.Plural(s.Uses, "call"))
	say(s.Heard != "", "heard %s ago", age(s.Heard, now))
	say(s.Restarts != 0, "%s", command.Plural(s.Restarts, "restart"))
	say(s.RetryIn != 0, "again in %d s", s.RetryIn)
	say(s.Error != "", "%s", printable.Line(s.Error))
	return all
}

// age formats the time from since to now in its largest unit. It returns "" if since is "".
func age(since string, now time.Time) string {
	t, err := time.Parse(time.RFC3339, since)
	if err != nil {
		return ""
	}
	switch d := max(0, now.Sub(t)); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}
