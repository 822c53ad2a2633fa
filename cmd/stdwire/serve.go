package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

func serveCommand() command {
	return command{
		name: "serve", usage: "[--root [NAME=]DIR]… [--write] [--allow-exec[=CMD,…]] [--allow-eval] [--config FILE] [--audit FILE] [--http ADDR]",
		summary: "be an MCP server, with own tools or those of many others",
		help: "Serves MCP clients of all revisions until stdin ends, or SIGINT or SIGTERM comes; that is success. The file operations reach nothing outside of the roots, " +
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
		make: func() (grammar, runner) {
			b, m, w := new(builtin), new(mounted), new(web)
			flags := append(append(b.serverFlags(), m.flags()...), w.flags()...)
			return grammar{flags: flags}, func(ctx context.Context, std *streams) error { return b.serve(ctx, std, m, w) }
		},
	}
}

// settleWithin is how long clients wait for the lists of what other servers have, before they are
// told of it as a change: some look only once, and none waits for long.
const settleWithin = 5 * time.Second

func (b *builtin) serve(ctx context.Context, std *streams, m *mounted, w *web) (err error) {
	if err := m.check(); err != nil {
		return err
	}
	if err := w.check(); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(std.err, nil))
	o := &offer{catalog: dispatch.NewCatalog(m.gates()...)}
	options := server.Options{Logger: log}
	if !m.wanted() || b.offers() {
		if o, err = b.open(log, m.gates()...); err != nil {
			return err
		}
		options = b.options(log)
	}
	options.StateKey = w.stateKey
	s := options.New(server.Info{Name: "stdwire", Version: version()}, o.catalog)
	e := &endpoints{main: &endpoint{server: s}}
	operations := o.catalog // for the HTTP API, which has the tools of the others too
	if m.wanted() {
		if w.address != "" {
			operations = o.catalog.Clone()
			m.operations = operations
			m.serveProfiles(e, server.Options{Logger: log, StateKey: w.stateKey, Memory: s.Integration().Memory()})
		}
		m.writable = b.writable()
		defer func() { err = errors.Join(err, m.close()) }()
		st, err := m.mount(s, o.catalog, std, log)
		if err != nil {
			return errors.Join(err, o.close())
		}
		defer st.close()
		if w.address != "" {
			st.reachedAt("http://" + w.address + "/mcp") // until it is known better
		}
		w.listening, w.missing = st.reachedAt, st.gateway.AwaitOperation
		st.start(ctx)
		settling, cancel := context.WithTimeout(ctx, settleWithin)
		st.gateway.Settle(settling)
		cancel()
	}
	if w.address != "" {
		return errors.Join(w.serve(ctx, std, e, operations, log), o.close())
	}
	if std.inTerminal {
		std.err.printf("stdwire: an MCP server on stdin and stdout, for a client to start; Ctrl-D or Ctrl-C stops it")
	}
	return errors.Join(s.ServeStdio(ctx), o.close())
}
