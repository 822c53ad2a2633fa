package completion

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"slices"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// servers returns the servers of the configuration.
func (l *line) servers() (all []Candidate) {
	loaded, _, err := l.target.Configured.Load()
	if err != nil {
		return nil
	}
	for _, s := range loaded.Servers {
		all = append(all, Candidate{s.ID, ""})
	}
	return all
}

// profiles returns the profiles of the configuration.
func (l *line) profiles() (all []Candidate) {
	loaded, _, err := l.target.Configured.Load()
	if err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(loaded.Profiles)) {
		all = append(all, Candidate{name, ""})
	}
	return all
}

// tools returns the tools of the server that the flags select, or nil if they are not known
// without starting it.
func (l *line) tools(ctx context.Context) []*mcp.Tool {
	t := l.target
	if all, used := t.RememberedServers(); used {
		return all
	}
	switch {
	case t.Connection != "":
		return l.connectionTools(ctx)
	case t.Configured.ID != "":
		return l.rememberedTools()
	case !t.IsBuiltin():
		return nil
	}
	return l.builtinTools(ctx)
}

// connectionTools lists the tools of a connection, whose server runs already.
func (l *line) connectionTools(ctx context.Context) []*mcp.Tool {
	c, err := l.target.Start(ctx, quietOptions(), func(*client.Command) {})
	if err != nil {
		return nil
	}
	return listTools(ctx, c)
}

func quietOptions() client.Options { return client.Options{Logger: slog.New(slog.DiscardHandler)} }

func listTools(ctx context.Context, c *client.Client) (all []*mcp.Tool) {
	defer func() { _ = c.Close() }()
	for tool, err := range client.OmitInvalid(c.Tools(ctx)) {
		if err != nil {
			return nil
		}
		all = append(all, tool)
	}
	return all
}

// rememberedTools returns the tools of a configured server that the user trusts from the last time
// that they were listed.
func (l *line) rememberedTools() []*mcp.Tool {
	loaded, env, err := l.target.Configured.Load()
	if err != nil {
		return nil
	}
	s, err := loaded.Server(l.target.Configured.ID)
	if err != nil || s.Disabled || config.UserStore(env).Check(s) != nil {
		return nil
	}
	return slices.DeleteFunc(target.RememberedTools(s),
		func(tool *mcp.Tool) bool { return !s.Filter.Allows(tool.Name) })
}

// builtinTools lists the tools of stdwire's own server, which runs within this process.
func (l *line) builtinTools(ctx context.Context) []*mcp.Tool {
	log := slog.New(slog.DiscardHandler)
	b := &l.target.Builtin
	o, err := b.Open(log)
	if err != nil {
		return nil
	}
	defer func() { _ = o.Close() }()
	s := b.Options(log).New(server.Info{Name: "stdwire"}, o.Catalog)
	clientEnd, serverEnd := net.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(ctx, serverEnd)
	}()
	defer func() { <-served }()
	c, err := quietOptions().Connect(ctx, client.Stream(clientEnd))
	if err != nil {
		_ = clientEnd.Close()
		return nil
	}
	return listTools(ctx, c)
}
