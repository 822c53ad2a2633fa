package main

import (
	"encoding/json"
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

// A scenario is a legacy client with some capabilities that calls a server of one era through the
// gateway.
type scenario struct{ name, era, capabilities string }

var scenarios = []scenario{
	{"legacy server", "legacy", `{}`},
	// the server may send requests during a call
	{"legacy server, client that can be asked", "legacy", `{"elicitation":{},"sampling":{}}`},
	{"modern server", "modern", `{}`},
}

func (s *scenario) latencyRow() string { return "64 B, one at a time, " + s.name }

// The routes to the server: directly over its pipes, through a process that only copies bytes, and
// through a gateway. Both of these start the server.
const (
	direct = "direct"
	copied = "copied"
)

var gatewayBudgets = func() (budgets []budget) {
	for _, s := range scenarios {
		budgets = append(budgets, budget{s.latencyRow() + ": added", "hop and decode", 2})
	}
	return append(budgets, budget{listed, "limit", 1})
}()

const listed = "tools/list of 20 servers, remembered"

// A gatewayBinary is stdwire, built as for a release, and the folder with its state.
type gatewayBinary struct{ dir string }

func buildGateway() (*gatewayBinary, error) {
	dir, err := os.MkdirTemp("", "stdwire-bench-")
	if err != nil {
		return nil, err
	}
	g := &gatewayBinary{dir}
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", g.path(),
		"github.com/stdwire/stdwire/cmd/stdwire").CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s", err, out), g.remove())
	}
	return g, nil
}

func (g *gatewayBinary) path() string  { return filepath.Join(g.dir, "stdwire") }
func (g *gatewayBinary) remove() error { return os.RemoveAll(g.dir) }

// configure writes a configuration with servers, given as command lines.
func (g *gatewayBinary) configure(servers map[string][]string) (path string, err error) {
	type definition struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	all := map[string]definition{}
	for id, words := range servers {
		all[id] = definition{words[0], words[1:]}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": all})
	if err != nil {
		return "", err
	}
	path = filepath.Join(g.dir, "mcp.json")
	return path, os.WriteFile(path, text, 0o600)
}

// command returns the command of a gateway with that configuration.
func (g *gatewayBinary) command(config string, args ...string) *exec.Cmd {
	cmd := exec.Command(g.path(), append([]string{"serve", "--config", config}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+g.dir, "XDG_CACHE_HOME=", "XDG_STATE_HOME=")
	return cmd
}

// echoServerCommand returns the command line of the server.
func echoServerCommand(era string) ([]string, error) {
	self, err := os.Executable()
	return []string{self, "-answer", "stdio", "-era", era}, err
}

// copyBytes is the main function of a process that starts the server, and copies bytes between it
// and standard input and output.
func copyBytes(era string) error {
	words, err := echoServerCommand(era)
	if err != nil {
		return err
	}
	server, err := start(words[0], words[1:]...)
	if err != nil {
		return err
	}
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(struct{ io.Writer }{os.Stdout}, struct{ io.Reader }{server.in})
		copied <- err
	}()
	_, err = io.Copy(struct{ io.Writer }{server.out}, struct{ io.Reader }{os.Stdin})
	err = errors.Join(err, server.stdin.Close(), <-copied)
	server.stop()
	return err
}

// A route is a running server and the way in which it is reached.
type route struct {
	*process
	program string
	tool    string
}

// startRoutes starts the server once for each route.
func (g *gatewayBinary) startRoutes(s *scenario) (all []*route, err error) {
	words, err := echoServerCommand(s.era)
	if err != nil {
		return nil, err
	}
	config, err := g.configure(map[string][]string{"up": words})
	if err != nil {
		return nil, err
	}
	for _, w := range []struct {
		route
		cmd *exec.Cmd
	}{
		{route{program: direct, tool: "echo"}, exec.Command(words[0], words[1:]...)},
		{route{program: copied, tool: "echo"}, exec.Command(words[0], "-copy", "-era", s.era)},
		{route{program: "stdwire", tool: "up__echo"}, g.command(config)},
	} {
		if w.process, err = startCommand(w.cmd); err != nil {
			return all, err
		}
		all = append(all, &w.route)
		if w.program == "stdwire" || s.era == "legacy" { // a modern server has no handshake
			if err := w.openWith(s.capabilities); err != nil {
				return all, fmt.Errorf("%s: %w", w.program, err)
			}
		}
	}
	return all, nil
}

func stopAll(all []*route) {
	for _, w := range all {
		w.stop()
	}
}

// gatewaySuite measures the latency and throughput of a gateway over stdio for legacy clients,
// beside that of pipes alone and of a process that copies bytes; and how soon it lists the
// remembered tools of servers that it need not start.
func gatewaySuite(o options) ([]measure, error) {
	g, err := buildGateway()
	if err != nil {
		return nil, err
	}
	defer g.remove()
	var all []measure
	for _, s := range scenarios {
		added, err := g.measureLatency(&s, o.time)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		rates, err := g.measureRates(&s, o.time)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		all = append(append(all, added...), rates...)
	}
	lists, err := g.measureLists()
	return append(all, lists...), err
}

// measureLatency measures calls one at a time. It alternates between the routes, so that other load
// on the machine affects all.
func (g *gatewayBinary) measureLatency(s *scenario, d time.Duration) ([]measure, error) {
	routes, err := g.startRoutes(s)
	defer stopAll(routes)
	if err != nil {
		return nil, err
	}
	const turn = 500 // calls
	text := strings.Repeat("x", 64)
	times := make([][]time.Duration, len(routes))
	for begin := time.Now(); time.Since(begin) < 3*d; {
		for i, w := range routes {
			frame := callFrame(w.tool, 1, text)
			for range turn {
				before := time.Now()
				if _, err := w.exchange(frame); err != nil {
					return nil, fmt.Errorf("%s: %w", w.program, err)
				}
				times[i] = append(times[i], time.Since(before))
			}
		}
	}
	decode, err := benchmark(d/5, 1, func() error {
		var message any
		return json.Unmarshal(callFrame("echo", 1, text), &message)
	})
	if err != nil {
		return nil, err
	}
	var all []measure
	p50 := map[string]float64{}
	for i, w := range routes {
		slices.Sort(times[i])
		p50[w.program] = microseconds(times[i][len(times[i])/2])
		all = append(all, measure{s.latencyRow(), w.program, p50[w.program], "µs (p50)", false,
			fmt.Sprintf("p99 %.0f µs", microseconds(times[i][len(times[i])*99/100]))})
	}
	hop := p50[copied] - p50[direct]
	if hop <= 0 {
		return nil, fmt.Errorf(
			"a process in between takes %.1f µs: the machine is too busy to measure it", hop)
	}
	return append(all,
		measure{s.latencyRow() + ": added", "stdwire", p50["stdwire"] - p50[direct], "µs (p50)",
			false, ""},
		measure{s.latencyRow() + ": added", "hop and decode", hop + decode.value, "µs (p50)", false,
			fmt.Sprintf("%.1f µs and %.1f µs", hop, decode.value)}), nil
}

// measureRates measures calls with 64 in flight.
func (g *gatewayBinary) measureRates(s *scenario, d time.Duration) (all []measure, err error) {
	routes, err := g.startRoutes(s)
	defer func() { stopAll(routes) }()
	if err != nil {
		return nil, err
	}
	for len(routes) > 0 {
		w := routes[0]
		routes = routes[1:]
		r, err := w.inFlight(64, callFrame(w.tool, 1, strings.Repeat("x", 64)), d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.program, err)
		}
		m := r.measure("64 B, 64 in flight, "+s.name, w.program)
		m.extra += "; CPU with the server's"
		all = append(all, m)
	}
	return all, nil
}

// measureLists measures tools/list of a gateway that remembers the tools of its servers, and checks
// that it starts none.
func (g *gatewayBinary) measureLists() ([]measure, error) {
	words, err := echoServerCommand("legacy")
	if err != nil {
		return nil, err
	}
	mark := filepath.Join(g.dir, "started")
	servers := map[string][]string{}
	for i := range 20 {
		servers[fmt.Sprint("server", i)] = append(
			[]string{"/bin/sh", "-c", `echo >> "$0" && exec "$@"`, mark}, words...)
	}
	config, err := g.configure(servers)
	if err != nil {
		return nil, err
	}
	list := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n")
	size := 0
	ask := func() (up, answered time.Duration, err error) {
		begin := time.Now()
		p, err := startCommand(g.command(config))
		if err != nil {
			return 0, 0, err
		}
		defer p.stop()
		if err := p.open(); err != nil {
			return 0, 0, err
		}
		if _, err := p.exchange(list); err != nil { // it waits until the lists are read
			return 0, 0, err
		}
		up = time.Since(begin)
		answer, err := p.exchange(list)
		answered = time.Since(begin) - up
		size = len(answer)
		return up, answered, err
	}
	if _, _, err := ask(); err != nil {
		return nil, err
	}
	started, err := os.ReadFile(mark)
	if err != nil || len(started) != len(servers) || size < 100_000 {
		return nil, fmt.Errorf(
			"of %d servers %d were started at first, which have %d bytes of tools: %w",
			len(servers), len(started), size, err)
	}
	if err := os.Remove(mark); err != nil {
		return nil, err
	}
	var ups, answers []time.Duration
	for range 20 {
		up, answered, err := ask()
		if err != nil {
			return nil, err
		}
		ups, answers = append(ups, up), append(answers, answered)
	}
	if _, err := os.Stat(mark); err == nil {
		return nil, errors.New("a server was started whose tools are remembered")
	}
	slices.Sort(ups)
	slices.Sort(answers)
	return []measure{
		{listed, "stdwire", milliseconds(answers[len(answers)/2]), "ms (p50)", false,
			fmt.Sprintf("%d KiB, in a gateway %.1f ms after its start; none of the servers started",
				size>>10, milliseconds(ups[len(ups)/2]))},
		{listed, "limit", 5, "ms", false, ""},
	}, nil
}
