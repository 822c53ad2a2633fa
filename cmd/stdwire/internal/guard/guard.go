// Package guard runs commands of which nothing can outlive this program.
//
// A command that is started as usual lives on when its parent is killed; so does a daemon it made, when the command itself is killed with all of its
// process group. Here each command has a guard for its parent: a second process, which is this program's own executable and watches a pipe
// that only this program holds. When that ends, by [Process.Kill] or by the end of this program, SIGKILL included, the guard kills the command and
// whatever came of it, and ends when the last of them has been reaped.
//
//	func main() {
//		guard.Main() // a guard starts here too
//		…
//		p, err := guard.Start(ctx, guard.Command{Name: "sh", Args: []string{"-c", "exec sort"}, Env: os.Environ()})
//		if err != nil {
//			return err // a *StartError, or that of ctx
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
// The command leads a process group of its own, and the guard another, so that a Ctrl-C at the terminal reaches neither: whoever started the
// command has to stop it. It gets exactly the environment and the arguments given, three pipes, and no other open file; no signal is ignored or blocked.
//
// Its end is its own exit. Then, or when it is to be killed, the guard
//
//  1. sends SIGKILL to the command's group;
//  2. sends SIGKILL to all descendants, and reaps, until there are none. Those whose parent has died become children of the guard (it is a
//     "child subreaper"), so that a daemon in a session of its own is found as well;
//  3. says how the command ended, and ends.
//
// So, when [Process.Done] is closed, no descendant exists, and stdout and stderr have come to their end behind what was written: nobody has
// to guess how long to wait for a grandchild that holds a pipe.
//
// # Limits
//
// A process that cannot be killed, because it has become another user's or hangs in the system, delays Done until it has ended. A process that
// was meant to be killed is hunted for as long as there are any; one that forks faster than this machine lets the guard look at /proc is a
// matter of luck and of limits on the number of processes.
//
// If the guard itself is killed by SIGKILL, the command dies with it, and this program kills the rest of the group; what has left the group gets away. See
// [Exit.Lost].
//
// What is said above of descendants that leave the group holds on Linux, with /proc mounted. Other
// Unix systems kill the group, and there is an instant in which its id is not protected.
//
// On Windows there are no guards, as the system itself does their work: the command and its
// descendants are in a job object that none of them can leave, and that ends with this program. All
// that is said above of Kill, of Done and of the end of this program holds. [Process.Signal] can
// kill, and ask to terminate. The environment is what was given, and SYSTEMROOT, without which
// programs do not start. A batch file gets its arguments as they are, or is not started: see
// internal/processgroup. What a command has others start, a service or a scheduled task, is none
// of its descendants.
//
// Elsewhere the command is started directly and killed alone, it outlives this program, and its
// descendants outlive it.
package guard

import (
	"fmt"
	"os"
	"syscall"
)

// Command says what to run. Nothing in it is kept or changed.
type Command struct {
	// Name is a name to be found on the PATH of this program, whatever PATH the command is to have, or a path, which if relative
	// starts at Dir. A relative path in PATH is an error ([exec.ErrDot]), and a file there that may not be executed is not found.
	Name string
	Args []string // without the name

	// Env is all of the environment, as NAME=value. Nil is an empty one. Name, Args, and Env may be 8 MiB; most systems allow less.
	Env []string

	// Dir is an open directory to run in; nil means this program's own. That it is open and no path means that it is the one that was
	// looked at. Start does not close it, and does not need it once it has returned.
	Dir *os.File

	// Merged makes stderr the same pipe as stdout, so that what is written to both comes in the order in which it was written. Stderr of the process
	// is then at its end from the start.
	Merged bool
}

// Process is a running command. All methods may be called concurrently. It has one goroutine, which ends with the guard.
type Process struct {
	pid                   int
	stdin, stdout, stderr *os.File
	guardian
	done chan struct{}
	exit Exit // written before done is closed
}

// Exit says how a command ended.
type Exit struct {
	Code   int            // -1 if it was ended by a signal
	Signal syscall.Signal // 0 if it was not

	// Lost is set when the guard was killed, which takes a SIGKILL from elsewhere: descendants that left the command's group may be alive, and hold
	// the pipes open; the rest has been sent SIGKILL, but may take a moment to end.
	Lost bool
}

// String is such as "exited with status 3" or "ended by signal: killed".
func (e Exit) String() string {
	switch {
	case e.Lost:
		return "killed, as its guard was"
	case e.Signal != 0:
		return fmt.Sprintf("ended by signal: %v", e.Signal)
	}
	return fmt.Sprintf("exited with status %d", e.Code)
}

// StartError says why a command could not be started. It wraps the cause: [exec.ErrNotFound] if no program of that name is on the PATH,
// [fs.ErrNotExist] if there is nothing at the path given, [fs.ErrPermission] if it may not be executed or the directory not be entered.
type StartError struct {
	Name string
	Err  error
}

func (e *StartError) Error() string { return fmt.Sprintf("cannot start %q: %v", e.Name, e.Err) }

func (e *StartError) Unwrap() error { return e.Err }

// Pid is the process id of the command, which on Unix is also the id of its group.
func (p *Process) Pid() int { return p.pid }

// Stdin is the write end of the command's stdin, for the caller to close. Writes block while the pipe is full, and honour SetWriteDeadline; they
// fail with [syscall.EPIPE] once nobody is left to read, on Windows with ERROR_NO_DATA (232).
func (p *Process) Stdin() *os.File { return p.stdin }

// Stdout is the read end of the command's stdout, for the caller to read to its end and to close. Reads honour SetReadDeadline.
func (p *Process) Stdout() *os.File { return p.stdout }

// Stderr is the read end of the command's stderr, as Stdout.
func (p *Process) Stderr() *os.File { return p.stderr }

// Done is closed when the command and all of its descendants are gone, and reaped. It does not wait for anybody to read what they wrote.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit blocks until Done, and says how the command ended.
func (p *Process) Exit() Exit {
	<-p.done
	return p.exit
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
}
