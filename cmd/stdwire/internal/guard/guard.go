// Package guard runs commands whose processes never outlive this program.
//
// A command that os/exec starts lives on when its parent is killed, and a daemon that it started
// lives on when the command's process group is killed. Here the parent of each command is a guard:
// a second process, which runs this program's own executable and reads a pipe whose other end only
// this program holds. When that end is closed, by [Process.Kill] or by the end of this program,
// SIGKILL included, the guard kills the command and its descendants, and exits when it has reaped
// the last of them.
//
//	func main() {
//		guard.Main() // a guard starts here too
//		…
//		p, err := guard.Start(ctx, guard.Command{
//			Name: "sh", Args: []string{"-c", "exec sort"}, Env: os.Environ(),
//		})
//		if err != nil {
//			return err // a *StartError, or the error of ctx
//		}
//		defer p.Kill()
//		go feed(p.Stdin())
//		go drain(p.Stderr())
//		drain(p.Stdout())
//		fmt.Println(p.Exit())
//	}
//
// # The life of a command
//
// The command leads a process group of its own, and its guard leads another, so that a Ctrl-C at
// the terminal reaches neither: the caller of [Start] has to stop the command. The command gets
// exactly the environment and the arguments given, three pipes, and no other open file. No signal
// is ignored or blocked in it.
//
// When the command exits, or when it is to be killed, the guard
//
//  1. sends SIGKILL to the command's group;
//  2. sends SIGKILL to all descendants and reaps them, until none is left. A process whose parent
//     has died becomes a child of the guard (a "child subreaper"), so the guard finds daemons in
//     sessions of their own as well;
//  3. reports how the command ended, and exits.
//
// So no descendant exists when [Process.Done] is closed, and stdout and stderr reach their end
// after the output. The caller need not guess how long to wait for a grandchild that holds a pipe.
//
// # Limits
//
// A process that cannot be killed, because it belongs to another user now or hangs in the kernel,
// delays Done until it ends. The guard kills until no descendant is left; if a process forks faster
// than the guard can read /proc, only luck and limits on the number of processes end it.
//
// If the guard is killed by SIGKILL, the command dies with it, and this program kills the rest of
// the group. Processes that left the group live on; see [Exit.Lost].
//
// Descendants that leave the group are found only on Linux, with /proc mounted. Other Unix systems
// kill the group, and for an instant another process could get its id.
//
// Windows needs no guard processes: the command and its descendants are in a job object that none
// of them can leave and that ends with this program. Everything above about Kill, Done and the end
// of this program holds. [Process.Signal] can only kill and ask to terminate. The environment is
// the one given, and SYSTEMROOT, without which programs do not start. A batch file gets its
// arguments unchanged or is not started; see internal/processgroup. A service or a scheduled task
// that the command starts is not its descendant.
//
// On other systems the command is started directly and killed alone. It outlives this program, and
// its descendants outlive it.
package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Command says what to run. Start keeps and changes nothing of it.
type Command struct {
	// Name is a name on the PATH of this program, or a path, which if relative starts at Dir. If
	// the name is in a relative directory of PATH, the error is [exec.ErrDot]. A file in PATH that
	// is not executable is passed over.
	Name string
	Args []string // without the name

	// Env is the whole environment, as NAME=value. Nil means an empty one. Name, Args and Env may
	// be 8 MiB together; most systems allow less.
	Env []string

	// Dir is an open directory to run in; nil means this program's own. An open directory, unlike
	// a path, is certain to be the one that the caller checked; on Windows it is entered by its
	// path. Start does not close it, and does not use it after returning.
	Dir *os.File

	// Merged makes stderr the same pipe as stdout, so that output to both arrives in the order in
	// which it was written. [Process.Stderr] is then at its end.
	Merged bool
}

// Process is a running command. All methods may be called concurrently. It has one goroutine, which
// ends when the command and its descendants have.
type Process struct {
	pid                   int
	stdin, stdout, stderr *os.File
	supervisor
	done chan struct{}
	exit Exit // written before done is closed
}

// newProcess returns a process with this program's ends of its pipes.
func newProcess(pipes [3]*os.File) *Process {
	return &Process{stdin: pipes[0], stdout: pipes[1], stderr: pipes[2], done: make(chan struct{})}
}

// Exit says how a command ended.
type Exit struct {
	Code   int            // -1 if a signal ended it
	Signal syscall.Signal // 0 if no signal ended it

	// Lost is set when another program killed the guard by SIGKILL. Descendants that left the
	// command's group may be alive and hold the pipes open; the others have been sent SIGKILL, but
	// may take a moment to end.
	Lost bool
}

// String returns a text such as "exited with status 3" or "ended by signal: killed".
func (e Exit) String() string {
	switch {
	case e.Lost:
		return "killed, because its guard was killed"
	case e.Signal != 0:
		return fmt.Sprintf("ended by signal: %v", e.Signal)
	}
	return fmt.Sprintf("exited with status %d", e.Code)
}

// StartError says why a command could not be started. It wraps the cause: [exec.ErrNotFound] if no
// program of that name is on the PATH, [fs.ErrNotExist] if there is no file at the path given,
// [fs.ErrPermission] if the file is not executable or the directory cannot be entered.
type StartError struct {
	Name string
	Err  error
}

func (e *StartError) Error() string { return fmt.Sprintf("cannot start %q: %v", e.Name, e.Err) }

func (e *StartError) Unwrap() error { return e.Err }

// Start starts a command, with its guard where the system needs one, and blocks until the system
// has loaded both. ctx bounds the start, not the life of the command. If ctx ends before the
// command has started, no process of it remains a moment later.
//
// The error is a *StartError, or the error of ctx.
func Start(ctx context.Context, c Command) (*Process, error) {
	err := ctx.Err()
	if err != nil {
		return nil, err
	}
	var p *Process
	if c.Name == "" {
		err = errors.New("the command has no name")
	} else {
		p, err = start(ctx, c)
	}
	switch {
	case err == nil:
		return p, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, &StartError{Name: c.Name, Err: err}
}

// Pid returns the process id of the command, which on Unix is also the id of its group.
func (p *Process) Pid() int { return p.pid }

// Stdin returns the write end of the command's stdin, which the caller closes. Writes block while
// the pipe is full, and honour SetWriteDeadline. They fail with [syscall.EPIPE] once no process can
// read, on Windows with ERROR_NO_DATA (232).
func (p *Process) Stdin() *os.File { return p.stdin }

// Stdout returns the read end of the command's stdout, which the caller reads to its end and
// closes. Reads honour SetReadDeadline.
func (p *Process) Stdout() *os.File { return p.stdout }

// Stderr returns the read end of the command's stderr, which the caller uses like Stdout.
func (p *Process) Stderr() *os.File { return p.stderr }

// Done is closed when the command and all of its descendants are gone and reaped. It does not wait
// until their output has been read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit blocks until Done and returns how the command ended.
func (p *Process) Exit() Exit {
	<-p.done
	return p.exit
}
