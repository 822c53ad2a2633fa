// Package serve implements stdwire serve: the built-in server and the gateway, on stdio and over
// HTTP.
//
// The command makes of its flags the options of a server, the server, the gateway, and what is
// served over HTTP, in this order, and changes none of them later. A [GatewayConfig] selects the
// configured servers to offer, and a [Gateway] has what they are offered with. Its Start returns a
// [Reloader], which owns the gateway, watches the configuration files and applies additions only
// when the operator accepts them.
package serve

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/access"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/decision"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/messagewatch"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/observe"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/rates"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/resultstore"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/sharedstore"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/transport"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
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
			f := new(serveFlags)
			ofGateway := f.gateway.flags()
			flags := slices.Concat(f.builtin.ServerFlags(), f.skills.flags(), ofGateway,
				f.policy.flags(), f.http.Flags(), f.store.Flags(), f.store.ForwardFlags(),
				f.log.flags(), f.observed.Flags())
			check := func(given command.Given) error {
				own := f.builtin.FirstFlag()
				if f.gateway.isEnabled() && !f.builtin.HasFlags() && own != "" {
					return command.Usagef("%s is for stdwire's own tools, which are not offered",
						own).WithHint("add --root DIR, or leave out " + own)
				}
				if f.policy.dryRun && f.policy.file == "" && !f.gateway.isEnabled() {
					return command.Usagef("--policy-dry-run needs rules").WithHint(
						"add --policy FILE")
				}
				if err := f.store.Check(f.http.StateKey); err != nil {
					return err
				}
				if err := f.store.CheckLogins(&f.gateway.logins); err != nil {
					return err
				}
				if f.store.IsGiven() && !f.gateway.isEnabled() && f.http.Address == "" {
					return command.Usagef("--store is for sessions over HTTP and for " +
						"configured servers").WithHint("add --http ADDR, --config FILE, " +
						"--profile NAME or --servers")
				}
				if err := f.http.CheckReplicaURL(f.store.ReplicaURL(),
					f.store.HasReplicaCertificate()); err != nil {
					return err
				}
				return f.gateway.check(given, ofGateway)
			}
			return command.Grammar{Flags: flags, Check: check},
				func(ctx context.Context, std *term.Streams) error {
					log, failed := f.log.open(std)
					if f.http.ServesMetrics() {
						f.observed.ServeMetrics()
					}
					recorder, err := f.observed.Open(std, log)
					if err == nil {
						err = f.serve(ctx, std, recorder, recorder.Logger(log))
						recorder.Close()
					}
					failed(err)
					return err
				}
		},
	}
}

// serveFlags are the flags of stdwire serve.
type serveFlags struct {
	builtin  target.BuiltinFlags
	gateway  GatewayConfig
	skills   skillFlags
	http     transport.HTTPFlags
	store    sharedstore.Flags
	policy   policyFlags
	log      logFlags
	observed observe.Flags
}

// resultLifetime is how long large results are kept for other gateways, as by the one that has made
// them.
const resultLifetime = time.Hour

// settleTimeout is how long the first lists wait for the servers of a gateway. Tools of servers
// that start later are announced by list_changed, which some clients ignore.
const settleTimeout = 5 * time.Second

// serve serves until stdin or ctx ends.
func (f *serveFlags) serve(ctx context.Context, std *term.Streams, recorder *observe.Recorder,
	log *slog.Logger) (err error) {
	if err := f.http.Check(); err != nil {
		return err
	}
	if err := f.gateway.checkHTTP(f.http.Address); err != nil {
		return err
	}
	f.http.Public, f.http.Replica = f.gateway.publicURL, f.store.ReplicaURL()
	relied := append(f.http.ReliedOn(), f.store.ReliedOn()...)
	if f.policy.file != "" {
		relied = append(relied, transport.ReliedOn{What: "the file of rules", Path: f.policy.file})
	}
	for _, r := range relied {
		if err := f.builtin.Writable().Refuse(r.What, r.Path); err != nil {
			return err
		}
	}
	own := &target.BuiltinServer{Catalog: dispatch.NewCatalog(f.gateway.gates()...)}
	options := server.Options{Logger: log}
	if !f.gateway.isEnabled() || f.builtin.HasFlags() {
		if own, err = f.builtin.Open(log, f.gateway.gates()...); err != nil {
			return err
		}
		options = f.builtin.Options(log)
	}
	options.StateKey, options.ShutdownTimeout = f.http.StateKey, transport.ShutdownTimeout
	recorder.Server(&options)
	rules, applies := access.New(f.policy.dryRun, log),
		f.policy.file != "" || f.gateway.isEnabled()
	var s *server.Server
	if applies {
		options.Visible = rules.Visible(func() *server.Server { return s }, own.Catalog,
			f.gateway.Profile)
		options.Middleware = append(options.Middleware, access.Profile(f.gateway.Profile))
		options.Dispatch.Interceptors = append(options.Dispatch.Interceptors,
			rules.Operations(own.Catalog))
	}
	g := Gateway{GatewayConfig: &f.gateway, Catalog: own.Catalog, Std: std, Log: log,
		Writable: f.builtin.Writable(), Recorder: recorder,
		PolicyFile: f.policy.file, Rules: rules}
	starting := newStartup()
	if g.store, err = f.store.Open(f.http.StateKey, log); err != nil {
		return errors.Join(err, own.Close())
	}
	defer g.store.Close()
	var sessions *streamable.Store
	forward, err := f.store.Forward(log)
	if err != nil {
		return errors.Join(err, own.Close())
	}
	if f.http.Address != "" && g.store != nil {
		if sessions, err = f.store.OpenSessions(f.http.StateKey); err != nil {
			return errors.Join(err, own.Close())
		}
		defer sessions.Close()
		g.store.Use(sharedstore.Part{Name: "sessions",
			DoesWithout: func() bool { return sessions.Failure() != nil },
			Without:     "requests of sessions are refused with 503 until it can be used"})
	}
	if f.gateway.isEnabled() {
		if g.Limits, g.views, err = f.gateway.loadSettings(); err != nil {
			return errors.Join(err, own.Close())
		}
		g.limit(&options)
		options.ToolView = g.views.of
		if g.views.config.Load().RatesAt != (config.Position{}) {
			g.Rates = rates.New(recorder.Telemetry)
			if g.store != nil {
				g.Rates.Share(g.store, lograte.Logger(log))
				g.store.Use(sharedstore.Part{Name: "rates", DoesWithout: g.Rates.DoesWithout,
					Without: "those with replicas allow their part here, and others nothing"})
			}
			options.Dispatch.Interceptors = append(options.Dispatch.Interceptors,
				g.Rates.Operations(own.Catalog))
		}
		if g.store != nil {
			g.decisions = decision.New(g.store, lograte.Logger(log))
			g.store.Use(sharedstore.Part{Name: "decisions",
				DoesWithout: func() bool { return g.decisions.Failure() != nil },
				Without:     "servers that are disabled and definitions that are accepted elsewhere are followed when it can be used"})
			g.results = resultstore.New(g.store, resultLifetime, lograte.Logger(log))
			g.store.Use(sharedstore.Part{Name: "results", DoesWithout: g.results.DoesWithout,
				Without: "large results can be read only at the gateway that has made them"})
		}
		if f.http.Address != "" {
			if g.Logins, err = f.gateway.newLogins(g.store, f.http.StateKey, log); err != nil {
				return errors.Join(err, own.Close())
			}
		}
		options.Middleware = append(options.Middleware, starting.middleware)
		g.Messages = messagewatch.New()
		defer g.Messages.Close()
		g.Messages.ObserveClients(&options.Hooks)
	}
	g.store.Start(recorder.Telemetry)
	s = options.New(server.Info{Name: f.http.ServerName(), Version: command.Version()},
		own.Catalog)
	if err := addApps(s, own.Catalog, options.Tools); err != nil {
		return errors.Join(err, own.Close())
	}
	skills, err := f.skills.serve(ctx, s, log, g.Writable)
	if err != nil {
		return errors.Join(err, own.Close())
	}
	defer skills.close()
	g.Server = s
	web := transport.HTTPServer{HTTPFlags: &f.http, Endpoints: transport.NewEndpoints(s, nil),
		Operations: own.Catalog, Builtin: own.Catalog, Recorder: recorder, Sessions: sessions,
		Forward: forward}
	if applies {
		web.Rules = rules
	}
	if g.store != nil {
		g.store.Forwarded = func() int64 { return web.Endpoints.Stats().Forwarded }
		web.Readiness = func() transport.Readiness {
			r := transport.Readiness{Ready: true}
			g.store.AddTo(&r)
			return r
		}
	}
	needsHeaders := func() bool { return false }
	transports := map[string]func() int{"stdio": func() int { return 1 }}
	if f.gateway.isEnabled() {
		announce := s.Integration().DeferListChanged()
		if f.http.Address != "" {
			g.Operations = own.Catalog.Clone() // the HTTP API also has the tools of servers
			if f.gateway.Profile == "" {
				g.Endpoints = transport.NewEndpoints(s, profileServers(s, options, rules))
			}
		}
		var st *Reloader
		if st, err = g.Start(); err != nil {
			return errors.Join(err, own.Close())
		}
		defer func() { err = errors.Join(err, st.Close()) }()
		if f.gateway.warmLists {
			return errors.Join(st.warmLists(ctx), own.Close())
		}
		if f.http.Address != "" {
			st.setEndpoint(f.http.URL()) // until the port is known
			web = st.httpServer(web, starting)
			needsHeaders = st.needsHeaders
		}
		recorder.Gateway(st.Gateway)
		st.start(ctx, starting, announce)
		recallCtx, cancel := context.WithTimeout(ctx, settleTimeout)
		st.Gateway.Recall(recallCtx)
		cancel()
		transports["socket"] = st.clients.Conns
	} else if applies {
		p, err := access.Load(f.policy.file, nil)
		if err != nil {
			return errors.Join(err, own.Close())
		}
		rules.Set(p, true)
		defer f.policy.watch(ctx, rules, func() { s.Integration().ListsChanged(nil) }, std, log)()
	}
	if f.http.Address != "" {
		delete(transports, "stdio")
		transports["http"] = func() int { return web.Endpoints.Stats().Sessions }
	}
	passCallersOn(forward, needsHeaders)
	transport.AddSessionMetrics(recorder.Telemetry, transports)
	if f.http.Address != "" {
		return errors.Join(web.Serve(ctx, std, log), own.Close())
	}
	if std.InTerminal {
		std.Err.Printf("stdwire: an MCP server on stdin and stdout, for a client to start; Ctrl-D or Ctrl-C stops it")
	}
	return errors.Join(transport.Stdio(ctx, std, s, log), own.Close())
}
