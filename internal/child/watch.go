package child

import "os"

// watch sees the process to its end, in the order that the package
// documentation gives. It is the only one to reap and the last to run.
func (p *Process) watch(awaitExit func(pid int) bool) {
	defer close(p.done)

	var state *os.ProcessState
	var err error
	held := awaitExit(p.Pid())
	if !held {
		state, err = p.group.Leader.Wait()
		p.group.Close()
	}
	p.exit.Stopped = p.stopped.Load()
	p.exit.BeforeReady = !p.ready.Load()
	close(p.exited)

	p.stdin.Close()
	defer interrupt(p.stderr.f)()
	p.exit.Held = p.stdout.drain()
	if held {
		p.group.Close()
		state, err = p.group.Leader.Wait() // at once: the process is dead
	}
	<-p.stderr.done
	p.exit.describe(state, err, p.stderr.tail.text())
}
