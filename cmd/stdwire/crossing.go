package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"path/filepath"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A crossing is a bridge over which one server is served by another transport than its own: a gateway with nothing else behind it, which gives it no names of its own.
type crossing struct {
	words        []string // the server's command; nil for one at a URL
	remote       remote
	web          web
	era          string
	startTimeout time.Duration
}

func (x *crossing) flags() []flag {
	return append(append(x.remote.flags(), x.web.flags()...),
		choice(&x.era, "--era", "how to speak to the server, with --http or --url (default auto)", "auto", "modern", "legacy"),
		startTimeoutFlag(&x.startTimeout),
	)
}

// wanted reports whether it is a crossing that is asked for.
func (x *crossing) wanted() bool { return x.remote.url != "" || x.web.address != "" }

// check reports what was given that does not fit together.
func (x *crossing) check() error {
	only := x.web.given()
	switch {
	case x.remote.url != "" && x.words != nil:
		return usagef("there is a --url, and a command behind --: which of them is the server?")
	case x.remote.url == "" && x.remote.header != nil:
		return usagef("--header is for a server at a --url")
	case x.web.address == "" && only != "":
		return usagef("%s is for clients over HTTP", only).withHint("say where they are to be served: --http ADDR")
	case !x.wanted() && x.era != "":
		return usagef("--era is for a server that is served over another transport").withHint("say which: --http ADDR, or --url URL")
	case !x.wanted() && x.startTimeout != 0:
		return usagef("--start-timeout is for a server that is served over another transport").withHint("say which: --http ADDR, or --url URL")
	case x.remote.url == "" && x.words == nil:
		return usagef("which server?").withHint("its command stands behind --: stdwire bridge -- COMMAND…; or it has a URL: stdwire bridge --url URL")
	}
	return x.web.check()
}

// name is what messages call the server.
func (x *crossing) name() string {
	if x.words == nil {
		return x.remote.host()
	}
	return filepath.Base(x.words[0])
}

func (x *crossing) run(ctx context.Context, std *streams) error {
	log := slog.New(slog.NewTextHandler(std.err, nil))
	g := gateway.Options{NoPrefix: true, NoDescriptionPrefix: true, Logger: slog.New(untold[*client.StartError]{log.Handler()})}.New(nil)
	defer g.Close()
	behind := x.server(std, log)
	if err := g.Add(behind); err != nil {
		return err
	}
	s, err := x.open(ctx, std, g, behind.ID, log)
	if err != nil {
		return err
	}
	if x.web.address != "" {
		return x.web.serve(ctx, std, &endpoints{main: &endpoint{server: s}}, nil, log)
	}
	if std.inTerminal {
		std.err.printf("stdwire: an MCP server on stdin and stdout, for a client to start; Ctrl-D or Ctrl-C stops it")
	}
	return s.ServeStdio(ctx)
}

// server is the one behind.
func (x *crossing) server(std *streams, log *slog.Logger) host.Server {
	return host.Server{
		ID:           cmp.Or(config.SuggestID(x.name()), "server"),
		IdleStop:     -1, // it may have a state that its clients rely on
		MaxArguments: math.MaxInt, MaxResult: math.MaxInt,
		Options: client.Options{Info: mcp.Implementation{Name: "stdwire", Version: version()}, Era: eras[x.era], StartTimeout: x.startTimeout, Logger: log},
		Connect: func(ctx context.Context, _ string, o client.Options) (*client.Client, error) {
			if x.words == nil {
				return o.Connect(ctx, x.remote.dial())
			}
			// It runs in this program's place: with its environment, and its stderr.
			return o.Spawn(ctx, client.Command{Path: x.words[0], Args: x.words[1:], InheritEnv: []string{"*"}, Stderr: &serverLog{console: std.err}})
		},
	}
}

// open starts the server behind, and returns one that looks like it.
func (x *crossing) open(ctx context.Context, std *streams, g *gateway.Gateway, id string, log *slog.Logger) (s *server.Server, err error) {
	const patience = 3 * time.Second
	stop := std.err.during(patience, func(elapsed time.Duration) string {
		return x.name() + ": no answer yet " + elapsed.Round(time.Second).String()
	})
	g.Settle(ctx)
	stop()
	if e, failed := errors.AsType[*client.StartError](g.Manager().Status()[0].Err); failed {
		return nil, x.diagnose(e)
	}
	err = g.Manager().Use(ctx, id, "", true, func(c *client.Client) error {
		info := c.ServerInfo()
		info.Name, info.Version = cmp.Or(info.Name, x.name()), cmp.Or(info.Version, "unknown")
		like := c.Capabilities()
		o := server.Options{Instructions: c.Instructions(), StateKey: x.web.stateKey, Logger: log}
		o.Capabilities = func(own *mcp.ServerCapabilities) { noMore(own, like, c.Revision()) }
		s = o.New(info, dispatch.NewCatalog())
		if like.Resources != nil {
			s.Integration().Declare(server.KindResource, server.KindTemplate)
		}
		if like.Prompts != nil {
			s.Integration().Declare(server.KindPrompt)
		}
		return nil
	})
	if err != nil {
		return nil, x.diagnose(err)
	}
	g.Offer(s, id)
	return s, nil
}

// noMore takes out of a server's own capabilities what the server behind does not have. That lists change it may say in any case: they do when the server behind is started anew.
func noMore(own, like *mcp.ServerCapabilities, revision mcp.Revision) {
	if like.Tools == nil {
		own.Tools = nil
	}
	if like.Logging == nil {
		own.Logging = nil
	}
	if f, _ := mcp.FeaturesOf(revision); f.Completions && like.Completions == nil { // before there was a word for it, it may have been there
		own.Completions = nil
	}
	if own.Resources != nil && like.Resources != nil {
		own.Resources.Subscribe = own.Resources.Subscribe && like.Resources.Subscribe
	}
}

// diagnose says what an error of the start means.
func (x *crossing) diagnose(err error) error {
	f := explain(err)
	if f == nil {
		return err
	}
	f.server, f.logged = x.name(), true // what it wrote to stderr was shown
	return f
}
