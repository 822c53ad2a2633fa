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
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A connection is a server that the shell has started.
type connection struct {
	*client.Client
	selected  *target.ConfiguredServer // decides which tools are allowed
	ready     time.Duration            // how long the start took
	tools     cachedList[*mcp.Tool]
	prompts   cachedList[*mcp.Prompt]
	resources cachedList[*mcp.Resource]
	templates cachedList[*mcp.ResourceTemplate]
	watched   chan struct{} // closed when watchServer has returned

	mu          sync.Mutex
	running     bool // a line runs, which prints the end itself
	endReported bool // its end has been printed
}

// A cachedList is a list of the server, fetched when it is first needed. It is safe for concurrent
// use.
type cachedList[T any] struct {
	mu    sync.Mutex
	valid bool
	items []T
}

func (l *cachedList[T]) get(fetch func() iter.Seq2[T, error]) ([]T, error) {
	l.mu.Lock()
	known, items := l.valid, l.items
	l.mu.Unlock()
	if known {
		return items, nil
	}
	for item, err := range client.OmitInvalid(fetch()) {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	l.set(items, nil)
	return items, nil
}

// set replaces the list, or invalidates it if err is not nil.
func (l *cachedList[T]) set(items []T, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.valid, l.items = err == nil, items; err != nil {
		l.items = nil
	}
}

func (l *cachedList[T]) isValid() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.valid
}

func (l *cachedList[T]) invalidate() { l.set(nil, errors.New("invalidated")) }

// invalidate invalidates all lists.
func (c *connection) invalidate() {
	c.tools.invalidate()
	c.prompts.invalidate()
	c.resources.invalidate()
	c.templates.invalidate()
}

func (c *connection) allTools(ctx context.Context) ([]*mcp.Tool, error) {
	return c.tools.get(func() iter.Seq2[*mcp.Tool, error] {
		return c.selected.Tools(c.Client, ctx)
	})
}

func (c *connection) allPrompts(ctx context.Context) ([]*mcp.Prompt, error) {
	return c.prompts.get(func() iter.Seq2[*mcp.Prompt, error] { return c.Prompts(ctx) })
}

func (c *connection) allResources(ctx context.Context) ([]*mcp.Resource, error) {
	return c.resources.get(func() iter.Seq2[*mcp.Resource, error] { return c.Resources(ctx) })
}

func (c *connection) allTemplates(ctx context.Context) ([]*mcp.ResourceTemplate, error) {
	return c.templates.get(func() iter.Seq2[*mcp.ResourceTemplate, error] {
		return c.ResourceTemplates(ctx)
	})
}

// tool returns a tool. If the cached list does not have it, the list is fetched again, because not
// every server announces changes.
func (c *connection) tool(ctx context.Context, name string) (*mcp.Tool, error) {
	if err := c.selected.CheckAllowed(name); err != nil {
		return nil, err
	}
	for {
		known := c.tools.isValid()
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
		c.tools.invalidate()
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
		toolsChanged := func(tools []*mcp.Tool, err error) {
			c.tools.set(c.selected.Allowed(tools), err)
		}
		o.OnToolsChanged, o.OnPromptsChanged = toolsChanged, c.prompts.set
		o.OnResourcesChanged = func(resources []*mcp.Resource, err error) {
			c.resources.set(resources, err)
			c.templates.invalidate() // resources/list_changed covers templates too
		}
		if s.interrupts != nil {
			o.OnToolsChanged = func(tools []*mcp.Tool, err error) {
				toolsChanged(tools, err)
				if err == nil {
					s.Std.Err.Printf("note: the tools have changed: there are %d",
						len(c.selected.Allowed(tools)))
				}
			}
		}
		s.setNotificationHandlers(o)
	})
	if err != nil {
		return err
	}
	c.Client, c.ready, s.server = cl, time.Since(began), c
	go s.watchServer(c)
	s.subscribeAgain(ctx, c)
	return nil
}

// watchServer prints when the server ends.
func (s *Shell) watchServer(c *connection) {
	defer close(c.watched)
	<-c.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running {
		s.reportEnd(c)
	}
}

// reportEnd prints how the server ended, once. c.mu must be held.
func (s *Shell) reportEnd(c *connection) {
	err := c.Err()
	if err == nil || c.endReported {
		return
	}
	c.endReported = true
	if s.interrupts != nil {
		s.Std.Err.Printf("note: %s %v; the next call starts it again", s.target.Name(), err)
	}
}

// withServer calls f with the server, which it starts again if it has ended. It returns an error of
// f as a [*command.Failure] that names the server.
func (s *Shell) withServer(ctx context.Context, f func(*connection) error) error {
	if c := s.server; c != nil && c.isClosed() {
		s.disconnect()
	}
	if s.server == nil {
		if err := s.connect(ctx); err != nil {
			return err
		}
	}
	c := s.server
	c.mu.Lock()
	c.running = true
	c.mu.Unlock()
	err := f(c)
	if err != nil {
		err = s.target.Diagnose(err, c.StderrTail())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = false
	failed, ok := errors.AsType[*command.Failure](err)
	switch {
	case ok && failed.Code == "server_died":
		c.endReported = true
	case ok && failed.Code == "call_timeout":
		failed.Hint = strings.ReplaceAll(failed.Hint, "--timeout", ".timeout")
	}
	select {
	case <-c.Done():
		s.reportEnd(c)
	default:
	}
	return err
}

// isClosed reports whether the server has ended.
func (c *connection) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.Done():
		return true
	default:
		return c.endReported
	}
}

// disconnect ends the server, if one runs.
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
