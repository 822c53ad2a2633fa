// Package bridge serves one server to the clients of another transport or framing: stdwire bridge,
// and the connections of stdwire connect.
package bridge

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A bridge is a gateway with one server that does not change names, and a server with the identity
// and the capabilities of that one.
type bridge struct {
	gateway *gateway.Gateway
	server  *server.Server
}

// startBridge starts the server behind a bridge. name is its name in messages; define is called
// with the manager that runs it. o.Logger is required. The caller closes the gateway. The error is
// a [*command.Failure].
func startBridge(ctx context.Context, std *term.Streams, name string,
	define func(*host.Manager) gateway.Upstream, o server.Options) (*bridge, error) {
	g := gateway.Options{NoPrefix: true, NoDescriptionPrefix: true,
		Logger: slog.New(
			target.SuppressHandler[*client.StartError]{Handler: o.Logger.Handler()})}.New(nil)
	s, err := openBridge(ctx, std, g, name, define(g.Manager()), o)
	if err != nil {
		g.Close()
		if f := target.Explain(err); f != nil {
			f.Server = name
			return nil, f
		}
		return nil, err
	}
	return &bridge{g, s}, nil
}

func openBridge(ctx context.Context, std *term.Streams, g *gateway.Gateway, name string,
	behind gateway.Upstream, o server.Options) (s *server.Server, err error) {
	if err := g.Add(behind); err != nil {
		return nil, err
	}
	const statusDelay = 3 * time.Second
	stop := std.Err.StatusAfter(statusDelay, func(elapsed time.Duration) string {
		return name + ": no answer yet " + elapsed.Round(time.Second).String()
	})
	g.Settle(ctx)
	stop()
	if e, failed := errors.AsType[*client.StartError](g.Manager().Status()[0].Err); failed {
		return nil, e
	}
	err = g.Manager().UseIdempotent(ctx, behind.ID, "", func(c *client.Client) error {
		info := c.ServerInfo()
		info.Name, info.Version = cmp.Or(info.Name, name), cmp.Or(info.Version, "unknown")
		like := c.Capabilities()
		o.Capabilities = func(own *mcp.ServerCapabilities) {
			limitCapabilities(own, like, c.Revision())
		}
		s = o.New(info, dispatch.NewCatalog())
		if like.Resources != nil {
			s.Integration().Declare(mcp.KindResource, mcp.KindResourceTemplate)
		}
		if like.Prompts != nil {
			s.Integration().Declare(mcp.KindPrompt)
		}
		if like.Extensions[mcp.ExtensionSkills] != nil {
			s.Integration().Declare(mcp.KindSkill)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	g.Offer(s, behind.ID)
	return s, nil
}

// limitCapabilities removes from own the capabilities that like does not declare. It keeps
// listChanged, because lists may change when the server is restarted.
func limitCapabilities(own, like *mcp.ServerCapabilities, revision mcp.Revision) {
	if like.Tools == nil {
		own.Tools = nil
	}
	if like.Logging == nil {
		own.Logging = nil
	}
	if f, _ := mcp.FeaturesOf(revision); f.Completions && like.Completions == nil {
		// older revisions do not declare it, but the server may support it
		own.Completions = nil
	}
	if own.Resources != nil && like.Resources != nil {
		own.Resources.Subscribe = own.Resources.Subscribe && like.Resources.Subscribe
	}
}
