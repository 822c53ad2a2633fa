package bridge

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/observe"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/transport"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/server"
)

// A transportBridge serves a server over a different transport. It is a gateway with one server
// that does not change names.
type transportBridge struct {
	words        []string // the command of the server; nil if it has a URL
	remote       target.Remote
	web          transport.HTTPFlags
	era          string
	startTimeout time.Duration
	observed     observe.Flags
}

func (x *transportBridge) flags() []command.Flag {
	served := x.web.Flags()
	for i, f := range served {
		if f.Name == target.TokenFileFlag {
			served[i].Help += "; without --http, the token for the server at a URL"
		}
	}
	return append(slices.Concat(x.remoteFlags(), served, x.observed.Flags()),
		command.ChoiceFlag(&x.era, "--era",
			"how to speak to the server, with --http or --url (default auto)", "auto", "modern",
			"legacy"),
		target.StartTimeoutFlag(&x.startTimeout),
	)
}

// isEnabled reports whether the flags ask for another transport.
func (x *transportBridge) isEnabled() bool { return x.remote.URL != "" || x.web.Address != "" }

// address takes an argument that is a URL.
func (x *transportBridge) address(word string) (bool, error) {
	if !target.IsURL(word) {
		return false, nil
	}
	return true, x.remote.SetURL(word)
}

// check returns an error if flags contradict each other.
func (x *transportBridge) check() error {
	switch {
	case x.remote.URL != "" && x.words != nil:
		return command.Usagef(
			"--url and a command after -- exclude each other")
	case !x.isEnabled() && x.era != "":
		return command.Usagef(
			"--era is for a server that is served over another transport").WithHint(
			"add --http ADDR or --url URL")
	case !x.isEnabled() && x.startTimeout != 0:
		return command.Usagef(
			"--start-timeout is for a server that is served over another transport").WithHint(
			"add --http ADDR or --url URL")
	case !x.isEnabled() && (x.observed.Given() != "" || x.web.StateKey != nil):
		return command.Usagef("%s is for a server that is served over another transport",
			cmp.Or(x.observed.Given(), x.web.StateKeyFlag())).
			WithHint("add --http ADDR or --url URL")
	case x.remote.URL == "" && x.words == nil:
		return command.Usagef("which server?").WithHint(
			"its command follows --: stdwire bridge -- COMMAND…; or it has a URL: stdwire bridge URL")
	}
	if x.web.Address == "" && x.remote.URL != "" {
		x.remote.TokenFile = x.web.TakeTokenFile()
	}
	return errors.Join(x.remote.Check(), x.web.Check())
}

// remoteFlags are the flags for a server at a URL. The flag for a file with a token is that of the
// HTTP server; without one, the token is for the URL.
func (x *transportBridge) remoteFlags() []command.Flag {
	return slices.DeleteFunc(x.remote.Flags(),
		func(f command.Flag) bool { return f.Name == target.TokenFileFlag })
}

// name returns the name of the server in messages.
func (x *transportBridge) name() string {
	if x.words == nil {
		return x.remote.Host()
	}
	return filepath.Base(x.words[0])
}

func (x *transportBridge) run(ctx context.Context, std *term.Streams) error {
	log := slog.New(slog.NewTextHandler(std.Err, nil))
	recorder, err := x.observed.Open(std, log)
	if err != nil {
		return err
	}
	defer recorder.Close()
	log = recorder.Logger(log)
	options := server.Options{StateKey: x.web.StateKey, Logger: log,
		ShutdownTimeout: transport.ShutdownTimeout}
	recorder.Server(&options)
	b, err := startBridge(ctx, std, x.name(),
		func(*host.Manager) gateway.Upstream { return x.server(std, recorder, log) }, options)
	if f, ok := errors.AsType[*command.Failure](err); ok {
		f.Logged = true // its stderr was already shown
		x.remote.ExplainRefusal(f, x.web.Address == "")
	}
	if err != nil {
		return err
	}
	defer b.gateway.Close()
	recorder.Gateway(b.gateway)
	if x.web.Address != "" {
		manager := b.gateway.Manager()
		required := make(map[string]bool) // the only server
		for _, id := range manager.IDs() {
			required[id] = true
		}
		web := &transport.HTTPServer{HTTPFlags: &x.web, Recorder: recorder,
			Endpoints: transport.NewEndpoints(b.server, nil),
			Readiness: func() transport.Readiness {
				return transport.ReadinessOf(manager.Status(), required, nil)
			}}
		return web.Serve(ctx, std, log)
	}
	if std.InTerminal {
		std.Err.Printf("stdwire: an MCP server on stdin and stdout, for a client to start; Ctrl-D or Ctrl-C stops it")
	}
	return transport.Stdio(ctx, std, b.server, log)
}

// server returns the server behind the bridge.
func (x *transportBridge) server(std *term.Streams, recorder *observe.Recorder,
	log *slog.Logger) gateway.Upstream {
	id := cmp.Or(itemname.SuggestID(x.name()), "server")
	options := client.Options{
		Info: command.Implementation(),
		Era:  target.Eras[x.era], StartTimeout: x.startTimeout, Logger: log}
	recorder.Client(&options, id)
	return gateway.Upstream{MaxArguments: math.MaxInt, MaxResult: math.MaxInt, Server: host.Server{
		ID:       id,
		IdleStop: -1, // its clients may rely on its state
		Options:  options,
		Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
			if x.words == nil {
				return o.Connect(ctx, x.remote.Dial())
			}
			// It has the environment and the stderr of this program.
			return o.Spawn(ctx,
				client.Command{Path: x.words[0], Args: x.words[1:], InheritEnv: []string{"*"},
					Stderr: &target.ServerLog{Console: std.Err}, Start: std.Servers.Start})
		},
	}}
}
