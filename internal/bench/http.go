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
	http32 = "HTTP, 64 B, 32 connections"
	http1  = "HTTP, 64 B, 1 connection"
)

var httpBudgets = []budget{{http32, "go-sdk", 15}, {http32, "mcp-go", 3}, {http32, "net/http", 0.5}}

// An httpProcess is a server process of this program.
type httpProcess struct {
	*process
	address string
}

func startHTTP(name, profiles string) (*httpProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := start(self, "-http-server", name, "-profile", profiles)
	if err != nil {
		return nil, err
	}
	address, err := p.line()
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s did not start: %w", name, err)
	}
	return &httpProcess{p, address}, nil
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
	// in clock ticks, of which Linux has 100 a second on all platforms of Go
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}

// An httpRun is the result of calling a server for some time.
type httpRun struct {
	times             []time.Duration // sorted
	took              time.Duration
	cpu               time.Duration
	earlyRSS, lateRSS float64 // RSS in MiB after a fifth of the time and at the end
}

func (r *httpRun) rate() float64 { return float64(len(r.times)) / r.took.Seconds() }

func (r *httpRun) quantile(q float64) time.Duration {
	return r.times[int(q*float64(len(r.times)-1))]
}

func (r *httpRun) cpuPerCall() float64 {
	return float64(r.cpu.Microseconds()) / float64(len(r.times))
}

// run calls over several connections: for a fifth of d to warm up, and then for d.
func (p *httpProcess) run(connections int, d time.Duration) (r *httpRun, err error) {
	request := httpCall(p.address)
	return p.runClients(connections, d, func(c *httpClient) error {
		c.call = request
		return nil
	})
}

// runClients is like run, with connections that open prepares.
func (p *httpProcess) runClients(connections int, d time.Duration,
	open func(*httpClient) error) (r *httpRun, err error) {
	clients, err := dialAll(p.address, connections, open)
	defer closeAll(clients)
	if err != nil {
		return nil, err
	}
	r = &httpRun{}
	if _, _, err = load(clients, d/5); err != nil {
		return nil, err
	}
	if r.earlyRSS, err = p.memory("VmRSS"); err != nil {
		return nil, err
	}
	before, err := p.cpu()
	if err != nil {
		return nil, err
	}
	if r.times, r.took, err = load(clients, d); err != nil {
		return nil, err
	}
	after, err := p.cpu()
	if err != nil {
		return nil, err
	}
	r.cpu = after - before
	slices.Sort(r.times)
	r.lateRSS, err = p.memory("VmRSS")
	return r, err
}

// httpSuite measures tools/call of 2026-07-28 over loopback and persistent connections, with
// servers in processes of their own.
func httpSuite(o options) ([]measure, error) {
	var many, single []measure
	for _, program := range httpPrograms {
		if !o.measures(program.name) {
			continue
		}
		p, err := startHTTP(program.name, o.profiles)
		if err != nil {
			return nil, err
		}
		loaded, err := p.run(32, o.time)
		var alone *httpRun
		if err == nil {
			alone, err = p.run(1, o.time)
		}
		p.stop()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", program.name, err)
		}
		many = append(many,
			measure{http32, program.name, loaded.rate(), "calls/s", true,
				fmt.Sprintf("p50 %.2f ms, p99 %.2f ms, %.1f µs CPU a call, RSS %.0f MiB",
					milliseconds(loaded.quantile(0.5)), milliseconds(loaded.quantile(0.99)),
					loaded.cpuPerCall(), loaded.lateRSS)})
		single = append(single,
			measure{http1, program.name, microseconds(alone.quantile(0.5)), "µs (p50)", false,
				fmt.Sprintf("p99 %.0f µs, %.0f calls/s", microseconds(alone.quantile(0.99)),
					alone.rate())})
	}
	return slices.Concat(many, single), nil
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
