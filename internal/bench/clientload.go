package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// clientBudgets limit the cost of a call to a part of what it costs with other clients.
func clientBudgets(transport string) (budgets []budget) {
	for _, l := range clientLoads {
		for _, cost := range []string{"time", "bytes"} {
			what := l.what(transport, cost)
			budgets = append(budgets, budget{what, "go-sdk", 0.35}, budget{what, "mcp-go", 0.6})
		}
	}
	return budgets
}

// A clientCost is the total cost of the calls in a client's process.
type clientCost struct {
	Calls         int
	Took, CPU     time.Duration
	Bytes, Allocs uint64
}

func (c clientCost) per(total float64) float64 { return total / float64(c.Calls) }

// A clientLoad is a number of calls in flight, and the size of their text.
type clientLoad struct {
	era           string
	callers, size int
}

func (l clientLoad) what(transport, cost string) string {
	size := ""
	if l.size > 64 {
		size = ", 1 MiB"
	}
	return fmt.Sprintf("%s %s, %d in flight%s: %s", transport, l.era, l.callers, size, cost)
}

var clientLoads = []clientLoad{
	{"legacy", 1, 64}, {"legacy", 32, 64}, {"modern", 1, 64}, {"modern", 32, 64},
	{"modern", 1, 1 << 20},
}

// clientSuite measures the clients with calls of 64 B and of 1 MiB. Each client and its server run
// in processes of their own.
func clientSuite(transport string) func(o options) ([]measure, error) {
	return func(o options) ([]measure, error) {
		var all []measure
		for _, load := range clientLoads {
			costs := map[string][]measure{}
			for _, p := range clientPrograms {
				if !o.measures(p.name) {
					continue
				}
				cost, err := measureClient(p.name, transport, load, o)
				if errors.Is(err, errors.ErrUnsupported) {
					continue
				}
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", p.name, load.era, err)
				}
				add := func(kind string, value float64, unit, extra string) {
					costs[kind] = append(costs[kind],
						measure{load.what(transport, kind), p.name, value, unit, false, extra})
				}
				add("time", cost.per(microseconds(cost.Took)), "µs",
					fmt.Sprintf("%.0f calls/s", float64(cost.Calls)/cost.Took.Seconds()))
				add("CPU", cost.per(microseconds(cost.CPU)), "µs", "of the client")
				add("bytes", cost.per(float64(cost.Bytes)), "B",
					fmt.Sprintf("%.0f allocs", cost.per(float64(cost.Allocs))))
			}
			for _, kind := range []string{"time", "CPU", "bytes"} {
				all = append(all, costs[kind]...)
			}
		}
		return all, nil
	}
}

// measureClient runs a client process.
func measureClient(
	name, transport string, load clientLoad, o options,
) (cost clientCost, err error) {
	self, err := os.Executable()
	if err != nil {
		return cost, err
	}
	url := ""
	if transport == "HTTP" {
		server, err := start(self, "-answer", "http", "-era", load.era)
		if err != nil {
			return cost, err
		}
		defer server.stop()
		if url, err = server.line(); err != nil {
			return cost, err
		}
	} else if name == "net/http" {
		return cost, errors.ErrUnsupported
	}
	c, err := start(self, "-client", name, "-url", url, "-era", load.era, "-callers",
		fmt.Sprint(load.callers), "-size", fmt.Sprint(load.size), "-time", o.time.String(),
		"-profile", o.profiles)
	if err != nil {
		return cost, err
	}
	defer c.stop()
	line, err := c.line()
	if err == nil {
		err = json.Unmarshal([]byte(line), &cost)
	}
	return cost, err
}

// runClient is the main function of a client process. It calls for a fifth of the time to warm up,
// then for the whole time, and prints the cost.
func runClient(name, url string, load clientLoad, o options) error {
	i := slices.IndexFunc(clientPrograms, func(p clientProgram) bool { return p.name == name })
	if i < 0 {
		return fmt.Errorf("there is no client %q", name)
	}
	ctx := context.Background()
	s, err := clientPrograms[i].connect(ctx, clientTarget{url, load.era})
	if err != nil {
		return err
	}
	if _, err := s.run(ctx, load, o.time/5); err != nil {
		return err
	}
	stop, err := profile(o.profiles,
		fmt.Sprintf("%s-%s-%d-%d", strings.ReplaceAll(name, "/", "-"), load.era, load.callers,
			load.size))
	if err != nil {
		return err
	}
	cost, err := s.run(ctx, load, o.time)
	if err != nil {
		return err
	}
	if err := errors.Join(stop(), json.NewEncoder(os.Stdout).Encode(cost)); err != nil {
		return err
	}
	_ = s.close() // some clients return an error if there is no session to end
	return nil
}

// run calls for about d.
func (s *session) run(
	ctx context.Context, load clientLoad, d time.Duration,
) (cost clientCost, err error) {
	text := strings.Repeat("x", load.size)
	counts, errs := make([]int, load.callers), make([]error, load.callers)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cpu, begin := cpuTime(), time.Now()
	var wg sync.WaitGroup
	for i := range load.callers {
		wg.Go(func() {
			for ; errs[i] == nil && time.Since(begin) < d; counts[i]++ {
				echoed, err := s.call(ctx, text)
				if err == nil && echoed != text {
					err = fmt.Errorf("the echo is %q", echoed)
				}
				errs[i] = err
			}
		})
	}
	wg.Wait()
	cost.Took, cost.CPU = time.Since(begin), cpuTime()-cpu
	runtime.ReadMemStats(&after)
	for _, n := range counts {
		cost.Calls += n
	}
	cost.Bytes, cost.Allocs = after.TotalAlloc-before.TotalAlloc, after.Mallocs-before.Mallocs
	return cost, firstError(errs)
}

// cpuTime returns the processor time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
