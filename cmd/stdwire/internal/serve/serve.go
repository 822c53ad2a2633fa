// Package serve is stdwire serve and stdwire bridge: the built-in server and the gateway, on stdio
// and over HTTP.
//
// A [GatewayConfig] says which configured servers are offered. Its Start returns a [Reloader],
// which owns the gateway, follows the configuration files and keeps what they add waiting until the
// operator accepts it. Beside them are the control socket, the endpoints of profiles, hooks, the
// audit log and the tools of configured servers as operations of stdwire run.
package serve

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

// ServeCommand is stdwire serve.
func ServeCommand() command.Command {
	return command.Command{
		Name: "serve", Usage: "[--root [NAME=]DIR]… [--write] [--allow-exec[=CMD,…]] [--allow-eval] [--config FILE] [--audit FILE] [--http ADDR]",
		Summary: "be an MCP server, with own tools or those of many others",
		Help: "Serves MCP clients of all revisions until stdin ends, or SIGINT or SIGTERM comes; that is success. The file operations reach nothing outside of the roots, " +
			"and without --write they change nothing. Without --allow-exec and --allow-eval no program can be run; one that is run can do whatever this user can. Logs go to stderr.\n\n" +
			"What takes something away for good is done only if the client's user confirms it, and not at all with a client that cannot ask, unless --confirm trust says that the client " +
			"asks by itself.\n\n" +
			"With --config, --profile or --servers, what other servers have is offered: tools and prompts by their server's id and name, as in files__read, unless --no-prefix says otherwise. Their own tools stdwire then offers only " +
			"with --root or one of the other flags for them. A server is started when it is wanted, again when it has died, and stopped after ten minutes without a call. What it has stays in the lists meanwhile.\n\n" +
			"When a configuration file has changed, what is gone ends, what is disabled is stopped, and of what has a narrower filter fewer tools are offered. A second passes first, because more may be " +
			"written. What is new or different waits: a client that can write the file must not have programs run. On Unix SIGHUP lets all of it in, at once; stdwire trust and stdwire restart let in one thing. " +
			"A file that is not valid changes nothing, and is told on stderr.\n\n" +
			"For the same reason nothing that this relies on may lie in a root, if --write is given: not the configuration, what stdwire keeps for itself, the audit log, nor a hook, its program or a file that it is given. " +
			"A server whose program, or an argument of it that is a program, or whose envFile lies there is not offered. Files that programs read beyond that are not looked at. With --allow-eval, or --allow-exec without names, " +
			"clients can run what they like, and so this is not looked at either.\n\n" +
			"stdwire status shows the servers of all gateways that run, and stdwire enable, disable, " +
			"restart and logs look after them.\n\n" +
			"With --audit there is a line of JSON for each of their calls, reads and prompts: when, for whom, which, how long, what came of it, and of the arguments the names, types, sizes and a digest. " +
			"The digest has a key, which is kept in FILE.key: it shows which arguments are the same, and nobody without the key can find them by trying. No call waits for it, and what cannot be written is counted. On Unix SIGHUP has the file opened anew; if it was moved away, by what rotates logs, the signal does nothing else. A command of --before gets {\"phase\":\"before\",\"server\":…,\"tool\":…,\"arguments\":{…}} on stdin, one of --after " +
			"{\"phase\":\"after\",…,\"result\":{…}}. It writes nothing to let the call pass, {\"arguments\":{…}} or {\"result\":{…}} to put another in its place, or {\"deny\":\"why\"}. The call is refused as well if it " +
			"exits with another status than 0, writes anything else, or takes more than 10 seconds. It is started without a shell; several are asked in their order.\n\n" +
			"  stdwire serve --servers --audit calls.jsonl --before 'python3 policy.py'\n\n" +
			"With --http MCP clients of all revisions are served at /mcp until a signal comes, and whoever speaks HTTP at /v1/: POST /v1/SERVICE with " +
			"{\"action\":…,\"params\":{…}}, described at /v1/openapi.json. There, a server of the configuration is a service, and its tools are the actions; what a server asks meanwhile is refused. " +
			"Both need the bearer token; GET /healthz does not. " +
			"With --oauth-issuer and --oauth-audience that is an access token of this authorization server for this server, which MCP clients find out how to get; " +
			"something in front of stdwire has to speak TLS then, and leave the paths as they are. What the servers of " +
			"a profile of the configuration have is also served alone, at /mcp/PROFILE, for as many profiles as there are and from the same processes; with --profile there is only /mcp.\n\n" +
			"  curl -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' \\\n" +
			"    -d '{\"action\":\"read\",\"params\":{\"path\":\"README.md\"}}' 127.0.0.1:8080/v1/fs",
		Make: func() (command.Grammar, command.Runner) {
			b, m, w := new(target.BuiltinFlags), new(GatewayConfig), new(httpServer)
			flags := append(append(b.ServerFlags(), m.flags()...), w.flags()...)
			return command.Grammar{Flags: flags},
				func(ctx context.Context, std *term.Streams) error {
					return serveMCP(ctx, std, b, m, w)
				}
		},
	}
}

// settleTimeout is how long the first lists wait for the servers of a gateway. Later tools are
// announced as a change, which some clients ignore.
const settleTimeout = 5 * time.Second

// serveMCP serves until stdin or ctx ends.
func serveMCP(ctx context.Context, std *term.Streams, b *target.BuiltinFlags, m *GatewayConfig,
	w *httpServer) (err error) {
	if err := m.check(); err != nil {
		return err
	}
	if err := w.check(); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(std.Err, nil))
	o := &target.BuiltinServer{Catalog: dispatch.NewCatalog(m.gates()...)}
	options := server.Options{Logger: log}
	if !m.isEnabled() || b.HasFlags() {
		if o, err = b.Open(log, m.gates()...); err != nil {
			return err
		}
		options = b.Options(log)
	}
	options.StateKey = w.stateKey
	s := options.New(server.Info{Name: "stdwire", Version: command.Version()}, o.Catalog)
	e := &endpoints{main: &endpoint{server: s}}
	operations := o.Catalog // for the HTTP API, which has the tools of the others too
	if m.isEnabled() {
		if w.address != "" {
			operations = o.Catalog.Clone()
			m.operations = operations
			m.serveProfiles(e,
				server.Options{Logger: log, StateKey: w.stateKey, Memory: s.Memory()})
		}
		m.writable = b.Writable()
		defer func() { err = errors.Join(err, m.close()) }()
		st, err := m.Start(s, o.Catalog, std, log)
		if err != nil {
			return errors.Join(err, o.Close())
		}
		defer st.Close()
		if w.address != "" {
			st.setEndpoint("http://" + w.address + "/mcp") // until it is known better
		}
		w.listening, w.missing = st.setEndpoint, st.Gateway.AwaitOperation
		st.start(ctx)
		settling, cancel := context.WithTimeout(ctx, settleTimeout)
		st.Gateway.Settle(settling)
		cancel()
	}
	if w.address != "" {
		return errors.Join(w.serve(ctx, std, e, operations, log), o.Close())
	}
	if std.InTerminal {
		std.Err.Printf("stdwire: an MCP server on stdin and stdout, for a client to start; Ctrl-D or Ctrl-C stops it")
	}
	return errors.Join(s.ServeStdio(ctx), o.Close())
}
