package shell

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A connection is a server that a shell has started, and what is known of it.
type connection struct {
	*client.Client
	selected  *target.ConfiguredServer // which says what tools there are
	ready     time.Duration            // what it took to start
	tools     listing[*mcp.Tool]
	prompts   listing[*mcp.Prompt]
	resources listing[*mcp.Resource]
	templates listing[*mcp.ResourceTemplate]
	watched   chan struct{} // closed when its end has been told

	mu   sync.Mutex
	busy bool // a line is run, which tells of the end itself
	told bool // its end is known
}

// A listing is a list of the server's, fetched when it is first wanted. It is safe for concurrent use.
type listing[T any] struct {
	mu    sync.Mutex
	known bool
	items []T
}

func (l *listing[T]) get(fetch func() iter.Seq2[T, error]) ([]T, error) {
	l.mu.Lock()
	known, items := l.known, l.items
	l.mu.Unlock()
	if known {
		return items, nil
	}
	for item, err := range fetch() {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	l.changed(items, nil)
	return items, nil
}

// changed takes the list as it is now.
func (l *listing[T]) changed(items []T, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known, l.items = err == nil, items; err != nil {
		l.items = nil
	}
}

func (l *listing[T]) isKnown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}

func (l *listing[T]) forget() { l.changed(nil, errors.New("forgotten")) }

// forget has all lists be fetched anew.
func (c *connection) forget() {
	c.tools.forget()
	c.prompts.forget()
	c.resources.forget()
	c.templates.forget()
}

func (c *connection) allTools(ctx context.Context) ([]*mcp.Tool, error) {
	return c.tools.get(func() iter.Seq2[*mcp.Tool, error] { return c.selected.Tools(c.Client, ctx) })
}

func (c *connection) allPrompts(ctx context.Context) ([]*mcp.Prompt, error) {
	return c.prompts.get(func() iter.Seq2[*mcp.Prompt, error] { return c.Prompts(ctx) })
}

func (c *connection) allResources(ctx context.Context) ([]*mcp.Resource, error) {
	return c.resources.get(func() iter.Seq2[*mcp.Resource, error] { return c.Resources(ctx) })
}

func (c *connection) allTemplates(ctx context.Context) ([]*mcp.ResourceTemplate, error) {
	return c.templates.get(func() iter.Seq2[*mcp.ResourceTemplate, error] { return c.ResourceTemplates(ctx) })
}

// tool finds a tool. One that is not among those that are known may be new, and the server silent about it.
func (c *connection) tool(ctx context.Context, name string) (*mcp.Tool, error) {
	if err := c.selected.CheckAllowed(name); err != nil {
		return nil, err
	}
	for {
		known := c.tools.isKnown()
		tools, err := c.allTools(ctx)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, tool := range tools {
			if tool.Name == name {
				return tool, nil
			}
			names = append(names, tool.Name)
		}
		if !known {
			return nil, target.NotFound("tool", name, names, ".tools")
		}
		c.tools.forget()
	}
}

// connect starts the server.
func (s *Shell) connect(ctx context.Context) error {
	c := &connection{selected: &s.target.Configured, watched: make(chan struct{})}
	began := time.Now()
	cl, err := s.target.Connect(ctx, s.Std, func(o *client.Options) {
		s.timeout = cmp.Or(s.timeout, o.CallTimeout, 5*time.Minute)
		o.CallTimeout = s.timeout
		o.Hooks.Frame = s.trace.Frame
		toolsChanged := func(tools []*mcp.Tool, err error) { c.tools.changed(c.selected.Allowed(tools), err) }
		o.OnToolsChanged, o.OnPromptsChanged = toolsChanged, c.prompts.changed
		o.OnResourcesChanged = func(resources []*mcp.Resource, err error) {
			c.resources.changed(resources, err)
			c.templates.forget() // a change of these is told as one of those
		}
		if s.interrupts != nil {
			o.OnToolsChanged = func(tools []*mcp.Tool, err error) {
				toolsChanged(tools, err)
				if err == nil {
					s.Std.Err.Printf("note: the tools have changed: there are %d", len(c.selected.Allowed(tools)))
				}
			}
		}
		if s.target.ServerLogs {
			o.LogLevel, o.OnLog = mcp.LevelInfo, s.showLog
		}
	})
	if err != nil {
		return err
	}
	c.Client, c.ready, s.server = cl, time.Since(began), c
	go s.watch(c)
	return nil
}

// showLog shows a log message of the server's.
func (s *Shell) showLog(m mcp.LoggingMessageParams) {
	text := string(m.Data)
	if unquoted, ok := jsonscan.Unquote(m.Data); ok {
		text = string(unquoted)
	}
	s.Std.Err.Printf("%s", command.JoinNonEmpty(" ", "["+string(m.Level)+"]", m.Logger, printable.Line(text)))
}

// watch tells when the server dies.
func (s *Shell) watch(c *connection) {
	defer close(c.watched)
	<-c.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.busy {
		s.tell(c)
	}
}

// tell tells how the server ended, if it is not known already. c.mu is held.
func (s *Shell) tell(c *connection) {
	err := c.Err()
	if err == nil || c.told {
		return
	}
	c.told = true
	if s.interrupts != nil {
		s.Std.Err.Printf("note: %s %v; the next call starts it again", s.target.Name(), err)
	}
}

// on runs f on the server, started anew if it has died. An error becomes a [*failure] that names the server.
func (s *Shell) on(ctx context.Context, f func(*connection) error) error {
	if c := s.server; c != nil && c.gone() {
		s.disconnect()
	}
	if s.server == nil {
		if err := s.connect(ctx); err != nil {
			return err
		}
	}
	c := s.server
	c.mu.Lock()
	c.busy = true
	c.mu.Unlock()
	err := f(c)
	if err != nil {
		err = s.target.Diagnose(err, c.StderrTail())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	failed, ok := errors.AsType[*command.Failure](err)
	switch {
	case ok && failed.Code == "server_died":
		c.told = true
	case ok && failed.Code == "call_timeout":
		failed.Hint = strings.ReplaceAll(failed.Hint, "--timeout", ".timeout")
	}
	select {
	case <-c.Done():
		s.tell(c)
	default:
	}
	return err
}

// gone reports whether the server has died.
func (c *connection) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.Done():
		return true
	default:
		return c.told
	}
}

// disconnect ends the server, if there is one.
func (s *Shell) disconnect() {
	c := s.server
	if c == nil {
		return
	}
	s.server = nil
	if err := s.target.Disconnect(s.Std, c.Client); err != nil {
		s.Std.Err.Printf("note: %s: %v", s.target.Name(), err)
	}
	<-c.watched
}
