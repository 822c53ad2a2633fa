//go:build unix

package guard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/stdwire/stdwire/internal/processgroup"
	"github.com/stdwire/stdwire/internal/timeout"
)

// supervisor is the guard of a command, as seen by the program.
type supervisor struct {
	control *os.File // closing it makes the guard kill the command
	guard   *os.Process
	ended   chan struct{} // closed when the command itself has ended; see request.lingers
}

// A noGuardError says that there is no guard to start a command.
type noGuardError struct{ error }

func (e *noGuardError) Unwrap() error { return e.error }

// guardEnv is the whole environment of a guard: it needs one thread to run Go code, and prints no
// stack traces.
var guardEnv = []string{"GOMAXPROCS=1", "GOTRACEBACK=none"}

func start(ctx context.Context, c Command) (*Process, error) {
	if isGuard() {
		return nil, errors.New(
			"this is a guard already: main, or TestMain, has to call guard.Main first")
	}
	path, err := locate(c.Name)
	if err != nil {
		return nil, err
	}
	if c.Dir != nil {
		if _, err := c.Dir.Stat(); err != nil { // closed
			return nil, fmt.Errorf(stages[stageDir], processgroup.Cause(err))
		}
	}
	return request{
		dir:  c.Dir != nil,
		path: path,
		args: append([]string{c.Name}, c.Args...),
		env:  c.Env,
	}.start(ctx, &exec.Cmd{}, c.Dir, c.Merged)
}

// start starts a guard and makes it start the command of the request. cmd is the command of the
// guard, whose Dir may be set; dir is the open directory that the guard enters, or nil.
func (r request) start(ctx context.Context, cmd *exec.Cmd, dir *os.File, merged bool) (*Process,
	error) {
	r.parent = os.Getpid()
	message, err := r.encode()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, &noGuardError{fmt.Errorf(
			"its guard would run this program, whose path is unknown: %w", err)}
	}

	// The read end of each pipe, then its write end.
	var pipes [2 * 5]*os.File
	for i := 0; i < len(pipes); i += 2 {
		if pipes[i], pipes[i+1], err = os.Pipe(); err != nil {
			processgroup.CloseAll(pipes[:i]...)
			return nil, err
		}
	}
	parentEnds := []*os.File{pipes[1], pipes[2], pipes[4], pipes[7], pipes[8]}
	p := newProcess([3]*os.File(parentEnds))
	p.control, p.ended = parentEnds[3], make(chan struct{})
	status := parentEnds[4]

	stderr := pipes[5]
	if merged {
		stderr = pipes[3]
	}
	cmd.Path, cmd.Args = selfPath(self), []string{self, guardArg}
	cmd.Env, cmd.SysProcAttr = guardEnv, guardAttr()
	// from controlFile on
	cmd.ExtraFiles = []*os.File{pipes[6], pipes[9], pipes[0], pipes[3], stderr}
	if dir != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, dir)
	}
	err = cmd.Start()
	// The guard has its own copies. While those of this program are open, the pipes do not end.
	processgroup.CloseAll(pipes[6], pipes[9], pipes[0], pipes[3], pipes[5])
	if err != nil {
		processgroup.CloseAll(parentEnds...)
		return nil, &noGuardError{
			fmt.Errorf("its guard %s cannot be started: %w", self, processgroup.Cause(err))}
	}
	p.guard = cmd.Process

	stop := context.AfterFunc(ctx, func() {
		p.control.SetWriteDeadline(time.Unix(1, 0))
		status.SetReadDeadline(time.Unix(1, 0))
	})
	p.control.Write(message)                 // if this fails, status says why the guard has ended
	lines := bufio.NewReaderSize(status, 64) // few and short, and kept while the command runs
	p.pid, err = readStarted(lines)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		// closing control ends the guard and its descendants
		processgroup.CloseAll(parentEnds[:4]...)
		go func() {
			p.guard.Wait()
			status.Close()
		}()
		return nil, err
	}
	go p.watch(status, lines)
	return p, nil
}

// readStarted waits until the guard reports that it has started the command, or why it failed.
func readStarted(lines *bufio.Reader) (pid int, err error) {
	line, err := lines.ReadString('\n')
	if err != nil {
		return 0, &noGuardError{errors.New(
			"its guard ended at once: main, or TestMain, has to call guard.Main first")}
	}
	if _, err := fmt.Sscanf(line, "started %d\n", &pid); err == nil {
		return pid, nil
	}
	var errno syscall.Errno
	var stage int
	if _, err := fmt.Sscanf(line, "failed %d %d\n", &errno, &stage); err != nil || stage < 0 ||
		stage >= len(stages) {
		return 0, fmt.Errorf("its guard sent an unknown message: %q", line)
	}
	return 0, fmt.Errorf(stages[stage], errno)
}

// watch waits for the guard to exit.
func (p *Process) watch(status *os.File, lines *bufio.Reader) {
	line, _ := lines.ReadString('\n')
	close(p.ended)
	if line == "ended\n" {
		line, _ = lines.ReadString('\n')
	}
	p.guard.Wait()
	var sig int
	if _, err := fmt.Sscanf(line, "killed %d\n", &sig); err == nil {
		p.exit = Exit{Code: -1, Signal: syscall.Signal(sig)}
	} else if _, err := fmt.Sscanf(line, "exited %d\n", &p.exit.Code); err != nil {
		p.exit = Exit{Code: -1, Signal: syscall.SIGKILL, Lost: true}
		// The command dies with the guard, so its id is free again if the group has no other
		// member. Ids are reused too late for this to hit another process.
		syscall.Kill(-p.pid, syscall.SIGKILL)
	}
	processgroup.CloseAll(p.control, status)
	close(p.done)
}

// Signal sends a signal to the command's whole group. It returns before the signal has arrived;
// signals arrive in order. A stopped command acts on no signal but SIGCONT and SIGKILL until it is
// continued.
//
// The error is [os.ErrProcessDone] if the command has ended or Kill has been called. It is nil if
// the command is just ending, or if the system does not permit this user to signal it.
func (p *Process) Signal(sig syscall.Signal) error {
	if sig <= 0 || sig > 64 {
		return fmt.Errorf("signal %d: %w", int(sig), syscall.EINVAL)
	}
	select {
	case <-p.done:
		return os.ErrProcessDone
	default:
	}
	// In case the guard is stopped, this ends after a tenth of a second, in parts: a deadline that
	// has passed before the write begins says nothing of the guard. So short a text is written
	// whole or not at all.
	var err error
	timeout.InParts(100*time.Millisecond, func(part time.Duration) bool {
		p.control.SetWriteDeadline(time.Now().Add(part))
		_, err = fmt.Fprintf(p.control, "%d\n", sig)
		return !errors.Is(err, os.ErrDeadlineExceeded)
	})
	if errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE) {
		return os.ErrProcessDone
	}
	return err
}

// Kill kills the command and all of its descendants. It does not block; Done is closed when they
// are gone. Kill may be called at any time and more than once.
func (p *Process) Kill() {
	p.control.Close()
	p.guard.Signal(syscall.SIGCONT) // in case the guard is stopped
}

// locate finds a name on this program's PATH. It returns a path unchanged; the guard resolves it in
// the working directory.
func locate(name string) (string, error) {
	if filepath.Base(name) != name {
		return name, nil
	}
	path, err := exec.LookPath(name)
	return path, processgroup.Cause(err)
}
