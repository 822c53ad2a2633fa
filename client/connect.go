package client

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/internal/era"
	"github.com/stdwire/stdwire/client/internal/listed"
	"github.com/stdwire/stdwire/client/internal/subscription"
	"github.com/stdwire/stdwire/internal/child"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Connect does the handshake with the server of a transport, such as one of package
// client/streamable or a [Stream]. It owns the transport, also if it fails. See [Options.Connect].
func Connect(ctx context.Context, t Transport) (*Client, error) { return Options{}.Connect(ctx, t) }

// Connect is [Connect] with options. It blocks until the server has responded, Options.StartTimeout
// has passed or ctx ends; ctx has no effect afterwards. The error is a [*StartError].
func (o Options) Connect(ctx context.Context, t Transport) (*Client, error) {
	o, err := o.withDefaults("server")
	if err != nil {
		_ = t.Close()
		return nil, o.startError(err, "")
	}
	ctx, cancel := o.startContext(ctx)
	defer cancel()
	return o.connect(ctx, t, nil, Command{}, o.eraPreference())
}

// connect does the handshake on a transport, which the client then owns, with the process behind it
// and the command of that, if the client has started one.
func (o Options) connect(ctx context.Context, t Transport, proc *child.Process, cmd Command,
	p era.Preference) (*Client, error) {
	c, err := o.newClient(t, proc, cmd)
	if err != nil {
		return nil, o.startError(err, "")
	}
	if err := c.open(ctx, p); err != nil {
		_ = c.Close()
		failed := o.startError(err, c.StderrTail())
		failed.Stats = c.Stats()
		return nil, failed
	}
	return c, nil
}

func (o Options) startContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.StartTimeout < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, o.StartTimeout)
}

// open determines the era and does the handshake. After it the client is ready for use.
func (c *Client) open(ctx context.Context, p era.Preference) error {
	began := time.Now()
	h := handshaker{c: c, preference: p}
	s, err := h.run(ctx)
	h.cancelPending()
	if err != nil {
		return err
	}
	s.handshake.Took = time.Since(began)
	if err := c.begin(ctx, s); err != nil {
		return err
	}
	if c.proc != nil {
		c.proc.MarkReady()
	}
	c.watch()
	return nil
}

// newClient creates a client on a transport, which it then owns. It sends nothing.
func (o Options) newClient(t Transport, proc *child.Process, cmd Command) (*Client, error) {
	c := &Client{o: o, proc: proc, spawn: cmd, activity: activity{began: make(chan struct{})},
		listening: subscription.NewStream(), renewing: make(chan struct{}, 1),
		closing: make(chan struct{}), done: make(chan struct{}), explained: make(chan struct{})}
	c.explain = sync.OnceFunc(func() { close(c.explained) })
	link := &Link{Limits: o.Limits.Limits, c: c}
	if err := t.Open(link); err != nil {
		_ = t.Close()
		return nil, err
	}
	if link.MirrorsHeaders {
		c.headerTools = new(listed.Headers)
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.level.Store(&o.LogLevel)
	c.lists = c.newWatchedLists()
	c.inputHandlers = c.newInputHandlers()
	c.route()
	c.outgoing = c.chainOutgoing()
	link.attach(t)
	go c.run()
	return c, nil
}

// startError returns the StartError for err, with a hint if there is one.
func (o *Options) startError(err error, stderr string) *StartError {
	e := &StartError{Server: o.Name, Stderr: stderr, Err: err}
	if spawn, ok := errors.AsType[*SpawnError](err); ok {
		e.Hint = spawn.Hint
	} else if exit, ok := errors.AsType[*ExitError](err); ok {
		e.Hint = exit.Hint
	} else if timeout, ok := errors.AsType[*TimeoutError](err); ok && timeout.Unmatched > 0 {
		e.Hint = "the server must send the id of a request back as it came (JSON-RPC 2.0, section 5)"
	} else if ok {
		e.Hint = "raise Options.StartTimeout if the server takes that long, as it may when npx or uvx has to download it; or look whether the program is an MCP server at all"
	} else if _, ok := errors.AsType[*LostError](err); ok && o.Era == 0 {
		e.Hint = "an old server may hang up on a probe that it does not know: try the legacy era"
	}
	return e
}

// Spawn starts a server and does the handshake. See [Options.Spawn].
func Spawn(ctx context.Context, path string, args ...string) (*Client, error) {
	return Options{}.Spawn(ctx, Command{Path: path, Args: args})
}

// Spawn starts a server as a child process in its own process group and does the handshake. It
// blocks until the server has responded or exited, Options.StartTimeout has passed or ctx ends; ctx
// has no effect afterwards. The error is a [*StartError]; then the process and its descendants have
// ended, which may take up to twice [Command].Grace longer.
//
// A server that exits at the probe for its era is started a second time with the legacy handshake
// (see the package comment). Set Options.Era to prevent that. On Linux, one that exits without
// having read the probe is not.
func (o Options) Spawn(ctx context.Context, cmd Command) (*Client, error) {
	o, err := o.withDefaults(filepath.Base(cmd.Path))
	if err != nil {
		return nil, o.startError(err, "")
	}
	ctx, cancel := o.startContext(ctx)
	defer cancel()
	w := o.eraPreference()
	for {
		c, err := o.start(ctx, cmd, w)
		if err == nil {
			return c, nil
		}
		exit, exited := errors.AsType[*ExitError](err)
		if w.Era != 0 || !exited || exit.Hint != "" || exit.Unread || ctx.Err() != nil {
			// a hint means that the launcher failed, not the server; nor did the probe end a
			// server that has not read it
			return nil, err
		}
		w.Era = mcp.Legacy
	}
}

// start makes one attempt to spawn.
func (o Options) start(ctx context.Context, cmd Command, w era.Preference) (*Client, error) {
	config := cmd.config()
	if cmd.Started != nil {
		config.Started = func(pid int) { o.started(cmd.Started, pid) }
	}
	proc, err := child.Start(ctx, config)
	if err != nil {
		if spawn, ok := errors.AsType[*child.StartError](err); ok {
			err = (*SpawnError)(spawn)
		}
		return nil, o.startError(err, "")
	}
	t := Stream(&pipes{stdout: proc.Stdout(), stdin: proc.Stdin(), ended: make(chan struct{})})
	return o.connect(ctx, t, proc, cmd, w)
}

// started runs Command.Started and logs a panic.
func (o Options) started(tell func(pid int), pid int) {
	if failure := contain.Run(func() { tell(pid) }); failure != nil {
		o.Logger.Warn("mcp client: a callback panicked", "callback", "Started", "panic",
			failure.String(), "stack", string(failure.Stack), "server", o.Name)
	}
}
