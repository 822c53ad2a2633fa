package proc

import (
	"context"
	"sync"
	"syscall"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/dispatch"
)

// A process is a running or ended command.
type process struct {
	guard   *guard.Process
	started time.Time

	// closed when the command and its descendants have ended and the output is read
	ended    chan struct{}
	exit     guard.Exit // written before ended is closed, as is duration
	duration time.Duration
}

// watchProcess passes the output of a process, stdout and stderr merged, to write, until the
// process has ended. One goroutine calls write.
func watchProcess(g *guard.Process, write func([]byte)) *process {
	p := &process{guard: g, started: time.Now(), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		g.Stderr().Close()
		var output sync.WaitGroup
		output.Go(func() { copyOutput(g.Stdout(), write) })
		p.exit = g.Exit()
		p.duration = time.Since(p.started)
		g.Stdin().Close()
		drain := time.AfterFunc(drainTimeout, func() { g.Stdout().Close() })
		output.Wait()
		drain.Stop()
		g.Stdout().Close()
	}()
	return p
}

const (
	eofWait = 500 * time.Millisecond // for a process to end after the end of its input
	// for a process to end after it was killed, and for the end of its output
	killTimeout = 5 * time.Second

	// drainTimeout is the time to wait for the end of the output after the process has ended; a
	// descendant that escaped may hold it open, see guard.Exit. It is part of killTimeout.
	drainTimeout = killTimeout / 2
)

// end ends the process: it closes its input, sends SIGTERM, and sends SIGKILL after grace or when
// ctx ends. It blocks until the process has ended.
func (p *process) end(ctx context.Context, grace time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok {
		grace = min(grace, time.Until(deadline)*3/4) // the rest is for killing it
	}
	p.guard.Stdin().Close()
	eofGrace := min(grace/4, eofWait)
	if p.waitFor(ctx, eofGrace) {
		return nil
	}
	if grace > 0 {
		_ = p.guard.Signal(syscall.SIGTERM) // wait even if the signal cannot be sent
		if p.waitFor(ctx, grace-eofGrace) {
			return nil
		}
	}
	return p.kill()
}

// kill kills the process and blocks until it has ended.
func (p *process) kill() error {
	p.guard.Kill()
	if p.waitFor(context.Background(), killTimeout) {
		return nil
	}
	return dispatch.Errorf(dispatch.UpstreamError,
		"process %d was killed but has not ended; it may run as another user or be blocked in the kernel",
		p.guard.Pid())
}

// waitFor blocks until the process has ended, d has passed, or ctx has ended. It reports whether
// the process has ended.
func (p *process) waitFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
	case <-ctx.Done():
	}
	return p.hasEnded()
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// End says how a process ended.
type End struct {
	ExitCode *int   `json:"exit_code,omitempty" doc:"If it ended by itself: its exit status."`
	Signal   string `json:"signal,omitempty" doc:"If a signal ended it: which, as in KILL."`
}

func endOf(exit guard.Exit) End {
	if exit.Signal != 0 {
		return End{Signal: signalName(exit.Signal)}
	}
	return End{ExitCode: &exit.Code}
}

// Status says whether a process runs, and if not, how it ended.
type Status struct {
	Running bool `json:"running"`
	End
}

func (p *process) status() Status {
	if !p.hasEnded() {
		return Status{Running: true}
	}
	return Status{End: endOf(p.exit)}
}
