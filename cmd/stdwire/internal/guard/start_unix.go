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
)

// guardian is the guard of a command.
type guardian struct {
	control *os.File // its end is the end of the command
	parent  *os.Process
}

// guardEnv is all of a guard's environment: one that has little to do, takes little, and keeps what would be a crash of its own to itself.
var guardEnv = []string{"GOMAXPROCS=1", "GOTRACEBACK=none"}

// Start starts a command with its guard, and blocks until the system has loaded both. ctx bounds the start, not the life of the command; when it ends
// before the command has been started, nothing of it remains a moment later.
//
// The error is a *StartError, or that of ctx.
func Start(ctx context.Context, c Command) (*Process, error) {
	p, err := start(ctx, c)
	if ctx.Err() != nil && err != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, &StartError{Name: c.Name, Err: err}
	}
	return p, nil
}

func start(ctx context.Context, c Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if isGuard() {
		return nil, errors.New("this is a guard already: main, or TestMain, has to call guard.Main first")
	}
	path, err := locate(c.Name)
	if err != nil {
		return nil, err
	}
	o := order{parent: os.Getpid(), dir: c.Dir != nil, path: path, args: append([]string{c.Name}, c.Args...), env: c.Env}
	message, err := o.encode()
	if err != nil {
		return nil, err
	}
	if c.Dir != nil {
		if _, err := c.Dir.Stat(); err != nil { // closed
			return nil, fmt.Errorf(stages[stageDir], processgroup.Cause(err))
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program cannot find itself to guard it: %w", err)
	}

	// The read end of each pipe, then its write end.
	var pipes [2 * 5]*os.File
	for i := 0; i < len(pipes); i += 2 {
		if pipes[i], pipes[i+1], err = os.Pipe(); err != nil {
			closeAll(pipes[:i]...)
			return nil, err
		}
	}
	ours := []*os.File{pipes[1], pipes[2], pipes[4], pipes[7], pipes[8]}
	p := &Process{
		stdin: ours[0], stdout: ours[1], stderr: ours[2],
		guardian: guardian{control: ours[3]}, done: make(chan struct{}),
	}
	status := ours[4]

	stderr := pipes[5]
	if c.Merged {
		stderr = pipes[3]
	}
	cmd := &exec.Cmd{
		Path:        selfPath(self),
		Args:        []string{self, marker},
		Env:         guardEnv,
		ExtraFiles:  []*os.File{pipes[6], pipes[9], pipes[0], pipes[3], stderr}, // from controlFile on
		SysProcAttr: guardAttr(),
	}
	if c.Dir != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, c.Dir)
	}
	err = cmd.Start()
	// The guard has its own copies. Ours would keep the pipes from ever ending.
	closeAll(pipes[6], pipes[9], pipes[0], pipes[3], pipes[5])
	if err != nil {
		closeAll(ours...)
		return nil, fmt.Errorf("its guard %s: %w", self, processgroup.Cause(err))
	}
	p.parent = cmd.Process

	stop := context.AfterFunc(ctx, func() {
		p.control.SetWriteDeadline(time.Unix(1, 0))
		status.SetReadDeadline(time.Unix(1, 0))
	})
	p.control.Write(message) // if that fails, the guard has ended or is about to, and status says why
	lines := bufio.NewReader(status)
	p.pid, err = readStarted(lines)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		closeAll(ours[:4]...) // the end of control is the end of the guard and of what it may have started
		go func() {
			p.parent.Wait()
			status.Close()
		}()
		return nil, err
	}
	go p.watch(status, lines)
	return p, nil
}

// readStarted waits for the guard to have started the command, or to have failed.
func readStarted(lines *bufio.Reader) (pid int, err error) {
	line, err := lines.ReadString('\n')
	if err != nil {
		return 0, errors.New("its guard ended at once: main, or TestMain, has to call guard.Main first")
	}
	if _, err := fmt.Sscanf(line, "started %d\n", &pid); err == nil {
		return pid, nil
	}
	var errno syscall.Errno
	var stage int
	if _, err := fmt.Sscanf(line, "failed %d %d\n", &errno, &stage); err != nil || stage < 0 || stage >= len(stages) {
		return 0, fmt.Errorf("its guard said %q", line)
	}
	return 0, fmt.Errorf(stages[stage], errno)
}

// watch waits for the guard to end.
func (p *Process) watch(status *os.File, lines *bufio.Reader) {
	line, _ := lines.ReadString('\n')
	p.parent.Wait()
	var sig int
	if _, err := fmt.Sscanf(line, "killed %d\n", &sig); err == nil {
		p.exit = Exit{Code: -1, Signal: syscall.Signal(sig)}
	} else if _, err := fmt.Sscanf(line, "exited %d\n", &p.exit.Code); err != nil {
		p.exit = Exit{Code: -1, Signal: syscall.SIGKILL, Lost: true}
		// The command itself, which dies with the guard, may be gone and its id with it, unless the group has more members. Ids
		// come round far too seldom for this to hit somebody else.
		syscall.Kill(-p.pid, syscall.SIGKILL)
	}
	closeAll(p.control, status)
	close(p.done)
}

// Signal sends a signal to the command's whole group. It returns before the signal has arrived; signals arrive in order. A stopped command takes
// no signal but SIGCONT and SIGKILL before it is continued.
//
// The error is [os.ErrProcessDone] if the command has ended, or Kill been called. There is none if the command is ending just now, or if the system does not
// let this user signal it.
func (p *Process) Signal(sig syscall.Signal) error {
	if sig <= 0 || sig > 64 {
		return fmt.Errorf("signal %d: %w", int(sig), syscall.EINVAL)
	}
	select {
	case <-p.done:
		return os.ErrProcessDone
	default:
	}
	p.control.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)) // if somebody has stopped the guard
	_, err := fmt.Fprintf(p.control, "%d\n", sig)
	if errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE) {
		return os.ErrProcessDone
	}
	return err
}

// Kill kills the command and all of its descendants. It does not block; Done tells when they are gone. It may be called at any time, and more than once.
func (p *Process) Kill() {
	p.control.Close()
	p.parent.Signal(syscall.SIGCONT) // if somebody has stopped the guard
}

// locate finds a name on this program's PATH. A path is for the guard to resolve, once it is in the directory.
func locate(name string) (string, error) {
	if name == "" {
		return "", errors.New("no name of a command")
	}
	if filepath.Base(name) != name {
		return name, nil
	}
	path, err := exec.LookPath(name)
	return path, processgroup.Cause(err)
}
