package child

import "os"

// watch waits for the exit and does the steps that the package documentation lists. No other
// goroutine reaps the process, and none outlives this one.
func (p *Process) watch(awaitExit func(pid int) bool) {
	defer close(p.done)

	var state *os.ProcessState
	var err error
	unreaped := awaitExit(p.Pid())
	if !unreaped {
		state, err = p.group.Leader.Wait()
		p.group.Close()
	}
	p.exit.Stopped = p.stopped.Load()
	p.exit.BeforeReady = !p.ready.Load()
	close(p.exited)

	p.stdin.Close()
	defer interrupt(p.stderr.f)()
	p.exit.Held = p.stdout.drain()
	if unreaped {
		p.group.Close()
		state, err = p.group.Leader.Wait() // does not block: the process is dead
	}
	<-p.stderr.done
	p.exit.describe(state, err, p.stderr.tail.text())
}
