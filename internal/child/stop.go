package child

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrStuck is the error of Stop and Close when the process has not ended 10 seconds after SIGKILL:
// it hangs in the kernel, or belongs to another user.
var ErrStuck = errors.New("the process cannot be killed")

// Stop ends the child and its group, and blocks until Done. It closes stdin, waits for
// [Config.Grace], sends SIGTERM to the group, waits for the same time again, and sends SIGKILL; see
// the package documentation for systems without groups. The waits end early when the process exits.
// When ctx ends, Stop sends SIGKILL at once and still waits for its effect.
//
// Stop may be called any number of times and concurrently. The calls share one shutdown, and the
// first of their contexts to end cuts it short. Stop returns the result of [Process.Wait] and a nil
// error, or nil and an error that wraps [ErrStuck].
func (p *Process) Stop(ctx context.Context) (*ExitError, error) {
	if first := !p.stopped.Swap(true); first {
		p.escalate(ctx)
	} else {
		select {
		case <-p.exited:
		case <-p.killed:
		case <-ctx.Done():
			p.kill()
		}
	}
	stuck := time.NewTimer(p.stuckAfter)
	defer stuck.Stop()
	select {
	case <-p.done:
		return p.Wait(), nil
	case <-stuck.C:
		return nil, fmt.Errorf("%q, process %d: %w", p.command, p.Pid(), ErrStuck)
	}
}

// Close calls Stop with a context that does not end.
func (p *Process) Close() error {
	_, err := p.Stop(context.Background())
	return err
}

// escalate closes stdin, sends SIGTERM and sends SIGKILL, until the process has exited.
func (p *Process) escalate(ctx context.Context) {
	exits := func() bool {
		timer := time.NewTimer(p.grace)
		defer timer.Stop()
		select {
		case <-p.exited:
			return true
		case <-ctx.Done():
		case <-p.killed:
		case <-timer.C:
		}
		return false
	}
	p.stdin.Close()
	if exits() {
		return
	}
	if p.group.Terminate() == nil && exits() {
		return
	}
	p.kill()
}

func (p *Process) kill() {
	p.killOnce.Do(func() {
		p.group.Kill()
		close(p.killed)
	})
}
