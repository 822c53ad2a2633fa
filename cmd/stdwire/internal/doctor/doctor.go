// Package doctor implements stdwire doctor, which starts servers and reports defects that prevent
// clients from using them, and stdwire scan, which reports parts of their definitions that could
// mislead a model or a user.
package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/hosts"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// DoctorCommand returns the command stdwire doctor.
func DoctorCommand() command.Command {
	return command.Command{
		Name: "doctor", Usage: "[ID]… [--for HOST] [--profile NAME] [--config FILE]… [-o text|json] [FLAG]… [-- SERVER-COMMAND…]",
		Summary: "check servers, and suggest remedies",
		Help: `Checks all servers of the configuration, those that are named, or the server after -- or at --url:
whether it is trusted and can be started, how it answers, whether its definitions are valid,
unchanged and unique, and how it stops. It calls no tool. With --url it also reads the server card,
if there is one, and reports differences between the card and the server.

--for HOST also checks names, descriptions, schemas, instructions and the number of tools against
what an application or API is known to do with them. json has the source of that knowledge.

The verdict is ok; warning, if a server does not work everywhere or in full; or broken. The exit
code is 10 if a server is broken.

  stdwire doctor
  stdwire doctor files -o json
  stdwire doctor --for codex files
  stdwire doctor -- npx -y @modelcontextprotocol/server-everything`,
		Make: func() (command.Grammar, command.Runner) {
			d := new(doctorOptions)
			word := func(w string) error {
				if target.IsURL(w) {
					return d.remote.SetURL(w)
				}
				d.ids = append(d.ids, w)
				return nil
			}
			flags := []command.Flag{command.FormatFlag(&d.output, "text", "json"),
				target.ProfileFlag(&d.profile), {Name: "-s", Value: "ID", Many: true,
					Help: "a server from the configuration, as without -s",
					Set: func(id string) error {
						d.selected = true
						return word(id)
					}}}
			flags = append(flags, hostFlag(&d.host))
			flags = append(append(append(flags, d.from.Flags()...), d.remote.Flags()...),
				target.StartTimeoutFlag(&d.startTimeout), output.ListTimeoutFlag(&d.listTimeout))
			return command.Grammar{Flags: flags, Word: word,
				Command: func(words []string) { d.words = words }}, d.run
		},
	}
}

// doctorOptions are the options of stdwire doctor.
type doctorOptions struct {
	from         target.ConfigFlags
	profile      string
	ids          []string // empty means all
	selected     bool     // -s is given
	remote       target.Remote
	words        []string // of a command
	output       string
	startTimeout time.Duration // 0: that of the configuration or the client
	listTimeout  time.Duration // for each list
	host         *hosts.Host   // of --for; nil without

	pins *pin.File
}

// A subject is a server to check.
type subject struct {
	id          string
	server      *config.Server // nil if it is not from the configuration
	diagnostics []config.Diagnostic
	arguments   string // the arguments that select the server on the command line
	launcher    string // its command; "" for a server at a URL
	connect     func(context.Context, client.Options) (*client.Client, error)
	card        *cardReader // nil: there is no URL to read a server card of
	trusted     func() error
}

func (d *doctorOptions) check() error {
	configured := d.from.Given()
	switch {
	case d.selected:
		configured = "-s"
	case d.ids != nil:
		configured = d.ids[0]
	case d.profile != "":
		configured = "--profile"
	}
	switch {
	case d.words != nil && d.remote.URL != "":
		return command.Usagef(
			"--url and a command after -- exclude each other")
	case configured != "" && (d.words != nil || d.remote.URL != ""):
		return command.Usagef(
			"%s is for servers of the configuration, and cannot be combined with --url or a command",
			configured)
	}
	return d.remote.Check()
}

func (d *doctorOptions) run(ctx context.Context, std *term.Streams) error {
	if err := d.check(); err != nil {
		return err
	}
	patients, err := d.subjects(std)
	if err != nil {
		return err
	}
	if d.pins, err = target.OpenPins(); err != nil {
		return err
	}
	var left atomic.Int64
	left.Store(int64(len(patients)))
	stop := std.Err.StatusAfter(3*time.Second, func(elapsed time.Duration) string {
		return fmt.Sprintf("still checking %s %s", command.Plural(int(left.Load()), "server"),
			elapsed.Round(time.Second))
	})
	charts := target.ForEach(patients, func(p *subject) *Report {
		defer left.Add(-1)
		return d.examine(ctx, p)
	})
	stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	findCollisions(charts)
	if err := printReports(std, d.output, charts); err != nil {
		return err
	}
	broken := 0
	for _, c := range charts {
		if c.Verdict == Broken {
			broken++
		}
	}
	if broken > 0 {
		return &command.Failure{Code: "findings",
			Why: fmt.Sprintf("%d of %s cannot be used", broken,
				command.Plural(len(charts), "server"))}
	}
	return nil
}

// subjects returns the servers to check.
func (d *doctorOptions) subjects(std *term.Streams) ([]*subject, error) {
	switch {
	case d.words != nil:
		return []*subject{{
			id: filepath.Base(d.words[0]), arguments: "-- COMMAND…", launcher: d.words[0],
			connect: func(ctx context.Context, o client.Options) (*client.Client, error) {
				return o.Spawn(ctx, client.Command{Path: d.words[0], Args: d.words[1:],
					InheritEnv: []string{"*"}, // as from a shell
					Start:      std.Servers.Start})
			},
		}}, nil
	case d.remote.URL != "":
		return []*subject{{
			id: d.remote.Host(), arguments: "--url URL",
			card: &cardReader{options: d.remote.Public(), endpoint: d.remote.URL},
			connect: func(ctx context.Context, o client.Options) (*client.Client, error) {
				return o.Connect(ctx, d.remote.Dial())
			},
		}}, nil
	}
	c, err := d.from.Select(d.profile)
	if err != nil {
		return nil, err
	}
	if err := c.Keep(d.ids); err != nil {
		return nil, err
	}
	target.PrintDiagnostics(std, c.DiagnosticsFor(""))
	store := config.UserStore(c.Env)
	files := ""
	for _, file := range d.from.Files {
		files += " --config " + shellwords.Quote(file)
	}
	var all []*subject
	for _, s := range c.Servers {
		all = append(all, &subject{
			id: s.ID, server: s, diagnostics: c.DiagnosticsFor(s.ID), arguments: "-s " + s.ID +
				files, launcher: s.Command,
			connect: func(ctx context.Context, o client.Options) (*client.Client, error) {
				return target.StartServer(ctx, std, s, c.Env, o)
			},
			trusted: func() error { return store.Check(s) },
		})
	}
	if all == nil {
		std.Err.Printf(target.NothingConfigured)
	}
	return all, nil
}
