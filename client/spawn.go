package client

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"time"

	"github.com/stdwire/stdwire/internal/child"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Command says what process a server is. Only Path is required.
type Command struct {
	// Path is the program: a name to be found on the PATH that the server will have, or a path, which if relative starts at Dir.
	Path string
	Args []string
	Dir  string // the working directory; "" is this program's own

	// Env is set on top of what is inherited, and wins. What is inherited are the variables that a
	// program needs to find its home, its language, its proxy and its certificates, and the
	// settings of npm and uv, without credentials for proxies and registries; InheritEnv widens
	// that by names or patterns ("AWS_*", "*" for all, credentials too).
	Env        map[string]string
	InheritEnv []string

	// Stderr, if set, gets a live copy of what the server writes to stderr, as it comes: not made safe for a terminal. It is given up when a Write
	// fails or takes over a second.
	Stderr io.Writer
	// Started, if set, is called with the id of each process that is started, before Stderr gets
	// anything of it. It must not block.
	Started func(pid int)
	// Grace is how long Close waits for the server to end, and again after SIGTERM. Default 2 s; negative is not at all.
	Grace time.Duration
}

// Spawn starts a server and does the handshake. See [Options.Spawn].
func Spawn(ctx context.Context, path string, args ...string) (*Client, error) {
	return Options{}.Spawn(ctx, Command{Path: path, Args: args})
}

// Spawn starts a server as a child process, in a process group of its own, and does the handshake. It blocks until the server has answered or ended, or
// for Options.StartTimeout, or until ctx ends; ctx has no influence afterwards. The error is a [*StartError]; then the process and what
// it has started have ended, for which Spawn takes up to twice [Command].Grace more.
//
// A server that ends at the probe for its era is started a second time and addressed in the legacy way (see the package comment). Set Options.Era
// where that is not wanted.
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
		if w.era != 0 || !exited || exit.Hint != "" || ctx.Err() != nil { // with a hint, the launcher failed, not the server
			return nil, err
		}
		w.era = mcp.Legacy
	}
}

// start is one attempt to spawn.
func (o Options) start(ctx context.Context, cmd Command, w eraPreference) (*Client, error) {
	config := cmd.config()
	if cmd.Started != nil {
		config.Started = func(pid int) { o.started(cmd.Started, pid) }
	}
	proc, err := child.Start(ctx, config)
	if err != nil {
		return nil, o.startError(err, "")
	}
	c, err := o.newClient(Stream(&pipes{proc.Stdout(), proc.Stdin()}), proc)
	if err != nil {
		return nil, o.startError(err, "")
	}
	c.spawn = cmd
	if err := c.open(ctx, w); err != nil {
		_ = c.Close()
		return nil, o.startError(err, proc.StderrTail())
	}
	return c, nil
}

// started tells an application of a process. A panic is logged.
func (o Options) started(tell func(pid int), pid int) {
	if failure := contain.Run(func() { tell(pid) }); failure != nil {
		o.Logger.Warn("mcp client: a callback panicked", "callback", "Started", "panic", failure.String(), "stack", string(failure.Stack), "server", o.Name)
	}
}

func (cmd Command) config() child.Config {
	return child.Config{
		Command: cmd.Path, Args: cmd.Args, Dir: cmd.Dir, Env: cmd.Env, InheritEnv: cmd.InheritEnv, StderrTee: cmd.Stderr, Grace: cmd.Grace,
	}
}

// pipes are a process's stdout and stdin as one stream.
type pipes struct {
	io.ReadCloser
	stdin io.WriteCloser
}

func (p *pipes) Write(b []byte) (int, error) { return p.stdin.Write(b) }

func (p *pipes) Close() error { return errors.Join(p.stdin.Close(), p.ReadCloser.Close()) }

// Process is what there is to know of a server's process.
type Process struct {
	Pid      int
	Command  Command
	EnvNames []string   // the variables that it has, sorted; their values are nobody's business
	Exit     *ExitError // how it ended, also after Close; nil as long as it has not
}

// Process returns what there is to know of the server's process; nil if the stream came from elsewhere.
func (c *Client) Process() *Process {
	if c.proc == nil {
		return nil
	}
	names, _ := c.spawn.config().EnvNames() // no error: the process was started with it
	p := &Process{Pid: c.proc.Pid(), Command: c.spawn, EnvNames: names}
	select {
	case <-c.proc.Done():
		p.Exit = c.proc.Wait()
	default:
	}
	return p
}
