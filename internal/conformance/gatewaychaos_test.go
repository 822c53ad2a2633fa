//go:build linux

package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A chaos is a gateway over servers that misbehave in every way.
type chaos struct {
	*bench
	c       *client.Client
	servers []string

	calls, answered, refused atomic.Int64
	failed                   sync.Once
}

// Servers exit, hang, flood, change and print junk, while many callers call, by the names of tools
// and by the tools that call others. Each result belongs to its call, each error names its server,
// no call blocks, and the memory of the gateway does not grow. In the end all servers work, and no
// process is left.
func TestGatewayWithMisbehavingServers(t *testing.T) {
	t.Parallel()
	const (
		enough = 8000 // calls at least
		grown  = 16 << 10
	)
	b := newBench(t)
	self, err := os.Executable()
	assert.NilError(t, err)
	servers := map[string]configured{}
	x := &chaos{bench: b, servers: []string{"killed", "hung", "flooding", "changing"}}
	for id, does := range map[string][]string{
		"killed": nil, "hung": {conformance.WildHangs},
		"flooding": {conformance.WildFloods, conformance.WildJunk},
		"changing": {conformance.WildChanges, conformance.WildJunk},
	} {
		servers[id] = configured{
			Command: self, Args: append([]string{conformance.RoleWild, id}, does...),
			Env: map[string]string{"GORACE": "atexit_sleep_ms=0"}, CallTimeoutMs: 1000,
		}
	}
	command := b.gateway(servers, "--allow-host", "--discover", "search")
	var lists atomic.Int64
	o := client.Options{Logger: slog.New(slog.DiscardHandler),
		OnToolsChanged: func([]*mcp.Tool, error) { lists.Add(1) }}
	x.c, err = o.Spawn(t.Context(),
		client.Command{Path: command[0], Args: command[1:], Dir: b.dir,
			Env: map[string]string{"HOME": b.dir}, Stderr: io.Discard})
	assert.NilError(t, err)
	t.Cleanup(func() { _ = x.c.Close() }) // whatever fails
	gateway := x.c.Process().Pid
	x.settle()

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var callers sync.WaitGroup
	for range inFlight {
		callers.Go(func() {
			for ctx.Err() == nil {
				x.call()
			}
		})
	}
	// After each kill of a server, the gateway waits 1 s, then 2 s, then 4 s, before it restarts
	// the server. Restart resets that.
	x.signal("killed", syscall.SIGKILL)
	x.settle("killed")
	early := rss(t, gateway)
	for round := range 3 {
		x.signal("hung", syscall.SIGSTOP)
		x.signal("killed", syscall.SIGKILL)
		x.signal("flooding", syscall.SIGSTOP)
		x.wait(700 * time.Millisecond)
		x.signal("flooding", syscall.SIGCONT)
		x.signal(x.servers[1+round], syscall.SIGKILL) // stopped, or not
		x.wait(700 * time.Millisecond)
		x.signal("hung", syscall.SIGCONT)
		_, err := x.c.CallTool(t.Context(), "host_restart", map[string]string{"server": "killed"})
		assert.NilError(t, err)
		x.settle()
	}
	for x.calls.Load() < enough {
		x.wait(10 * time.Millisecond)
	}
	stop()
	callers.Wait()
	x.settle()
	late := rss(t, gateway)
	t.Logf("%d calls, %d answered, %d refused, %d changes of the list; RSS of the gateway %d KiB when warm, %d KiB at the end",
		x.calls.Load(), x.answered.Load(), x.refused.Load(), lists.Load(), early, late)
	assert.Assert(t, x.answered.Load() > enough/4, "the servers were hardly ever there")
	assert.Assert(t, x.refused.Load() > 0, "nothing has failed")
	assert.Assert(t, lists.Load() > 0)
	assert.Assert(t, late < 2*early+grown, "the gateway grew from %d to %d KiB", early, late)
	assert.NilError(t, x.c.Close())
	assert.NilError(t, x.c.Wait())
	b.ended()
}

// call makes one call of any server, and checks the result.
func (x *chaos) call() {
	id := x.servers[rand.N(len(x.servers))]
	tool := []string{"echo", "once", "echo", "once", "passing_3"}[rand.N(5)]
	n := x.calls.Add(1)
	text := fmt.Sprint(n, " ", strings.Repeat("x", rand.N(2000)))
	began := time.Now()
	name, arguments := id+"__"+tool, any(map[string]string{"text": text})
	if n%2 == 0 {
		name, arguments = "call_tool_destructive", map[string]any{"name": name,
			"arguments": arguments}
	}
	result, err := x.c.CallTool(x.t.Context(), name, arguments, client.Timeout(time.Minute))
	refusal, ok := errors.AsType[*rpc.Error](err)
	var wrong string
	switch {
	case err == nil && result.IsError && strings.HasPrefix(
		result.Content[0].(*mcp.TextContent).Text, "Unknown tool: "+id+"__"+tool+". "):
		x.refused.Add(1)
	case err == nil:
		x.answered.Add(1)
		if got := result.Content[0].(*mcp.TextContent).Text; got != id+":"+text {
			wrong = "the answer is " + got
		}
	case !ok: // such as a call that blocks
		wrong = err.Error()
	default:
		x.refused.Add(1)
		if !strings.Contains(refusal.Message, fmt.Sprintf("server %q", id)) &&
			refusal.Message != "Unknown tool: "+id+"__"+tool {
			// the server is not running now
			wrong = "the error does not name the server: " + refusal.Message
		}
	}
	if wrong != "" {
		x.failed.Do(func() {
			x.t.Errorf("call %d of %s of %s, after %v: %.300s", n, tool, id, time.Since(began),
				wrong)
		})
	}
}

// wait is how long the servers remain unchanged.
func (x *chaos) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// settle waits until servers work, all of them unless some are named.
func (x *chaos) settle(ids ...string) {
	x.t.Helper()
	if ids == nil {
		ids = x.servers
	}
	for _, id := range ids {
		for end := time.Now().Add(time.Minute); ; x.wait(20 * time.Millisecond) {
			result, err := x.c.CallTool(x.t.Context(), id+"__echo", map[string]string{"text": "?"},
				client.Timeout(time.Minute))
			if err == nil && result.Content[0].(*mcp.TextContent).Text == id+":?" {
				break
			}
			if time.Now().After(end) {
				status, _ := x.c.CallToolRaw(x.t.Context(), "host_status", json.RawMessage(`{}`))
				x.t.Fatalf("%s does not come back: %v; %s", id, err, status)
			}
		}
	}
}

// signal sends a signal to the process of a server, if it has one now.
func (x *chaos) signal(id string, signal syscall.Signal) {
	all := conformance.RunningIn(x.dir)
	if i := slices.IndexFunc(all, func(p conformance.Process) bool {
		return strings.Contains(p.Command+" ", conformance.RoleWild+" "+id+" ")
	}); i >= 0 {
		_ = syscall.Kill(all[i].Pid, signal) // the process may have just ended
	}
}
