// Package child owns one child process, from its start to its last grandchild.
//
// A program that talks to another over stdin and stdout has to handle the same problems every
// time: the child forks a helper that keeps stdout open, so that end of file never comes; it
// ignores the end of its input; it fills stderr and blocks; it exits at once and the reason scrolls
// away; a launcher such as npx is killed and the program it launched lives on. This package solves
// them in one place, whatever the protocol on the pipes is.
//
//	p, err := child.Start(ctx, child.Config{Command: "npx", Args: []string{"-y", "weather"}})
//	if err != nil {
//		return err // a *StartError, which names the program and the PATH searched
//	}
//	defer p.Close()
//	go talk(p.Stdin(), p.Stdout())
//	<-p.Done()
//	return p.Wait() // `exited with status 3: "boom: missing API key"`
//
// # The life of a child
//
// [Start] gives the child a process group of its own (on Windows a job object, see
// internal/processgroup), a small environment (see [Config.InheritEnv]) and three pipes. The child
// has ended when its process has exited, whether or not its pipes are at end of file. Then this
// package
//
//  1. closes stdin;
//  2. reads the rest of stdout and stderr into memory. If grandchildren hold the pipes open, it
//     stops after 250 ms without data, after 2 s, or after 1 MiB;
//  3. sends SIGKILL to the whole group, so that grandchildren end too;
//  4. reaps the process and closes [Process.Done]. No file and no goroutine of this package is left
//     then. [Process.Stdout] still yields the output of step 2.
//
// [Process.Stop] ends the child: it closes stdin, sends SIGTERM to the group after [Config.Grace],
// and SIGKILL after the same time again.
//
// A group is signalled only while no other process can have its id. On Linux this package waits for
// the exit without reaping (waitid with WNOWAIT), kills the group while the dead leader still holds
// the id, and then reaps the leader. On other Unix systems it kills the group right after reaping,
// before step 2; there the id is reserved only while the group has a member. Windows follows that
// order too, and its jobs have no ids to reuse.
//
// # Limits
//
// A grandchild that leaves the group (setsid, a daemon) is not killed; it delays the end by the
// limits of step 2 at most. Because the child is in another group, a Ctrl-C at the terminal sends
// it no SIGINT: its owner has to stop it.
//
// On Windows no grandchild can leave the job. Instead of SIGTERM, Stop sends CTRL_BREAK_EVENT,
// which needs a console that this program shares with the child; without one, Stop waits for one
// Grace and kills. A batch file (.bat, .cmd, such as npx) is run by cmd.exe and gets its arguments
// unchanged; Start fails if cmd.exe cannot pass an argument on.
//
// On other systems there is no group and no SIGTERM: Stop waits for one Grace and kills the process
// alone. Grandchildren end when they notice the end of their stdin.
//
// # If this program dies
//
// When this program ends without stopping the child, even by SIGKILL, the kernel closes the write
// end of stdin. A well-behaved child ends on end of file, and so do grandchildren that read the
// same stdin. Windows ends the job in any case. Linux could also signal the child (Pdeathsig); this
// package does not ask it to, because that signal is sent when the thread that started the child
// ends, not only with the program, because it reaches the leader but not the program that npx
// launched, and because it leaves a child that obeys the end of file no time to finish. A program
// whose children must not outlive it has a [Config.Start] that starts each below a process which
// survives this program for as long as it takes to end the child.
package child

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// Config describes the process to start. The zero value of every field but Command is useful.
type Config struct {
	// Command is the program: a name on the PATH that the child will have, or a path, which if
	// relative starts at Dir.
	Command string
	Args    []string

	// Dir is the working directory; empty means this program's own.
	Dir string

	// Env holds variables by name. They override inherited ones.
	Env map[string]string

	// InheritEnv names more variables to inherit, by name or pattern ("AWS_*", "*" for
	// everything). The syntax is that of [path.Match], except that * and ? match a slash too.
	//
	// A child always inherits the variables that tell a program its home, temporary files,
	// language, proxy and certificates, and the settings of npm and uv. Credentials in them (tokens
	// and passwords for registries, user and password in proxy URLs) are left out unless InheritEnv
	// names the variable. Values that start with "()" are never inherited: some shells take them
	// for functions.
	InheritEnv []string

	// Grace is how long Stop waits after closing stdin, and again after SIGTERM.
	// 0 means 2 seconds; negative means not at all.
	Grace time.Duration

	// StderrTee, if set, gets a live copy of stderr, without the escaping of [printable.Text].
	// One goroutine at a time calls Write, and does not keep the slice. After a Write that fails or
	// takes over a second, Write is not called again. A Write that never returns holds its
	// goroutine, the only one that can outlive Done.
	StderrTee io.Writer

	// Started, if set, is called with the id of the running process, before the first Write to
	// StderrTee. It must not block.
	Started func(pid int)

	// Start, if set, starts the process in place of this package, for example below another process
	// that ends it when this program is killed; see "If this program dies" in the package
	// documentation. It starts a command as [processgroup.StartPiped] does, and returns this
	// program's ends of the pipes to its stdin and from its stdout and stderr. Path, Args, Env and
	// Dir of the command are set. If ctx ends before the program is loaded, no process is left.
	Start func(ctx context.Context, cmd *exec.Cmd) (Group, [3]*os.File, error)
}

// Process is a running child. All methods may be called concurrently.
type Process struct {
	grace      time.Duration
	stuckAfter time.Duration
	command    string
	group      Group
	stdin      *input
	stdout     *output
	stderr     *stderr

	exited chan struct{} // closed when the process has ended, reaped or not
	done   chan struct{} // closed when everything has ended
	exit   ExitError     // written before done is closed

	ready   atomic.Bool
	stopped atomic.Bool

	killOnce sync.Once
	killed   chan struct{} // closed when SIGKILL has been asked for
}

// Pid returns the process id of the child, which on Unix is also the id of its group.
func (p *Process) Pid() int { return p.group.Pid() }

// Stdin returns the write end of the child's stdin. Write blocks while the pipe is full; Close,
// Stop and the child's exit unblock it with an error. Close may be called more than once. The value
// also has the SetWriteDeadline method of [os.File].
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout returns the read end of the child's stdout. After the child's exit it yields the rest of
// the child's output, then io.EOF; no Read blocks after Done. Close unblocks Read and discards the
// rest. The value also has the SetReadDeadline method of [os.File], which has no effect once the
// child has exited.
//
// The caller should read it to its end: a child blocked in a write to a full pipe does not notice
// the end of its stdin.
func (p *Process) Stdout() io.ReadCloser { return p.stdout }

// StderrTail returns the last 64 KiB of stderr, passed through [printable.Text]. If earlier output
// was dropped, it starts with "…" and, if possible, at the start of a line.
func (p *Process) StderrTail() string { return p.stderr.tail.text() }

// MarkReady records that the child works. [ExitError.BeforeReady] is set if it exits without this.
func (p *Process) MarkReady() { p.ready.Store(true) }

// Done is closed when the process is reaped, its group killed and its output read; the package
// documentation lists the steps.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait blocks until Done and returns how the process ended. The result is not nil for status 0
// either: a child that serves should not end by itself, and only the caller knows whether this exit
// was expected; see [ExitError.Stopped].
func (p *Process) Wait() *ExitError {
	<-p.done
	exit := p.exit
	return &exit
}
