package child

// watch waits for the exit and does the steps that the package documentation lists. No other
// goroutine reaps the process, and none outlives this one.
func (p *Process) watch() {
	defer close(p.done)

	p.group.AwaitExit()
	p.exit.Stopped = p.stopped.Load()
	p.exit.BeforeReady = !p.ready.Load()
	close(p.exited)

	p.stdin.Close()
	p.exit.Unread = p.stdin.unread && !p.exit.Stopped
	defer interrupt(p.stderr.f)() // so that its reader ends although a descendant holds it
	p.exit.Held = p.stdout.drain()
	status, signal, err := p.group.End()
	<-p.stderr.done
	p.exit.describe(status, signal, err, p.stderr.tail.text())
}
