//go:build linux

package conformance_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A soak is a gateway over HTTP that is used for long.
type soak struct {
	*bench
	process *exec.Cmd
	url     string
	rest    chan map[string]int // its goroutines when it ended, by what has created them

	calls, cancelled, failed, vanished, crashes atomic.Int64
}

const (
	soakTimeVar = "STDWIRE_SOAK_TIME"
	soakClients = 16
	soakToken   = "a token that nobody guesses"
	crashEvery  = time.Minute // more often, and the gateway gives a server up for some minutes
)

// TestSoakGateway uses a gateway for STDWIRE_SOAK_TIME, such as 1h: clients of both eras come and
// go, some without a word, a tenth of the calls is cancelled, and servers crash. In the end the
// gateway has the descriptors and goroutines of one that has just begun, and memory has not grown
// since a tenth of the time.
func TestSoakGateway(t *testing.T) {
	duration, err := time.ParseDuration(os.Getenv(soakTimeVar))
	if err != nil || duration < 3*crashEvery {
		t.Skip("it takes as long as " + soakTimeVar + " says, at least 3m")
	}
	goroutines, files := newSoak(t).rested()
	s := newSoak(t)
	ctx, stop := context.WithTimeout(t.Context(), duration)
	defer stop()
	var all sync.WaitGroup
	for i := range soakClients {
		all.Go(func() {
			for ctx.Err() == nil {
				s.visit(ctx, []mcp.Era{mcp.Legacy, mcp.Modern}[i%2])
			}
		})
	}
	all.Go(func() {
		for every := time.NewTicker(crashEvery); ctx.Err() == nil; {
			select {
			case <-every.C:
				s.crash()
			case <-ctx.Done():
			}
		}
	})
	early := int64(0)
	for i := 1; ctx.Err() == nil; i++ {
		select {
		case <-time.After(duration / 60):
		case <-ctx.Done():
		}
		now := rss(t, s.process.Process.Pid)
		if i == 6 {
			early = now
		}
		t.Logf("%d/60: RSS %d KiB, %d descriptors; %d calls, %d cancelled, %d failed, %d vanished, %d crashes",
			i, now, s.files(), s.calls.Load(), s.cancelled.Load(), s.failed.Load(),
			s.vanished.Load(), s.crashes.Load())
	}
	all.Wait()
	late := rss(t, s.process.Process.Pid)
	goroutinesLate, filesLate := s.rested()
	t.Logf("RSS %d KiB after a tenth, %d KiB at the end; descriptors %d, of a new gateway %d",
		early, late, filesLate, files)
	assert.Assert(t, s.calls.Load() > 0 && s.cancelled.Load() > 0 && s.crashes.Load() > 0)
	assert.Assert(t, s.failed.Load() < s.calls.Load()/5, "%d of %d", s.failed.Load(), s.calls.Load())
	assert.Assert(t, late <= early+early/2+slack, "from %d to %d KiB", early, late)
	assert.Assert(t, filesLate <= files+2, "%d descriptors, and a new gateway has %d", filesLate, files)
	for by, n := range goroutinesLate {
		if strings.HasSuffix(by, "(*workers).run") { // which are kept, and are at most 64
			continue
		}
		assert.Check(t, n <= goroutines[by]+2, "%d goroutines created by %s, and a new gateway has %d",
			n, by, goroutines[by])
	}
}

// newSoak starts a gateway.
func newSoak(t *testing.T) *soak {
	s := &soak{bench: newBench(t), rest: make(chan map[string]int, 1)}
	self, err := os.Executable()
	assert.NilError(t, err)
	servers := map[string]configured{}
	for _, id := range []string{"one", "two"} {
		servers[id] = configured{Command: self, Args: []string{conformance.RoleWild, id},
			Env: map[string]string{"GORACE": "atexit_sleep_ms=0"}}
	}
	s.env = append(s.env, "STDWIRE_TEST_TOKEN="+soakToken)
	command := s.gateway(servers, "--token-env", "STDWIRE_TEST_TOKEN", "--http", "127.0.0.1:0")
	s.process = exec.Command(command[0], command[1:]...)
	s.process.Dir, s.process.Env = s.dir, s.env
	stderr, err := s.process.StderrPipe()
	assert.NilError(t, err)
	assert.NilError(t, s.process.Start())
	t.Cleanup(func() {
		_ = s.process.Process.Kill() // it has ended, unless the test has failed
		_ = s.process.Wait()
	})
	in := bufio.NewReader(stderr)
	for s.url == "" {
		line, err := in.ReadString('\n')
		assert.NilError(t, err)
		s.url = endpoint.FindString(line)
	}
	go func() {
		goroutines := map[string]int{}
		for line, err := in.ReadString('\n'); err == nil; line, err = in.ReadString('\n') {
			if by, ok := strings.CutPrefix(line, "created by "); ok {
				by, _, _ = strings.Cut(by, " in goroutine ")
				goroutines[by]++
			}
		}
		s.rest <- goroutines
	}()
	return s
}

func (s *soak) dial(transport *http.Transport) client.Transport {
	return streamable.Options{HTTP: &http.Client{Transport: transport},
		Header: http.Header{"Authorization": {"Bearer " + soakToken}}}.Dial(s.url)
}

// visit is a client that comes, makes calls, and goes.
func (s *soak) visit(ctx context.Context, era mcp.Era) {
	var link cable
	defer link.cut()
	transport := &http.Transport{DialContext: link.dial}
	o := client.Options{Era: era, Logger: slog.New(slog.DiscardHandler)}
	c, err := o.Connect(ctx, s.dial(transport))
	if err != nil {
		if ctx.Err() == nil {
			s.failed.Add(1)
			s.pause(ctx, 100*time.Millisecond)
		}
		return
	}
	for range 20 + rand.N(100) {
		s.call(ctx, c)
		s.pause(ctx, rand.N(40*time.Millisecond))
	}
	if rand.N(4) == 0 {
		s.vanished.Add(1)
		link.cut()
	}
	_ = c.Close() // it says goodbye, if it still can
}

// A cable has the connections of a client. Once it is cut, there are none.
type cable struct {
	mu    sync.Mutex
	isCut bool
	conns []net.Conn
}

func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isCut {
		_ = conn.Close() // which cannot fail in a way that matters
		return nil, net.ErrClosed
	}
	c.conns = append(c.conns, conn)
	return conn, nil
}

func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = true
	for _, conn := range c.conns {
		_ = conn.Close() // which cannot fail in a way that matters
	}
}

// call makes a call. A tenth is cancelled.
func (s *soak) call(ctx context.Context, c *client.Client) {
	s.calls.Add(1)
	id := []string{"one", "two"}[rand.N(2)]
	text := fmt.Sprint(rand.Uint64(), strings.Repeat("x", rand.N(20_000)))
	if rand.N(10) == 0 {
		s.cancelled.Add(1)
		brief, cancel := context.WithTimeout(ctx, rand.N(5*time.Millisecond))
		defer cancel()
		_, _ = c.CallTool(brief, id+"__echo", map[string]string{"text": text}) // cancelled, or not yet
		return
	}
	result, err := c.CallTool(ctx, id+"__echo", map[string]string{"text": text})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.failed.Add(1) // the server has crashed
		s.pause(ctx, 100*time.Millisecond)
	case result.Content[0].(*mcp.TextContent).Text != id+":"+text:
		s.t.Errorf("the answer of another call")
	}
}

func (s *soak) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// crash kills one of the servers.
func (s *soak) crash() {
	id := []string{"one", "two"}[rand.N(2)]
	for _, p := range conformance.RunningIn(s.dir) {
		if strings.Contains(p.Command+" ", conformance.RoleWild+" "+id+" ") {
			_ = syscall.Kill(p.Pid, syscall.SIGKILL) // it may have just ended
			s.crashes.Add(1)
			return
		}
	}
}

// files is how many descriptors the gateway has.
func (s *soak) files() int {
	all, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(s.process.Process.Pid), "fd"))
	assert.Check(s.t, err)
	return len(all)
}

// rested makes one call of each server, and returns the goroutines and the number of descriptors of
// the gateway when that number no longer falls. It ends the gateway.
func (s *soak) rested() (goroutines map[string]int, files int) {
	ctx := s.t.Context()
	transport := &http.Transport{}
	c, err := client.Options{}.Connect(ctx, s.dial(transport))
	assert.NilError(s.t, err)
	for _, id := range []string{"one", "two"} {
		for end := time.Now().Add(time.Minute); ; s.pause(ctx, 100*time.Millisecond) {
			_, err := c.CallTool(ctx, id+"__echo", map[string]string{"text": "?"})
			if err == nil {
				break
			}
			assert.Assert(s.t, time.Now().Before(end), "%v", err)
		}
	}
	assert.NilError(s.t, c.Close())
	transport.CloseIdleConnections()
	files = s.files()
	for still := 0; still < 20; still++ {
		s.pause(ctx, 100*time.Millisecond)
		if now := s.files(); now < files {
			files, still = now, 0
		}
	}
	assert.NilError(s.t, s.process.Process.Signal(syscall.SIGQUIT))
	return <-s.rest, files
}
