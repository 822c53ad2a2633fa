package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var stdioPrograms = []string{"stdwire", "gosdk", "mcpgo", "floor"}

// buildServers builds the servers as for a release.
func buildServers() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "stdwire-bench-"); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir+
		string(filepath.Separator), "./servers/...")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
}

// A process is a server process.
type process struct {
	lineClient
	cmd   *exec.Cmd
	stdin io.Closer
}

func start(path string, args ...string) (*process, error) {
	return startCommand(exec.Command(path, args...))
}

func startCommand(cmd *exec.Cmd) (*process, error) {
	cmd.Stderr = cmp.Or[io.Writer](cmd.Stderr, os.Stderr)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{lineClient{bufio.NewReaderSize(out, 4<<20), in}, cmd, in}, nil
}

// stop ends the server and returns its processor time.
func (p *process) stop() time.Duration {
	p.stdin.Close()
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// stdioSuite measures typed and validated calls to server processes.
func stdioSuite(o options) ([]measure, error) {
	dir, err := buildServers()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var all, uneven, memory []measure
	for _, load := range stdioLoads {
		for _, name := range stdioPrograms {
			if !o.measures(name) {
				continue
			}
			r, err := load.run(filepath.Join(dir, name), o.time)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, r.measure(load.what, name))
			if load.size >= 64<<10 {
				uneven = append(uneven, measure{load.what + ", p99 ÷ p50", name,
					float64(r.quantile(0.99)) / float64(r.quantile(0.5)), "×", false, ""})
				memory = append(memory, measure{load.what + ", peak RSS", name, r.peakRSS, "MiB",
					false, ""})
			}
		}
	}
	all = slices.Concat(all, uneven, memory)
	for _, size := range []struct {
		name  string
		bytes int
	}{{"64 B", 64}, {"64 KiB", 64 << 10}, {"1 MiB", 1 << 20}} {
		for _, name := range stdioPrograms {
			if !o.measures(name) {
				continue
			}
			median, err := measureLatency(filepath.Join(dir, name), size.bytes, o.time)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, measure{size.name + ", one at a time", name, microseconds(median),
				"µs (p50)", false, fmt.Sprintf("%.0f calls/s", 1/median.Seconds())})
		}
	}
	return all, nil
}

// A stdioLoad keeps calls in flight.
type stdioLoad struct {
	what   string
	modern bool
	size   int // of the text that is echoed
	calls  int // in flight
}

var stdioLoads = []stdioLoad{
	{"64 B, 64 in flight", false, 64, 64},
	{"64 B, 64 in flight, modern", true, 64, 64},
	{"64 KiB, 64 in flight", false, 64 << 10, 64},
	{"1 MiB, 16 in flight", false, 1 << 20, 16},
	{"1 MiB, 64 in flight", false, 1 << 20, 64},
}

// run calls the server for about d.
func (l stdioLoad) run(path string, d time.Duration) (*inFlightRun, error) {
	p, err := start(path)
	if err != nil {
		return nil, err
	}
	frame := callFrame("echo", 1, strings.Repeat("x", l.size))
	if l.modern {
		frame = modern(frame)
	} else if err := p.open(); err != nil {
		return nil, errors.Join(err, p.cmd.Process.Kill())
	}
	return p.inFlight(l.calls, frame, d)
}

func measureLatency(path string, size int, d time.Duration) (median time.Duration, err error) {
	p, err := start(path)
	if err != nil {
		return 0, err
	}
	defer p.stop()
	if err := p.open(); err != nil {
		return 0, err
	}
	frame := callFrame("echo", 1, strings.Repeat("x", size))
	var times []time.Duration
	for begin := time.Now(); time.Since(begin) < d || len(times) < 20; {
		before := time.Now()
		if _, err := p.exchange(frame); err != nil {
			return 0, err
		}
		times = append(times, time.Since(before))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// startSuite measures the size of the binary, the time from start to the first response, and the
// peak resident memory.
func startSuite(o options) ([]measure, error) {
	dir, err := buildServers()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var sizes, times, memory []measure
	for _, name := range stdioPrograms {
		if !o.measures(name) {
			continue
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		var all []time.Duration
		for range 20 {
			before := time.Now()
			p, err := start(path)
			if err != nil {
				return nil, err
			}
			if _, err := p.exchange([]byte(initializeFrame)); err != nil && name != "floor" {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, time.Since(before))
			p.stop()
		}
		slices.Sort(all)
		peak, err := peakMemory(path)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes,
			measure{"size of the binary", name, float64(info.Size()) / (1 << 20), "MiB", false, ""})
		times = append(times,
			measure{"start to first answer", name, float64(all[len(all)/2].Microseconds()) / 1000,
				"ms", false, ""})
		memory = append(memory, measure{"peak RSS after 1000 calls", name, peak, "MiB", false, ""})
	}
	return slices.Concat(times, memory, sizes), nil
}

// peakMemory returns the peak resident memory of a server in MiB.
func peakMemory(path string) (float64, error) {
	p, err := start(path)
	if err != nil {
		return 0, err
	}
	defer p.stop()
	if err := p.open(); err != nil && filepath.Base(path) != "floor" {
		return 0, err
	}
	frame := callFrame("echo", 1, strings.Repeat("x", 64))
	for range 1000 {
		if _, err := io.WriteString(p.out, string(frame)); err != nil {
			return 0, err
		}
		if _, err := p.in.ReadSlice('\n'); err != nil {
			return 0, err
		}
	}
	return p.memory("VmHWM")
}

// memory returns VmRSS or VmHWM of a server in MiB, as Linux reports it.
func (p *process) memory(what string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, what+": %f kB", &kib); n == 1 {
			return kib / 1024, nil
		}
	}
	return 0, fmt.Errorf("no %s in /proc", what)
}
