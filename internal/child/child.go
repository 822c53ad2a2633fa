// Package child owns one child process, from its start to its last grandchild.
//
// A program that talks to another over stdin and stdout meets the same troubles
// every time: the child forks a helper that keeps stdout open, so end of file
// never comes; it ignores the end of its input; it fills stderr and blocks; it
// dies at once and the reason scrolls away; a launcher such as npx is killed and
// what it launched lives on. This package settles them in one place and knows
// nothing of what is said over the pipes.
//
//	p, err := child.Start(ctx, child.Config{Command: "npx", Args: []string{"-y", "weather-server"}})
//	if err != nil {
//		return err // a *StartError: what was looked for, and where
//	}
//	defer p.Close()
//	go talk(p.Stdin(), p.Stdout())
//	<-p.Done()
//	return p.Wait() // `exited with status 3: "boom: missing API key"`
//
// # The life of a child
//
// [Start] gives the child a process group of its own (on Windows a job object, see
// internal/processgroup), a small environment (see [Config.InheritEnv]) and three pipes. The end of the child is the exit of the
// process itself, never the end of file of a pipe. When it comes,
//
//  1. stdin is closed;
//  2. what was written to stdout and stderr is read to its end, into memory, with a
//     short patience (250 ms without data, 2 s and 1 MiB in all) for grandchildren
//     that hold the pipes open;
//  3. the whole group is sent SIGKILL, so that grandchildren end too;
//  4. the process is reaped and [Process.Done] is closed. By then no file and no
//     goroutine of this package is left, and what was read in step 2 can still
//     be had from [Process.Stdout].
//
// [Process.Stop] makes the end come: stdin is closed, after [Config.Grace] the group
// gets SIGTERM, after another SIGKILL.
//
// A group is signalled only while its id cannot have passed to somebody else. On
// Linux the exit is noticed without reaping (waitid with WNOWAIT), the group is
// killed while the dead leader still holds the id, and only then is it reaped. Other
// Unix systems kill the group right after reaping, before step 2; there the id
// is protected only as long as the group has a member. Windows does so too, where a job
// has no id that could pass to somebody else.
//
// # Limits
//
// A grandchild that leaves the group (setsid, a daemon) is out of reach; it delays the
// end by the patience of step 2 and no more. Being in another group, the child gets no
// SIGINT from a Ctrl-C at the terminal: whoever owns it has to stop it.
//
// On Windows no grandchild can leave the job. In place of SIGTERM, Stop sends
// CTRL_BREAK_EVENT, which takes a console that this program shares with the child: without
// one, Stop waits one grace, and kills. A batch file
// (.bat, .cmd, such as npx) is run by cmd.exe, and gets its arguments as they are; one that
// cmd.exe would take for something else is an error of Start.
//
// Elsewhere there is no group and no SIGTERM: Stop waits one grace and kills
// the process alone, and grandchildren are left to notice the end of their stdin.
//
// # If this program dies
//
// When this program ends without stopping the child, even by SIGKILL, the kernel
// closes the write end of stdin, and a well-behaved child ends on end of file; so
// do grandchildren that read the same stdin. Windows ends the job, whatever its members
// heed. Linux could also signal the child
// (Pdeathsig). It is left alone on purpose: it fires when the thread that started the
// child ends, not only the program; it reaches the leader only, not what npx
// launched; and it would kill, with no time to finish, just those who obey the end
// of file.
package child

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/processgroup"
)

// Config says what to start and how. The zero value of every field but Command is useful.
type Config struct {
	// Command is the program: a name to be found on the PATH that the child
	// will have, or a path, which if relative starts at Dir.
	Command string
	Args    []string

	// Dir is the working directory; empty means this program's own.
	Dir string

	// Env is set on top of what is inherited. It wins.
	Env map[string]string

	// InheritEnv widens what is inherited by names or patterns ("AWS_*", "*" for
	// everything). Syntax is that of [path.Match], except that * and ? match a slash too.
	//
	// What is always inherited are the names a program needs to find its home,
	// its temporary files, its language, its proxy and its certificates, and
	// the settings of npm and uv, without the credentials in them: tokens and
	// passwords for registries, and user and password in URLs of proxies, are
	// inherited by who names the variables here. Values that start with "()"
	// never are: some shells take them for functions.
	InheritEnv []string

	// Grace is how long Stop waits after closing stdin, and again after SIGTERM.
	// 0 means 2 seconds; negative means not at all.
	Grace time.Duration

	// StderrLimit is how many bytes of stderr, the latest, are kept. 0 means 64 KiB.
	StderrLimit int

	// StderrTee, if set, gets a live copy of stderr, raw (see [printable.Text]), from
	// one goroutine that does not keep the slice. It is dropped for good once a
	// Write fails or takes over a second. A Write that never returns holds its
	// goroutine, the only one that can outlive Done.
	StderrTee io.Writer

	// Started, if set, is called with the id of the process when that runs, before
	// StderrTee gets anything of it. It must not block.
	Started func(pid int)
}

// Process is a running child. All methods may be called concurrently.
type Process struct {
	grace      time.Duration
	stuckAfter time.Duration
	command    string
	group      *processgroup.Group
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

// Pid is the process id of the child, which on Unix is also the id of its group.
func (p *Process) Pid() int { return p.group.Leader.Pid }

// Stdin is the write end of the child's stdin. Write blocks while the pipe is
// full; Close, Stop and the child's exit unblock it with an error. Close may be called
// more than once. It also has a SetWriteDeadline method, as [os.File] has.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout is the read end of the child's stdout. After the child's exit it yields
// what the child had written, then io.EOF; no Read blocks beyond Done. Close
// unblocks Read and discards what is left. It also has a SetReadDeadline method, as
// [os.File] has; it has no effect once the child has exited.
//
// Somebody should read it until its end: a child blocked in a write to a full
// pipe does not notice the end of its stdin.
func (p *Process) Stdout() io.ReadCloser { return p.stdout }

// StderrTail is the latest output on stderr, at most [Config.StderrLimit] bytes of it,
// passed through [printable.Text]. It begins with "…" and a whole line, if possible, when
// earlier output was let go.
func (p *Process) StderrTail() string { return p.stderr.tail.text() }

// LastStderrLine is the last line on stderr that says something, fit to be
// shown: see [ExitError.LastStderr].
func (p *Process) LastStderrLine() string { return lastLine(p.stderr.tail.text()) }

// MarkReady records that the child has shown itself to work. An exit before that
// has [ExitError.BeforeReady] set.
func (p *Process) MarkReady() { p.ready.Store(true) }

// Done is closed when the process has been reaped, its group killed and its
// output read; see the package documentation for what happens between its exit and this.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait blocks until Done and says how the process ended. It is never nil, for status
// 0 either, because a child that serves is not supposed to end by itself; the
// caller knows whether it was, or looks at [ExitError.Stopped].
func (p *Process) Wait() *ExitError {
	<-p.done
	exit := p.exit
	return &exit
}
