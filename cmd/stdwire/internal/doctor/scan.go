package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/apps"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// ScanCommand returns the command stdwire scan.
func ScanCommand() command.Command {
	return command.Command{
		Name: "scan", Usage: "[--servers|--profile NAME] [-o text|json|sarif] [--fail-on SEVERITY] [--ignore RULE[:SERVER[:NAME]]]… [FLAG]… [-- SERVER-COMMAND…]",
		Summary: "search servers' definitions for text that misleads models or users",
		Help: `Searches the definitions of a server for hidden text, misplaced instructions, confusable names,
combinations of tools that can leak data, and secrets in its command or URL. It searches the pages
of apps for foreign origins, hidden scripts and permissions, and the files of skills for downloads
and malicious code. --servers, --profile or --config alone scan all configured servers, each by
itself and all together, as does no server at a terminal. A server that does not answer is reported; if there are no findings, the
exit code is then 4. No tool is called, and no data leave the machine. The rules for instructions
are patterns: a scan without findings does not prove that a server can be trusted.

The exit code is 10 if a finding is at least as severe as --fail-on. sarif is for programs that
collect findings (SARIF 2.1.0).

  stdwire scan --servers
  stdwire scan -- npx -y @modelcontextprotocol/server-filesystem .
  stdwire scan -o sarif --fail-on never -- uvx mcp-server-git >scan.sarif`,
		Make: func() (command.Grammar, command.Runner) {
			t, r := target.NewTarget(), NewReportOptions()
			s := &scanOptions{single: t}
			return command.Grammar{Flags: append(r.flags(), s.flags()...), Command: t.Command,
					Address: t.TakeAddress,
					Check:   s.check, More: listRules},
				func(ctx context.Context, std *term.Streams) error {
					if s.isConfiguration() || s.extra == "" && t.ByDefault(std) {
						servers, missed, err := s.inventories(ctx, std)
						if err == nil {
							err = r.Scan(std, servers)
						}
						if err == nil && missed > 0 {
							err = incompleteScan(missed)
						}
						return err
					}
					var servers []scan.Server
					err := t.UseWith(ctx, std, apps.Declare, func(c *client.Client) error {
						s, err := inventory(ctx, c, t.Name(), t.ListTimeout)
						s.Config = t.Config()
						servers = append(servers, s)
						return err
					})
					if err != nil {
						return err
					}
					return r.Scan(std, servers)
				}
		},
	}
}

// inventory lists all definitions of a server.
func inventory(ctx context.Context, c *client.Client, id string,
	listTimeout time.Duration) (scan.Server, error) {
	s := scan.Server{ID: id, Handshake: c.Handshake().Result,
		Lists: map[mcp.Kind][]json.RawMessage{}}
	for _, l := range output.Lists() {
		l = l.WithTimeout(listTimeout)
		list, err := l.JSON(ctx, c)
		switch {
		case errors.Is(err, rpc.ErrMethodNotFound): // it has no such list
			continue
		case err != nil:
			return s, err
		}
		for definition := range jsonscan.Elements(list) {
			s.Lists[l.Kind] = append(s.Lists[l.Kind], definition)
		}
	}
	s.Files = skillFiles(ctx, c, s.Lists[mcp.KindSkill])
	if err := ctx.Err(); err != nil {
		return s, err
	}
	return s, readApps(ctx, c, &s, listTimeout)
}

// readApps reads the apps of the tools. It leaves out an app that cannot be read.
func readApps(ctx context.Context, c *client.Client, s *scan.Server,
	timeout time.Duration) error {
	pages, _, err := output.ReadApps(ctx, c, client.Timeout(timeout))
	if err != nil && !errors.Is(err, rpc.ErrMethodNotFound) {
		return err
	}
	for _, a := range pages {
		origins, invalid := a.Origins()
		s.Apps = append(s.Apps, scan.App{URI: a.URI, HTML: a.HTML, Origins: origins,
			Invalid: invalid, Permissions: a.Permissions()})
	}
	return nil
}

// reportOptions select how findings are printed and which of them make the command fail.
type reportOptions struct {
	Output string
	failOn string // a severity, or never
	Ignore []string
}

const failNever = "never"

func NewReportOptions() *reportOptions { return &reportOptions{failOn: scan.High.String()} }

func (r *reportOptions) flags() []command.Flag {
	return []command.Flag{
		command.FormatFlag(&r.Output, "text", "json", "sarif"),
		command.ChoiceFlag(&r.failOn, "--fail-on",
			"lowest severity that makes the command fail (default high)",
			append(scan.Severities(), failNever)...),
		{Name: "--ignore", Value: "RULE[:SERVER[:NAME]]", Many: true,
			Help: "omit findings that you have reviewed", Set: func(value string) error {
				rule, _, _ := strings.Cut(value, ":")
				if ids := ruleIDs(); !slices.Contains(ids, rule) {
					return command.Usagef("--ignore: there is no rule %q",
						rule).WithHint(near.Instead(rule, ids))
				}
				r.Ignore = append(r.Ignore, value)
				return nil
			}},
	}
}

// Scan scans all servers together and prints the findings. The error is a [*command.Failure] if one
// of them is severe enough.
func (r *reportOptions) Scan(std *term.Streams, servers []scan.Server) error {
	found := scan.Scan(servers)
	used := map[string]bool{}
	kept := slices.DeleteFunc(slices.Clone(found), func(f scan.Finding) bool {
		i := slices.IndexFunc(r.Ignore, f.Ignored)
		if i >= 0 {
			used[r.Ignore[i]] = true
		}
		return i >= 0
	})
	for _, each := range r.Ignore {
		if !used[each] {
			std.Err.Printf("note: --ignore %s matches no finding", each)
		}
	}
	s := output.ScanSummary{Servers: len(servers), Ignored: len(found) - len(kept)}
	s.Count(servers, kept)
	if err := r.print(std, kept, s); err != nil {
		return err
	}
	return r.verdict(kept)
}

func (r *reportOptions) print(std *term.Streams, found []scan.Finding, s output.ScanSummary) error {
	switch r.Output {
	case "json":
		return output.PrintValue(std, struct {
			Findings []scan.Finding     `json:"findings"`
			Summary  output.ScanSummary `json:"summary"`
		}{found, s})
	case "sarif":
		text, err := scan.SARIF(found, command.Version())
		if err == nil {
			std.Out.PrintJSON(text)
		}
		return err
	}
	output.PrintFindings(std.Out, found)
	std.Out.Print(s.Text() + "\n")
	return nil
}

// verdict returns a [*command.Failure] if findings are severe enough, or nil.
func (r *reportOptions) verdict(found []scan.Finding) error {
	var least scan.Severity
	if r.failOn == failNever || least.UnmarshalText([]byte(r.failOn)) != nil {
		return nil
	}
	n := 0
	for _, f := range found {
		if f.Severity >= least {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	or := " or worse"
	if least == scan.Critical {
		or = ""
	}
	return &command.Failure{Code: "findings",
		Why:  fmt.Sprintf("%s of severity %s%s", command.Plural(n, "finding"), least, or),
		Hint: "to ignore a finding that you reviewed and that is harmless: --ignore RULE:SERVER:NAME"}
}

func ruleIDs() (ids []string) {
	for _, rule := range scan.Rules() {
		ids = append(ids, rule.ID)
	}
	return ids
}

// listRules prints the rules of the scan.
func listRules(_ context.Context, std *term.Streams) error {
	var b strings.Builder
	b.WriteString("Rules:\n")
	for _, rule := range scan.Rules() {
		const column = 28
		b.WriteString(std.Out.Columns().WrapAfter("  "+rule.ID, rule.Title, column) + "\n")
	}
	std.Out.Print(b.String())
	return nil
}
