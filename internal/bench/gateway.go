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

// A scene is who calls whom through the gateway: a legacy client always, a server of an era.
type scene struct{ name, era, capabilities string }

var scenes = []scene{
	{"legacy server", "legacy", `{}`},
	{"legacy server, client that can be asked", "legacy", `{"elicitation":{},"sampling":{}}`}, // whose calls can be interrupted by questions
	{"modern server", "modern", `{}`},
}

func (s *scene) oneByOne() string { return "64 B, one at a time, " + s.name }

// The ways to the server, which is the answerer: its own pipes, the pipes of a program in between that only copies bytes, and a gateway. Both in between start it.
const (
	direct = "direct"
	copied = "copied"
)

var gatewayBudgets = func() (budgets []budget) {
	for _, s := range scenes {
		budgets = append(budgets, budget{s.oneByOne() + ": added", "hop and decode", 2})
	}
	return append(budgets, budget{listed, "limit", 1})
}()

const listed = "tools/list of 20 servers, remembered"

// A gatewayBinary is stdwire as it would be shipped, and what it keeps.
type gatewayBinary struct{ dir string }

func buildGateway() (*gatewayBinary, error) {
	dir, err := os.MkdirTemp("", "stdwire-bench-")
	if err != nil {
		return nil, err
	}
	g := &gatewayBinary{dir}
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", g.path(), "github.com/stdwire/stdwire/cmd/stdwire").CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s", err, out), g.remove())
	}
	return g, nil
}

func (g *gatewayBinary) path() string  { return filepath.Join(g.dir, "stdwire") }
func (g *gatewayBinary) remove() error { return os.RemoveAll(g.dir) }

// configure writes a configuration of servers, each a command line.
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

// command is a gateway in front of what is configured there.
func (g *gatewayBinary) command(config string, args ...string) *exec.Cmd {
	cmd := exec.Command(g.path(), append([]string{"serve", "--config", config}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+g.dir, "XDG_CACHE_HOME=", "XDG_STATE_HOME=")
	return cmd
}

// answererCommand is the command line of the server.
func answererCommand(era string) ([]string, error) {
	self, err := os.Executable()
	return []string{self, "-answer", "stdio", "-era", era}, err
}

// copyBytes is the process that only copies bytes between its client and the server that it starts.
func copyBytes(era string) error {
	words, err := answererCommand(era)
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

// A way is a server, called over one of the ways to it.
type way struct {
	*process
	program string
	tool    string
}

// ways starts the server once for every way to it.
func (g *gatewayBinary) ways(s *scene) (all []*way, err error) {
	words, err := answererCommand(s.era)
	if err != nil {
		return nil, err
	}
	config, err := g.configure(map[string][]string{"up": words})
	if err != nil {
		return nil, err
	}
	for _, w := range []struct {
		way
		cmd *exec.Cmd
	}{
		{way{program: direct, tool: "echo"}, exec.Command(words[0], words[1:]...)},
		{way{program: copied, tool: "echo"}, exec.Command(words[0], "-copy", "-era", s.era)},
		{way{program: "stdwire", tool: "up__echo"}, g.command(config)},
	} {
		if w.process, err = startCommand(w.cmd); err != nil {
			return all, err
		}
		all = append(all, &w.way)
		if w.program == "stdwire" || s.era == "legacy" { // a modern server does not know the handshake, nor wants one
			if err := w.openWith(s.capabilities); err != nil {
				return all, fmt.Errorf("%s: %w", w.program, err)
			}
		}
	}
	return all, nil
}

func stopAll(all []*way) {
	for _, w := range all {
		w.stop()
	}
}

// gatewaySuite measures what a gateway adds to a call over stdio, as clients of the legacy era see it, beside what the pipes and a process in between cost; and how soon it says what
// servers have that it need not start for that.
func gatewaySuite(o options) ([]measure, error) {
	g, err := buildGateway()
	if err != nil {
		return nil, err
	}
	defer g.remove()
	var all []measure
	for _, s := range scenes {
		added, err := g.added(&s, o.time)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		rates, err := g.rates(&s, o.time)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		all = append(append(all, added...), rates...)
	}
	lists, err := g.lists()
	return append(all, lists...), err
}

// added measures calls one at a time. The ways take turns, so that a busy moment hits all of them.
func (g *gatewayBinary) added(s *scene, d time.Duration) ([]measure, error) {
	ways, err := g.ways(s)
	defer stopAll(ways)
	if err != nil {
		return nil, err
	}
	const turn = 500 // calls
	text := strings.Repeat("x", 64)
	times := make([][]time.Duration, len(ways))
	for begin := time.Now(); time.Since(begin) < 3*d; {
		for i, w := range ways {
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
	for i, w := range ways {
		slices.Sort(times[i])
		p50[w.program] = microseconds(times[i][len(times[i])/2])
		all = append(all, measure{s.oneByOne(), w.program, p50[w.program], "µs (p50)", false,
			fmt.Sprintf("p99 %.0f µs", microseconds(times[i][len(times[i])*99/100]))})
	}
	hop := p50[copied] - p50[direct]
	if hop <= 0 {
		return nil, fmt.Errorf("a process in between takes %.1f µs: the machine is too busy to measure it", hop)
	}
	return append(all,
		measure{s.oneByOne() + ": added", "stdwire", p50["stdwire"] - p50[direct], "µs (p50)", false, ""},
		measure{s.oneByOne() + ": added", "hop and decode", hop + decode.value, "µs (p50)", false, fmt.Sprintf("%.1f µs and %.1f µs", hop, decode.value)}), nil
}

// rates measures calls with 64 of them in flight.
func (g *gatewayBinary) rates(s *scene, d time.Duration) (all []measure, err error) {
	ways, err := g.ways(s)
	defer func() { stopAll(ways) }()
	if err != nil {
		return nil, err
	}
	for len(ways) > 0 {
		w := ways[0]
		ways = ways[1:]
		calls, took, cpu, err := w.inFlight(64, callFrame(w.tool, 1, strings.Repeat("x", 64)), d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.program, err)
		}
		all = append(all, measure{"64 B, 64 in flight, " + s.name, w.program, float64(calls) / took.Seconds(), "calls/s", true,
			fmt.Sprintf("%.1f µs CPU a call, with the server's", float64(cpu.Microseconds())/float64(calls))})
	}
	return all, nil
}

// lists measures tools/list of a gateway that remembers what its servers have, which it must not start.
func (g *gatewayBinary) lists() ([]measure, error) {
	words, err := answererCommand("legacy")
	if err != nil {
		return nil, err
	}
	mark := filepath.Join(g.dir, "started")
	servers := map[string][]string{}
	for i := range 20 {
		servers[fmt.Sprint("server", i)] = append([]string{"/bin/sh", "-c", `echo >> "$0" && exec "$@"`, mark}, words...)
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
		return nil, fmt.Errorf("of %d servers %d were started at first, which have %d bytes of tools: %w", len(servers), len(started), size, err)
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
			fmt.Sprintf("%d KiB, in a gateway %.1f ms after its start; none of the servers started", size>>10, milliseconds(ups[len(ups)/2]))},
		{listed, "limit", 5, "ms", false, ""},
	}, nil
}
