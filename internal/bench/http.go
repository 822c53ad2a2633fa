package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	http32       = "HTTP, 64 B, 32 connections"
	http1        = "HTTP, 64 B, 1 connection"
	httpLegacy32 = "HTTP legacy, 64 B, 32 connections"
	httpLarge32  = "HTTP, 64 KiB, 32 connections"
	httpHuge32   = "HTTP, 1 MiB, 32 connections"
)

var httpBudgets = []budget{{http32, "go-sdk", 15}, {http32, "mcp-go", 3}, {http32, "net/http", 0.5}}

// A listeningProcess is a server process that listens at an address.
type listeningProcess struct {
	*process
	address string
}

func startHTTP(name, profiles string) (*listeningProcess, error) {
	return startListener("-http-server", name, profiles)
}

// startListener starts this program as the server that a flag selects, and waits for its address.
func startListener(flag, name, profiles string) (*listeningProcess, error) {
	p, err := startSelf(flag, name, "-profile", profiles)
	if err != nil {
		return nil, err
	}
	address, err := p.line()
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s did not start: %w", name, err)
	}
	return &listeningProcess{p, address}, nil
}

// startSelf starts this program.
func startSelf(args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(self, args...)
}

// command sends a command to the server, and returns its output.
func (p *process) command(command string) (string, error) {
	if _, err := p.out.Write([]byte(command + "\n")); err != nil {
		return "", err
	}
	return p.line()
}

func (p *process) line() (string, error) {
	line, err := p.in.ReadString('\n')
	return strings.TrimSpace(line), err
}

// cpu returns the processor time of the server so far.
func (p *process) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("/proc: %q", stat)
	}
	// in clock ticks: Linux has 100 per second on all platforms of Go
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}

// A loadRun is the result of calling a server for some time.
type loadRun struct {
	times             []time.Duration // sorted
	took              time.Duration
	cpu               time.Duration // of the server
	earlyRSS, lateRSS float64       // RSS in MiB after a fifth of the time and at the end
	peakRSS           float64       // since the start of the server, in MiB
}

func (r *loadRun) rate() float64 { return float64(len(r.times)) / r.took.Seconds() }

func (r *loadRun) quantile(q float64) time.Duration {
	return quantile(r.times, q)
}

func (r *loadRun) cpuPerCall() float64 {
	return float64(r.cpu.Microseconds()) / float64(len(r.times))
}

// run calls over several connections: for a fifth of d to warm up, and then for d.
func (p *listeningProcess) run(connections int, d time.Duration) (r *loadRun, err error) {
	return p.runClients(connections, d, p.open)
}

// open prepares a call of the modern era.
func (p *listeningProcess) open(c *httpClient) error {
	c.call = httpCall(p.address, httpEcho)
	return nil
}

// openSize returns a function that prepares a call of size bytes.
func (p *listeningProcess) openSize(size int) func(*httpClient) error {
	call := httpCall(p.address, bytes.Repeat(httpEcho, size/len(httpEcho)))
	return func(c *httpClient) error {
		c.call = call
		c.buf = make([]byte, 3*size) // the response has the text twice
		return nil
	}
}

// runClients is like run, with connections that open prepares.
func (p *listeningProcess) runClients(connections int, d time.Duration,
	open func(*httpClient) error) (r *loadRun, err error) {
	clients, err := dialAll(p.address, connections, open)
	defer closeAll(clients)
	if err != nil {
		return nil, err
	}
	return p.runLoad(d, func(d time.Duration) ([]time.Duration, time.Duration, error) {
		return load(clients, d)
	})
}

// runLoad calls for a fifth of d to warm up, and then for d. call returns the duration of each call
// and of all.
func (p *process) runLoad(d time.Duration,
	call func(d time.Duration) (times []time.Duration, took time.Duration, err error),
) (r *loadRun, err error) {
	r = &loadRun{}
	if _, _, err = call(d / 5); err != nil {
		return nil, err
	}
	if r.earlyRSS, err = p.memory("VmRSS"); err != nil {
		return nil, err
	}
	before, err := p.cpu()
	if err != nil {
		return nil, err
	}
	if r.times, r.took, err = call(d); err != nil {
		return nil, err
	}
	after, err := p.cpu()
	if err != nil {
		return nil, err
	}
	r.cpu = after - before
	slices.Sort(r.times)
	if r.lateRSS, err = p.memory("VmRSS"); err != nil {
		return nil, err
	}
	r.peakRSS, err = p.memory("VmHWM")
	return r, err
}

// httpSuite measures tools/call over loopback and persistent connections, with servers in
// processes of their own.
func httpSuite(o options) ([]measure, error) {
	rows := make([][]measure, len(httpLoads))
	for _, program := range httpPrograms {
		if !o.measures(program.name) {
			continue
		}
		p, err := startHTTP(program.name, o.profiles)
		if err != nil {
			return nil, err
		}
		for i, load := range httpLoads {
			r, err := p.runClients(load.connections, o.time, load.open(p))
			if err != nil {
				p.stop()
				return nil, fmt.Errorf("%s: %s: %w", program.name, load.what, err)
			}
			rows[i] = append(rows[i], r.measure(load.what, program.name, load.connections > 1))
		}
		p.stop()
	}
	return slices.Concat(rows...), nil
}

// An httpLoad keeps one call in flight on each connection.
type httpLoad struct {
	what        string
	connections int
	open        func(p *listeningProcess) func(*httpClient) error
}

var httpLoads = []httpLoad{
	{http32, 32, func(p *listeningProcess) func(*httpClient) error { return p.open }},
	{http1, 1, func(p *listeningProcess) func(*httpClient) error { return p.open }},
	{httpLegacy32, 32, func(p *listeningProcess) func(*httpClient) error {
		return (&gatewayServer{p, "/mcp", "echo"}).open
	}},
	{httpLarge32, 32, func(p *listeningProcess) func(*httpClient) error {
		return p.openSize(64 << 10)
	}},
	{httpHuge32, 32, func(p *listeningProcess) func(*httpClient) error {
		return p.openSize(1 << 20)
	}},
}

// measure returns the rate of the calls, or else their median time.
func (r *loadRun) measure(what, program string, rate bool) measure {
	if !rate {
		return measure{what, program, microseconds(r.quantile(0.5)), "µs (p50)", false,
			fmt.Sprintf("p99 %.0f µs, %.0f calls/s", microseconds(r.quantile(0.99)), r.rate())}
	}
	return measure{what, program, r.rate(), "calls/s", true,
		fmt.Sprintf("p50 %.2f ms, p99 %.2f ms, %.1f µs CPU a call, RSS %.0f MiB",
			milliseconds(r.quantile(0.5)), milliseconds(r.quantile(0.99)), r.cpuPerCall(),
			r.lateRSS)}
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
