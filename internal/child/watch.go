package child

// watch waits for the exit and does the steps that the package documentation lists. No other
// goroutine reaps the process, and none outlives this one.
func (p *Process) watch() {
	defer p.finish() // deferred: AwaitExit of a group of Config.Start may call runtime.Goexit
	p.group.AwaitExit()
}

// finish does the steps after the exit.
func (p *Process) finish() {
	defer close(p.done)

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
