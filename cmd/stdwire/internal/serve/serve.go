// Package serve implements stdwire serve and stdwire bridge: the built-in server and the gateway,
// on stdio and over HTTP.
//
// A [GatewayConfig] selects the configured servers to offer. Its Start returns a [Reloader], which
// owns the gateway, watches the configuration files and applies additions only when the operator
// accepts them. The package also has the control socket, the endpoints of profiles, hooks, the
// audit log and, for stdwire run, the tools of configured servers as operations.
package serve

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/observe"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/server"
)

// ServeCommand returns the command stdwire serve.
func ServeCommand() command.Command {
	return command.Command{
		Name: "serve", Usage: "[--root [NAME=]DIR]… [--write] [--allow-exec[=CMD,…]] [--allow-eval] [--skills DIR]… [--config FILE] [--audit FILE] [--http ADDR]",
		Summary: "run an MCP server with its own tools or those of configured servers",
		Help: `Serves MCP clients of all revisions until stdin ends, or until SIGINT or SIGTERM; the exit code is
then 0. Logs go to stderr, with --log-format json as lines of JSON. File operations cannot leave the
roots, and change nothing without --write. Without --allow-exec and --allow-eval no program can be
run; a program that runs has all your rights.

An operation that destroys something runs only after the client's user has confirmed it. For a
client that cannot ask its user it does not run, unless --confirm trust says that the client itself
asks.

With --config, --profile or --servers it offers the tools, prompts, resources and skills of
configured servers. Names begin with the id of the server, as in files__read. Its own tools are then
offered only with --root or another flag for them. Changed definitions are withheld, and changes of
the configuration that add something wait, until you accept them. stdwire help gateway explains
this, --audit, --before and --after.

With --skills it serves the skills of a directory: each directory with a SKILL.md and all files
below it, except those whose names start with a dot. Changes are announced a second later. An
invalid skill is left out, and the log says why.

With --http it serves MCP clients at /mcp and other HTTP clients at /v1/, with a bearer token or
with access tokens of an authorization server. stdwire help http, auth and replicas explain
this.

  stdwire serve --root . --write
  stdwire serve --skills ~/.claude/skills
  stdwire serve --servers --audit calls.jsonl --before 'python3 policy.py'
  stdwire serve --http 127.0.0.1:8080 --token-env TOKEN`,
		Make: func() (command.Grammar, command.Runner) {
			b, m := new(target.BuiltinFlags), new(GatewayConfig)
			w, l, k := new(httpServer), new(logFlags), new(skillDirs)
			observed := new(observe.Flags)
			others := m.flags()
			flags := slices.Concat(b.ServerFlags(), k.flags(), others, w.flags(), l.flags(),
				observed.Flags())
			check := func(given command.Given) error {
				if own := b.FirstFlag(); m.isEnabled() && !b.HasFlags() && own != "" {
					return command.Usagef("%s is for stdwire's own tools, which are not offered",
						own).WithHint("add --root DIR, or leave out " + own)
				}
				return m.check(given, others)
			}
			return command.Grammar{Flags: flags, Check: check},
				func(ctx context.Context, std *term.Streams) error {
					log, failed := l.open(std)
					if w.metrics != "" {
						observed.ServeMetrics()
					}
					recorder, err := observed.Open(std, log)
					if err == nil {
						m.recorder, w.recorder = recorder, recorder
						err = serveMCP(ctx, std, b, k, m, w, recorder.Logger(log))
						recorder.Close()
					}
					failed(err)
					return err
				}
		},
	}
}

// settleTimeout is how long the first lists wait for the servers of a gateway. Tools of servers
// that start later are announced by list_changed, which some clients ignore.
const settleTimeout = 5 * time.Second

// serveMCP serves until stdin or ctx ends.
func serveMCP(ctx context.Context, std *term.Streams, b *target.BuiltinFlags, k *skillDirs,
	m *GatewayConfig, w *httpServer, log *slog.Logger) (err error) {
	if err := w.check(); err != nil {
		return err
	}
	o := &target.BuiltinServer{Catalog: dispatch.NewCatalog(m.gates()...)}
	options := server.Options{Logger: log}
	if !m.isEnabled() || b.HasFlags() {
		if o, err = b.Open(log, m.gates()...); err != nil {
			return err
		}
		options = b.Options(log)
	}
	options.StateKey, options.ShutdownTimeout = w.stateKey, shutdownTimeout
	m.recorder.Server(&options)
	starting := newStartup()
	if m.isEnabled() {
		if err := m.loadLimits(); err != nil {
			return errors.Join(err, o.Close())
		}
		options.Middleware = append(options.Middleware, starting.middleware)
		options.MaxSubscriptions = m.limits.MaxSubscriptions
		options.MaxWatched = m.limits.MaxWatched
		if most := m.limits.MaxMemory; most > 0 {
			options.Memory = quota.NewPool(int64(most))
		}
		w.limits = m.limits
		m.messages = newWatchedMessages()
		defer m.messages.close()
		m.messages.observeClients(&options.Hooks)
		w.watched = m.messages
	}
	s := options.New(server.Info{Name: w.card.serverName(), Version: command.Version()}, o.Catalog)
	if err := addApps(s, o.Catalog, options.Tools); err != nil {
		return errors.Join(err, o.Close())
	}
	if err := k.open(s, log, b.Writable()); err != nil {
		return errors.Join(err, o.Close())
	}
	defer k.close()
	k.watch(ctx)
	e := &endpoints{main: &endpoint{server: s}}
	transports := map[string]func() int{"stdio": func() int { return 1 }}
	if w.address != "" {
		transports = map[string]func() int{"http": func() int { return e.stats().Sessions }}
	}
	operations := o.Catalog // for the HTTP API, which also has the tools of configured servers
	if m.isEnabled() {
		starting.announce = s.Integration().DeferListChanged()
		if w.address != "" {
			operations = o.Catalog.Clone()
			m.operations = operations
			m.serveProfiles(e,
				server.Options{Logger: log, StateKey: w.stateKey, Memory: s.Integration().Memory(),
					Middleware: options.Middleware, Outgoing: options.Outgoing,
					Watched:          s.Integration().Watched(),
					MaxWatched:       options.MaxWatched,
					MaxSubscriptions: options.MaxSubscriptions, Hooks: options.Hooks})
		}
		m.writable = b.Writable()
		defer func() { err = errors.Join(err, m.close()) }()
		st, err := m.Start(s, o.Catalog, std, log)
		if err != nil {
			return errors.Join(err, o.Close())
		}
		defer st.Close()
		if m.warmLists {
			return errors.Join(st.warmLists(ctx), o.Close())
		}
		if w.address != "" {
			st.setEndpoint(w.baseURL(w.address) + mainPath) // until the port is known
		}
		w.listening, w.missing, w.starting = st.setEndpoint, st.Gateway.AwaitOperation, starting
		w.servers, w.required = st.Gateway.Manager(), st.requiredServers
		addGatewayMetrics(m.recorder.Telemetry, st.Gateway)
		st.start(ctx, starting)
		transports["socket"] = st.clients.open
	}
	addSessionMetrics(m.recorder.Telemetry, transports)
	if w.address != "" {
		return errors.Join(w.serve(ctx, std, e, operations, log), o.Close())
	}
	if std.InTerminal {
		std.Err.Printf("stdwire: an MCP server on stdin and stdout, for a client to start; Ctrl-D or Ctrl-C stops it")
	}
	return errors.Join(serveStdio(ctx, std, s, log), o.Close())
}
