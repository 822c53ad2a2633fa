package child

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrStuck is the error of Stop and Close when the process has not ended 10 seconds
// after SIGKILL: it is stuck in the kernel, or belongs to another user.
var ErrStuck = errors.New("the process cannot be killed")

// Stop ends the child and its group, and blocks until Done. It closes stdin, waits
// for [Config.Grace], sends SIGTERM to the group, waits for that time again, and sends
// SIGKILL; see the package documentation for systems without groups. The waits end
// early when the process does. When ctx ends they are over: SIGKILL is sent at once,
// and Stop still waits for its effect.
//
// It may be called any number of times and concurrently; the calls share one shutdown,
// which the first of their contexts to end cuts short. What it returns is that of
// [Process.Wait]; having been told to end is not an error. The error is nil, or
// [ErrStuck] with no exit.
func (p *Process) Stop(ctx context.Context) (*ExitError, error) {
	if first := !p.stopped.Swap(true); first {
		p.climb(ctx)
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

// Close is Stop with all the patience of [Config.Grace].
func (p *Process) Close() error {
	_, err := p.Stop(context.Background())
	return err
}

// climb goes up the ladder until the process has exited.
func (p *Process) climb(ctx context.Context) {
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
