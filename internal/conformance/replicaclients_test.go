//go:build linux

package conformance_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"gotest.tools/v3/assert"
)

// goLibraryClient is the client that is built on the other Go libraries. It belongs to a module
// that requires them.
var goLibraryClient = built("replicaclient", "../bench/replicaclient")

// An sdkCaller is a program that calls the gateways with a library: replicas.mjs, or replicaclient
// of internal/bench.
type sdkCaller struct {
	g     *gateways
	name  string
	stdin io.Closer
	done  chan struct{} // closed when the program has said all
	last  string        // the last line, then

	mu    sync.Mutex
	heard map[string]time.Time // when lines have last been read
	lines chan struct{}        // has a value after each
}

// sdkCallers starts a program for each library, and waits until they are connected.
func (g *gateways) sdkCallers() (all []*sdkCaller) {
	script, err := os.ReadFile("node/replicas.mjs")
	assert.NilError(g.t, err)
	g.write("replicas.mjs", string(script))
	for _, c := range []sdkClient{sdkClients[0], sdkClients[3], sdkClients[1]} {
		argument, err := json.Marshal(map[string]any{"sdk": c.sdk, "era": c.era, "url": g.url,
			"modern": c.name == "v2 modern", "name": strings.ReplaceAll(c.name, " ", "_")})
		assert.NilError(g.t, err)
		all = append(all, g.startSDK(c.name, "node", "replicas.mjs", string(argument)))
	}
	path, err := goLibraryClient()
	assert.NilError(g.t, err)
	for _, library := range []string{"go-sdk", "mcp-go"} {
		all = append(all, g.startSDK(library, path, library, g.url, library))
	}
	for _, s := range all {
		s.hears("connected", time.Time{})
	}
	return all
}

func (g *gateways) startSDK(name string, command ...string) *sdkCaller {
	s := &sdkCaller{g: g, name: name, done: make(chan struct{}), heard: map[string]time.Time{},
		lines: make(chan struct{}, 1)}
	cmd := exec.Command(command[0], command[1:]...)
	g.find(cmd)
	cmd.Dir, cmd.Env, cmd.Stderr = g.dir, g.env, os.Stderr
	var err error
	s.stdin, err = cmd.StdinPipe()
	assert.NilError(g.t, err)
	out, err := cmd.StdoutPipe()
	assert.NilError(g.t, err)
	assert.NilError(g.t, cmd.Start())
	g.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, unless the test has failed
		<-s.done
		_ = cmd.Wait()
	})
	go func() {
		defer close(s.done)
		in := bufio.NewReader(out)
		for line, err := in.ReadString('\n'); err == nil; line, err = in.ReadString('\n') {
			s.mu.Lock()
			s.last = strings.TrimSpace(line)
			s.heard[s.last] = time.Now()
			s.mu.Unlock()
			select {
			case s.lines <- struct{}{}:
			default:
			}
		}
	}()
	return s
}

// changeHeard changes the tools and the resource, and waits until all programs have heard of it.
func (g *gateways) changeHeard(all []*sdkCaller) {
	g.t.Helper()
	changed := time.Now()
	g.change(g.t)
	for _, s := range all {
		g.t.Logf("%s: heard of the tools after %v, of the resource after %v", s.name,
			s.hears("changed", changed), s.hears("updated", changed))
	}
}

// hears waits until the program has written a line after a time, and returns how long after.
// "connected" counts as well: a client that connects again knows of what it has missed.
func (s *sdkCaller) hears(line string, after time.Time) time.Duration {
	s.g.t.Helper()
	end := time.After(time.Minute)
	for {
		s.mu.Lock()
		at := s.heard[line]
		if !at.After(after) {
			at = s.heard["connected"]
		}
		s.mu.Unlock()
		if at.After(after) {
			return at.Sub(after)
		}
		select {
		case <-s.lines:
		case <-s.done:
			s.g.t.Fatalf("%s has ended, and was to write %q: %s", s.name, line, s.last)
		case <-end:
			s.g.t.Fatalf("%s does not write %q", s.name, line)
		}
	}
}

// ended ends the program and judges what it has seen.
func (s *sdkCaller) ended() {
	t := s.g.t
	assert.NilError(t, s.stdin.Close())
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		t.Fatalf("%s does not end", s.name)
	}
	var seen struct {
		Statuses              map[string]int
		Counted, Asked, Wrong []string
		Questions, Sessions   int
		Failed                map[string]int
	}
	assert.NilError(t, json.Unmarshal([]byte(s.last), &seen), "%s: %s", s.name, s.last)
	t.Logf("%s: %d counted, %d asked, %d questions in %d sessions; statuses %v; failed %v", s.name,
		len(seen.Counted), len(seen.Asked), seen.Questions, seen.Sessions, seen.Statuses,
		seen.Failed)
	assert.Check(t, len(seen.Wrong) == 0, "%s: %v", s.name, seen.Wrong)
	assert.Check(t, len(seen.Counted) > 0 && len(seen.Asked) > 0, s.name)
	for status, n := range seen.Statuses {
		assert.Check(t, !strings.HasSuffix(status, " 404"), "%s: %s: %d times", s.name, status, n)
	}
	s.g.counter.mu.Lock()
	defer s.g.counter.mu.Unlock()
	for _, token := range seen.Counted {
		assert.Check(t, s.g.ran[token] == 1, "%s: %d times", token, s.g.ran[token])
	}
}
