package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// httpLoadSuite runs for a long time. It fails if a server under load and with many subscriptions
// loses calls or notifications, or if its memory or goroutines grow.
func httpLoadSuite(o options) ([]measure, error) {
	var all []measure
	for _, connections := range []int{32, 1000} {
		m, err := loadFor(connections, o)
		if err != nil {
			return nil, fmt.Errorf("%d connections: %w", connections, err)
		}
		all = append(all, m)
	}
	listening, err := httpListeners(o)
	if err != nil {
		return nil, fmt.Errorf("listeners: %w", err)
	}
	return append(all, listening...), nil
}

func loadFor(connections int, o options) (m measure, err error) {
	p, err := startHTTP("stdwire", o.profiles)
	if err != nil {
		return m, err
	}
	defer p.stop()
	before, err := p.command("goroutines")
	if err != nil {
		return m, err
	}
	r, err := p.run(connections, o.time)
	if err != nil {
		return m, err
	}
	if r.lateRSS > 1.25*r.earlyRSS+4 {
		return m, fmt.Errorf(
			"the server took %.1f MiB after a fifth of the time, and %.1f MiB at the end",
			r.earlyRSS, r.lateRSS)
	}
	m = measure{fmt.Sprintf("HTTP, 64 B, %d connections", connections), "stdwire", r.rate(),
		"calls/s", true, fmt.Sprintf(
			"%d calls, no error, p50 %.2f ms, p99 %.2f ms, max %.1f ms, %.1f µs CPU a call, RSS %.1f MiB after a fifth of the time, %.1f MiB at the end, goroutines %s as before",
			len(r.times), milliseconds(r.quantile(0.5)), milliseconds(r.quantile(0.99)),
			milliseconds(r.quantile(1)), r.cpuPerCall(), r.earlyRSS, r.lateRSS, before)}
	return m, p.waitForGoroutines(before)
}

// waitForGoroutines waits until the server has as many goroutines as before.
func (p *process) waitForGoroutines(want string) error {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		got, err := p.command("goroutines")
		if err != nil || got == want {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf(
				"the server had %s goroutines before, and has %s 10 s after its clients have gone",
				want, got)
		}
	}
}

// httpListeners opens as many subscriptions as allowed, keeps them idle for some time, and then
// changes the list of tools.
func httpListeners(o options) (all []measure, err error) {
	n, err := allowedConnections(o.listeners)
	if err != nil {
		return nil, err
	}
	p, err := startHTTP("stdwire", o.profiles)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	goroutines, err := p.command("goroutines")
	if err != nil {
		return nil, err
	}
	empty, err := p.memory("VmRSS")
	if err != nil {
		return nil, err
	}
	request := httpRequest(p.address, "subscriptions/listen", "",
		`"notifications":{"toolsListChanged":true},`)
	begin := time.Now()
	clients, err := dialAll(p.address, n, func(c *httpClient) error {
		c.buf = c.buf[:512]
		if _, err := c.conn.Write(request); err != nil {
			return err
		}
		return c.waitForMethod("notifications/subscriptions/acknowledged", responseTimeout)
	})
	defer closeAll(clients)
	if err != nil {
		return nil, err
	}
	opened := time.Since(begin)
	first, err := p.memory("VmRSS")
	if err != nil {
		return nil, err
	}

	heard, errs := make([]time.Time, n), make([]error, n)
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() {
			errs[i] = c.waitForMethod("notifications/tools/list_changed", o.time+responseTimeout)
			heard[i] = time.Now()
		})
	}
	cpu, err := p.cpu()
	if err != nil {
		return nil, err
	}
	time.Sleep(o.time) // measures the cost of idle subscriptions
	idle, err := p.cpu()
	if err != nil {
		return nil, err
	}
	full, err := p.memory("VmRSS")
	if err != nil {
		return nil, err
	}
	changed := time.Now()
	if _, err := p.command("change"); err != nil {
		return nil, err
	}
	wg.Wait()
	if err := firstError(errs); err != nil {
		return nil, err
	}
	told, err := p.memory("VmRSS")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(heard, time.Time.Compare)
	closeAll(clients)
	what := fmt.Sprintf("HTTP, %d idle listeners", n)
	all = []measure{
		{what + ", RSS of each", "stdwire", (full - empty) * 1024 / float64(n), "KiB", false,
			fmt.Sprintf("%.0f MiB with none, %.0f when all were open (after %.1f s), %.0f after %v, %.0f after the change; %.2f %% CPU idle",
				empty, first, opened.Seconds(), full, o.time, told,
				100*(idle-cpu).Seconds()/o.time.Seconds())},
		{what + ", change told to all", "stdwire", milliseconds(heard[n-1].Sub(changed)), "ms",
			false,
			fmt.Sprintf("to the first in %.1f ms, to half in %.1f; goroutines %s as before",
				milliseconds(heard[0].Sub(changed)), milliseconds(heard[n/2].Sub(changed)),
				goroutines)},
	}
	return all, p.waitForGoroutines(goroutines)
}

// waitForMethod reads until the server has sent a method.
func (c *httpClient) waitForMethod(method string, within time.Duration) error {
	if err := c.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	for have := 0; ; {
		n, err := c.conn.Read(c.buf[have:])
		if err != nil {
			return fmt.Errorf("%w, rather than %s, behind %q", err, method, c.buf[:have])
		}
		have += n
		switch {
		case bytes.Contains(c.buf[:have], []byte(method)):
			return nil
		case have == len(c.buf):
			return fmt.Errorf("the server says %q, rather than %s", c.buf, method)
		case bytes.HasSuffix(c.buf[:have], []byte("\n\n\r\n")):
			// a chunk of complete events, such as comments
			have = 0
		}
	}
}

// allowedConnections returns how many of n connections the limit of open files allows, which is the
// same for both processes. The Go runtime has raised it to the maximum.
func allowedConnections(n int) (int, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	if allowed := int(limit.Max) - 100; allowed < n {
		fmt.Fprintf(os.Stderr, "bench: only %d connections: more files may not be open\n", allowed)
		return allowed, nil
	}
	return n, nil
}
