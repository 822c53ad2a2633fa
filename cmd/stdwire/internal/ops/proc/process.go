package proc

import (
	"context"
	"sync"
	"syscall"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/dispatch"
)

// A process is a running command whose output somebody takes.
type process struct {
	guard   *guard.Process
	started time.Time

	ended chan struct{} // closed when it and all that came of it has ended, and the last of the output was taken
	exit  guard.Exit    // written before, as is took
	took  time.Duration
}

// follow has all that a process writes, stdout and stderr merged, handed to write, which one goroutine calls, until it has ended.
func follow(g *guard.Process, write func([]byte)) *process {
	p := &process{guard: g, started: time.Now(), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		g.Stderr().Close()
		var pumping sync.WaitGroup
		pumping.Go(func() { pump(g.Stdout(), write) })
		p.exit = g.Exit()
		p.took = time.Since(p.started)
		g.Stdin().Close()
		late := time.AfterFunc(patience, func() { g.Stdout().Close() })
		pumping.Wait()
		late.Stop()
		g.Stdout().Close()
	}()
	return p
}

const (
	byItself  = 500 * time.Millisecond // for a process to end when its input has
	dieWithin = 5 * time.Second        // when killed, and the output to end

	// patience is for the end of the output when the process has ended, and something that got away
	// may hold it open; see guard.Exit. It is part of dieWithin.
	patience = dieWithin / 2
)

// end has the process end: by the end of its input, by SIGTERM, or when grace is over, or ctx, by SIGKILL. It blocks until it has.
func (p *process) end(ctx context.Context, grace time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok {
		grace = min(grace, time.Until(deadline)*3/4) // the rest is for it to be killed
	}
	p.guard.Stdin().Close()
	first := min(grace/4, byItself)
	if p.endsWithin(ctx, first) {
		return nil
	}
	if grace > 0 {
		_ = p.guard.Signal(syscall.SIGTERM) // if it cannot be asked, it still has the time
		if p.endsWithin(ctx, grace-first) {
			return nil
		}
	}
	return p.kill()
}

// kill kills the process, and blocks until it has ended.
func (p *process) kill() error {
	p.guard.Kill()
	if p.endsWithin(context.Background(), dieWithin) {
		return nil
	}
	return dispatch.Errorf(dispatch.UpstreamError, "process %d has been killed, and does not end; it may have become another user's, or hang in the system",
		p.guard.Pid())
}

// endsWithin blocks until the process has ended, that time is over, or ctx has ended, and reports whether it was the first.
func (p *process) endsWithin(ctx context.Context, d time.Duration) bool {
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
