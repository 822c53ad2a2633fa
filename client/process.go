package client

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/stdwire/stdwire/internal/child"
)

// A Command describes the process of a server. Only Path is required.
type Command struct {
	// Path is the program: a name to look up on the server's PATH, or a path, which is relative to
	// Dir.
	Path string
	Args []string
	Dir  string // the working directory; "" is that of this program

	// Env is set in addition to the inherited variables, and replaces them. The inherited ones are
	// those needed to find the home directory, language, proxies and certificates, and the settings
	// of npm and uv, without credentials for proxies and registries. InheritEnv adds names or
	// patterns ("AWS_*"; "*" for all, credentials too).
	Env        map[string]string
	InheritEnv []string

	// Stderr, if set, gets a live copy of the server's stderr, which is not safe to print on a
	// terminal. Copying stops when a Write fails or takes over a second.
	Stderr io.Writer
	// Started, if set, is called with the pid of each process that is started, before Stderr gets
	// any of its output. It must not block.
	Started func(pid int)
	// Start, if set, starts the process in place of this package, for a program that has its own
	// way to do that, such as below a process that outlives this program for as long as it takes to
	// end the server. It starts a command in a process group of its own, and returns this program's
	// ends of the pipes to its stdin and from its stdout and stderr. The command has Path, Args,
	// Env and Dir. If ctx ends before the program is loaded, no process is left.
	Start func(ctx context.Context, cmd *exec.Cmd) (ProcessGroup, [3]*os.File, error)
	// Grace is how long Close waits for the server to end, and again after SIGTERM. The default is
	// 2 s; negative means no wait.
	Grace time.Duration
}

// A ProcessGroup is a process that Start of a [Command] has started, and its descendants. Its
// methods may be called concurrently. It is an alias, so that a package with such a function need
// not import this one. A panic in a method counts as an error of it.
type ProcessGroup = interface {
	// Pid returns the process id.
	Pid() int
	// Terminate asks the processes to end: with SIGTERM, where there are signals.
	Terminate() error
	// Kill kills the processes and does not wait for their end.
	Kill() error
	// AwaitExit blocks until the process has ended. Its descendants may still run.
	AwaitExit()
	// End kills the descendants, reaps the process, and returns its exit status, or -1 and the
	// signal that ended it; err is set if neither is known. It is called once, after AwaitExit.
	End() (status int, signal syscall.Signal, err error)
}

func (cmd Command) config() child.Config {
	return child.Config{
		Command: cmd.Path, Args: cmd.Args, Dir: cmd.Dir, Env: cmd.Env, InheritEnv: cmd.InheritEnv,
		StderrTee: cmd.Stderr, Grace: cmd.Grace, Start: cmd.Start,
	}
}

// pipes are the stdout and stdin of a process as one stream.
type pipes struct {
	stdout io.ReadCloser
	stdin  io.WriteCloser
	once   sync.Once
	ended  chan struct{} // closed at the end of stdout, and by Close
}

func (p *pipes) Read(b []byte) (int, error) {
	n, err := p.stdout.Read(b)
	if err != nil {
		p.end()
	}
	return n, err
}

// Write returns an error only after the rest of stdout is read, if the process is ending: what it
// wrote last is often the reason.
func (p *pipes) Write(b []byte) (int, error) {
	n, err := p.stdin.Write(b)
	if err != nil {
		const patience = time.Second // the process may have closed its stdin and go on
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-p.ended:
		case <-timer.C:
		}
	}
	return n, err
}

func (p *pipes) Close() error {
	p.end()
	return errors.Join(p.stdin.Close(), p.stdout.Close())
}

func (p *pipes) end() { p.once.Do(func() { close(p.ended) }) }

// A Process describes the process of a server.
type Process struct {
	Pid      int
	Command  Command
	EnvNames []string   // the names of its environment variables, sorted
	Exit     *ExitError // how it ended, also after Close; nil while it runs
}
