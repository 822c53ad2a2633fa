//go:build linux

package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/internal/store/storetest"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// A counter is a server behind the replicas that counts how often each call runs.
type counter struct {
	server *server.Server
	url    string

	mu    sync.Mutex
	ran   map[string]int
	tools int
}

func newCounter(t *testing.T) *counter {
	c := &counter{ran: map[string]int{}, server: server.Options{
		Logger: slog.New(slog.DiscardHandler)}.New(server.Info{Name: "counter", Version: "1"}, nil)}
	for name, call := range map[string]func(context.Context, string) error{
		"count": func(ctx context.Context, token string) error {
			c.mu.Lock()
			c.ran[token]++
			c.mu.Unlock()
			select { // so that it may be running when something fails
			case <-time.After(rand.N(300 * time.Millisecond)):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
		"ask": func(ctx context.Context, token string) error {
			answer, err := server.Elicit(ctx, "name", mcp.ElicitParams{Message: token,
				RequestedSchema: json.RawMessage(
					`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)})
			if err != nil {
				return err
			}
			var got struct{ Name string }
			if err := json.Unmarshal(answer.Content, &got); err != nil || got.Name != token {
				return fmt.Errorf("the answer to %s is %s", token, answer.Content)
			}
			return nil
		}} {
		assert.NilError(t, c.server.AddRawTool(server.RawTool{
			Tool: mcp.Tool{Name: name, Description: "For tests.", InputSchema: json.RawMessage(
				`{"type":"object","properties":{"token":{"type":"string"}},"required":["token"]}`)},
			Call: func(ctx context.Context, in json.RawMessage) (*mcp.CallToolResult, error) {
				var arguments struct{ Token string }
				if err := json.Unmarshal(in, &arguments); err != nil {
					return nil, err
				}
				if err := call(ctx, arguments.Token); err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.Content{
					&mcp.TextContent{Text: name + " " + arguments.Token}}}, nil
			}}))
	}
	assert.NilError(t, c.server.AddResource(server.Resource{
		Resource: mcp.Resource{URI: changes, Name: "changes"},
		Read: func(context.Context, string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{}, nil
		}}))
	handler := streamable.Options{Logger: slog.New(slog.DiscardHandler)}.New(c.server)
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		handler.Close()
		web.CloseClientConnections()
		web.Close()
	})
	c.url = web.URL + "/mcp"
	return c
}

// change changes the list of tools, and the resource.
func (c *counter) change(t *testing.T) {
	c.mu.Lock()
	c.tools++
	name := fmt.Sprint("tool_", c.tools)
	c.mu.Unlock()
	assert.NilError(t, c.server.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: name},
		Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return nil, nil
		}}))
	c.server.ResourceUpdated(changes)
}

// changes is the resource to which clients subscribe.
const changes = "counter:///changes"

// gateways are replicas of the binary in front of a counter, with a store, behind nginx.
type gateways struct {
	*bench
	*counter
	store          *redistest.Server
	way            *slowWay // to the store
	addresses      []string
	url, resending string
	forward        bool // sessions have owners

	mu        sync.Mutex
	processes []*exec.Cmd
	killed    map[string][]time.Time // when replicas have ended, by address
	sent      map[string]*tries      // of calls that are sent again
	emptied   []time.Time            // when the store has lost what it had
}

// newGateways starts n replicas. If sessions are to have servers of their own, these are behind the
// replicas too, and sessions have owners.
func newGateways(t *testing.T, b *bench, n int, perSession map[string]configured) *gateways {
	g := &gateways{bench: b, counter: newCounter(t), store: redistest.Start(t),
		processes: make([]*exec.Cmd, n), killed: map[string][]time.Time{},
		sent: map[string]*tries{}}
	g.way = newSlowWay(t, g.store.Options.Address)
	g.env = append(g.env, replicaKey, "STDWIRE_TEST_TOKEN="+soakToken)
	servers := map[string]any{"up": map[string]string{"url": g.counter.url}}
	for id, c := range perSession {
		c.PerSession, g.forward = true, true
		servers[id] = c
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	assert.NilError(t, err)
	g.write("gateway.json", string(text))
	for range n {
		g.addresses = append(g.addresses, freeAddress(t))
	}
	for i := range n {
		g.start(i)
	}
	t.Cleanup(func() {
		for i := range n {
			g.end(i, syscall.SIGKILL)
		}
	})
	g.url, g.resending = g.balance(g.addresses...)
	return g
}

// start starts a replica, and returns when it serves.
func (g *gateways) start(i int) {
	g.t.Helper()
	args := []string{"serve", "--config", g.path("gateway.json"), "--pins", "off", "--http",
		g.addresses[i], "--token-env", "STDWIRE_TEST_TOKEN", "--state-key-env", "STATE_KEY",
		"--store", "redis://" + g.way.address}
	if g.forward {
		args = append(args, "--replica-url", "http://"+g.addresses[i])
	}
	cmd := exec.Command(binary(g.t), args...)
	cmd.Dir, cmd.Env = g.dir, g.env
	stderr, err := cmd.StderrPipe()
	assert.NilError(g.t, err)
	assert.NilError(g.t, cmd.Start())
	in := bufio.NewReader(stderr)
	said := ""
	for !endpoint.MatchString(said) {
		line, err := in.ReadString('\n')
		assert.NilError(g.t, err, "the replica said: %s", said)
		said += line
	}
	go func() {
		for line, err := in.ReadString('\n'); err == nil; line, err = in.ReadString('\n') {
			if strings.Contains(line, "panic") {
				g.t.Errorf("a replica said: %s", line)
			}
		}
	}()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.processes[i] = cmd
}

// end ends a replica by a signal.
func (g *gateways) end(i int, how syscall.Signal) {
	g.mu.Lock()
	cmd := g.processes[i]
	g.processes[i] = nil
	g.killed[g.addresses[i]] = append(g.killed[g.addresses[i]], time.Now())
	g.mu.Unlock()
	if cmd != nil {
		_ = cmd.Process.Signal(how)
		_ = cmd.Wait()
	}
}

// endedSince reports whether a replica has ended since a time, or is not known.
func (g *gateways) endedSince(address string, from time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, at := range g.killed[address] {
		if at.After(from) {
			return true
		}
	}
	return address == ""
}

// freeze stops a process for a time.
func (g *gateways) freeze(pid int, d time.Duration) {
	assert.NilError(g.t, syscall.Kill(pid, syscall.SIGSTOP))
	time.Sleep(d) // that is what happens
	assert.NilError(g.t, syscall.Kill(pid, syscall.SIGCONT))
}

// restartStore kills the store, which has nothing when it is back after a time.
func (g *gateways) restartStore(after time.Duration) {
	g.store.Kill()
	g.mu.Lock()
	g.emptied = append(g.emptied, time.Now())
	g.mu.Unlock()
	time.Sleep(after) // that is what happens
	g.store.Restart()
}

// tries are the time in which a call is sent. The zero time is not yet.
type tries struct{ from, to time.Time }

// mayRepeat reports whether a call may run again because the store has lost that it has run.
func (g *gateways) mayRepeat(token string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	sent := g.sent[token]
	for _, at := range g.emptied {
		if sent != nil && at.After(sent.from) && (sent.to.IsZero() || at.Before(sent.to)) {
			return true
		}
	}
	return false
}

// Three gateways behind nginx, round robin, share a store, and each of them and the store is
// killed, stopped and restarted, and the store is slow, while legacy and modern clients call
// through them. The server behind them runs each call at most once; no session that somebody knows
// gets 404; an answer that was accepted arrives unless its gateway has died; all clients hear of a
// change, also while the store is slow.
func TestReplicasWithStore(t *testing.T) {
	t.Parallel()
	rounds, pause := 1, 2*time.Second
	if storetest.Soaks() {
		rounds, pause = 10, 5*time.Second
	}
	b := newNodeBench(t)
	g := newGateways(t, b, 3, nil)
	for _, c := range replicaCases {
		t.Run(c.name, func(t *testing.T) { c.test(t, g) })
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var callers sync.WaitGroup
	var all []*caller
	for i := range 12 {
		c := &caller{g: g, name: fmt.Sprint("raw", i), modern: i%4 == 3, statuses: map[int]int{}}
		all = append(all, c)
		callers.Go(func() { c.use(ctx) })
	}
	sdks := g.sdkCallers()

	for range rounds {
		for i := range g.addresses {
			what := i % 3
			switch what {
			case 0:
				g.end(i, syscall.SIGKILL)
			case 1:
				g.end(i, syscall.SIGTERM)
			default:
				g.mu.Lock()
				pid := g.processes[i].Process.Pid
				g.mu.Unlock()
				g.freeze(pid, pause)
				continue
			}
			g.start(i)
			time.Sleep(pause / 2) // the clients go on meanwhile
		}
		g.restartStore(0)
		time.Sleep(pause)
		g.freeze(g.store.Pid(), pause)
		time.Sleep(pause / 2)
		g.restartStore(pause)
		time.Sleep(pause)
		g.way.delay(500*time.Millisecond, time.Second)
		g.changeHeard(sdks)
		settled(t, all)
		// Two round trips may now take longer than a request waits for the store.
		g.way.delay(time.Second, 3*time.Second)
		g.changeHeard(sdks)
		time.Sleep(3 * pause)
		g.way.stop(5 * time.Second)
		g.changeHeard(sdks)
		settled(t, all)
	}
	g.changeHeard(sdks)
	stop()
	callers.Wait()
	for _, s := range sdks {
		s.ended()
	}
	calls := 0
	g.counter.mu.Lock()
	defer g.counter.mu.Unlock()
	for token, n := range g.ran {
		calls += n
		assert.Check(t, n == 1 || n == 2 && g.mayRepeat(token), "the call %s has run %d times", token, n)
	}
	statuses := map[int]int{}
	answers := 0
	for _, c := range all {
		assert.Check(t, c.statuses[404] == 0, "%s: a session is gone", c.name)
		for status, n := range c.statuses {
			statuses[status] += n
		}
		answers += c.answered
	}
	t.Logf("%d calls have run, %d questions were answered; statuses %v", calls, answers, statuses)
	assert.Assert(t, calls > 100 && answers > 20)
}

// replicaCases are what has failed with replicas of other gateways and servers.
var replicaCases = []struct {
	name string
	test func(t *testing.T, g *gateways)
}{
	// https://github.com/mcp-hangar/mcp-hangar/issues/877: of 15 clients with three replicas that
	// open a session, list tools and end the session, one was served, and others left sessions
	// behind. Each request has a connection of its own.
	{"sessions of one connection for each request", func(t *testing.T, g *gateways) {
		for range 15 {
			session := connectOnce(t, g)
			listed := onceMore(t, g, "POST", session, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			assert.Equal(t, listed.status, 200, listed.text)
			assert.Assert(t, strings.Contains(listed.text, "up__count"), listed.text)
			assert.Equal(t, onceMore(t, g, "DELETE", session, "").status, 204)
			for range g.addresses { // it is gone everywhere
				gone := onceMore(t, g, "POST", session, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
				assert.Equal(t, gone.status, 404, gone.text)
			}
		}
	}},
	// https://github.com/agentic-community/mcp-gateway-registry/issues/960 and
	// https://github.com/PrefectHQ/fastmcp/issues/482: of 250 sessions of several calls, of many
	// clients at once, none succeeded with two replicas.
	{"many sessions at once", func(t *testing.T, g *gateways) {
		var clients sync.WaitGroup
		for i := range 25 {
			clients.Go(func() {
				session := connectOnce(t, g)
				for n := range 6 {
					a := onceMore(t, g, "POST", session, fmt.Sprintf(
						`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"up__count","arguments":{"token":"many-%d-%d"}}}`,
						n+1, i, n))
					assert.Check(t, a.status == 200 && strings.Contains(a.text, "count many"), a.text)
				}
			})
		}
		clients.Wait()
	}},
	// https://github.com/agentgateway/agentgateway/issues/754 and
	// https://github.com/IBM/mcp-context-forge/issues/5600: calls and callbacks of a session have to
	// reach the replica that opened it, so that a balancer without sticky sessions breaks them, and
	// a replica that ends takes its sessions with it.
	{"callbacks, and a replica that ends", func(t *testing.T, g *gateways) {
		c := &caller{g: g, name: "case", session: connectOnce(t, g), statuses: map[int]int{}}
		for i := range g.addresses {
			for range 3 {
				c.id++
				c.ask(t.Context(), fmt.Sprint("case-", c.id))
			}
			g.end(i, syscall.SIGTERM)
			g.start(i)
		}
		assert.Equal(t, c.answered, 3*len(g.addresses))
		assert.DeepEqual(t, c.statuses, map[int]int{200: 9, 202: 9})
	}},
}

// connectOnce opens a session.
func connectOnce(t *testing.T, g *gateways) (session string) {
	a := onceMore(t, g, "POST", "", callerInitialize)
	assert.Check(t, a.status == 200 && a.session != "", a.text)
	return a.session
}

// onceMore sends a request on a connection of its own.
func onceMore(t *testing.T, g *gateways, method, session, body string) answered {
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), method, g.url, strings.NewReader(body))
	assert.Check(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	response, err := transport.RoundTrip(r)
	if !assert.Check(t, err) {
		return answered{}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	assert.Check(t, err)
	return answered{response.StatusCode, response.Header.Get("Mcp-Session-Id"), string(text)}
}

// A caller is a client that knows what it has sent, and sends again what may have failed.
type caller struct {
	g      *gateways
	name   string
	modern bool

	session  string
	id       int
	answered int
	statuses map[int]int

	mu sync.Mutex
	ok time.Time // when a call has last succeeded
}

const callerInitialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`

func (c *caller) use(ctx context.Context) {
	for ctx.Err() == nil {
		c.id++
		token := fmt.Sprint(c.name, "-", c.id)
		switch {
		case c.modern:
			c.note(c.post(ctx, c.g.url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__count","arguments":{"token":"`+
				token+`"},`+modernMeta+`}}`))
		case c.session == "":
			a := c.post(ctx, c.g.url, callerInitialize)
			c.session = a.session
		case c.id%3 == 2:
			c.ask(ctx, token)
		default:
			c.count(ctx, token)
		}
		select {
		case <-time.After(rand.N(60 * time.Millisecond)):
		case <-ctx.Done():
		}
	}
}

func (c *caller) note(a answered) {
	if a.status == 200 && strings.Contains(a.text, `"result"`) &&
		!strings.Contains(a.text, `"isError":true`) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ok = time.Now()
	}
}

// settled waits until a call of each succeeds after now.
func settled(t *testing.T, all []*caller) {
	begun := time.Now()
	for _, c := range all {
		for end := begun.Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
			c.mu.Lock()
			ok := c.ok
			c.mu.Unlock()
			if ok.After(begun) {
				break
			}
			assert.Assert(t, time.Now().Before(end), "%s has no answer any more", c.name)
		}
	}
	t.Logf("all are answered after %v", time.Since(begun))
}

func (c *caller) post(ctx context.Context, url, body string) answered {
	a := postTraced(ctx, url, c.session, body)
	if ctx.Err() == nil {
		c.statuses[a.status]++
	}
	return a
}

// count makes a call by the address that sends again, and sends it again itself.
func (c *caller) count(ctx context.Context, token string) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"up__count","arguments":{"token":%q}}}`,
		c.id, token)
	sent := &tries{from: time.Now()}
	c.g.mu.Lock()
	c.g.sent[token] = sent
	c.g.mu.Unlock()
	defer func() {
		c.g.mu.Lock()
		defer c.g.mu.Unlock()
		sent.to = time.Now()
	}()
	for range 20 {
		a := c.post(ctx, c.g.resending, body)
		c.note(a)
		switch {
		case ctx.Err() != nil, a.status == 409, a.status == 404:
			return
		case a.status == 200 && rand.N(5) > 0: // or it is sent again all the same
			return
		}
		select {
		case <-time.After(rand.N(300 * time.Millisecond)):
		case <-ctx.Done():
		}
	}
}

// ask makes a call that asks, and answers it by whatever replica.
func (c *caller) ask(ctx context.Context, token string) {
	from := time.Now()
	body := fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"up__ask","arguments":{"token":%q}}}`,
		c.id, token)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.g.url, strings.NewReader(body))
	if err != nil {
		c.g.t.Error(err)
		return
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Session-Id", c.session)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	defer response.Body.Close()
	c.statuses[response.StatusCode]++
	tried := strings.Split(response.Header.Get("X-Served-By"), ", ")
	by := tried[len(tried)-1]
	in := bufio.NewReader(response.Body)
	accepted, arrived := false, false
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		var m struct {
			ID     json.Number
			Method string
			Params struct{ Message string }
		}
		if json.Unmarshal(data, &m) == nil && m.Method == "elicitation/create" {
			for ctx.Err() == nil && !c.g.endedSince(by, from) {
				a := c.post(ctx, c.g.url, `{"jsonrpc":"2.0","id":`+m.ID.String()+
					`,"result":{"action":"accept","content":{"name":"`+m.Params.Message+`"}}}`)
				if accepted = a.status == 202; accepted {
					break
				}
			}
		}
		arrived = arrived || bytes.Contains(data, []byte("ask "+token))
	}
	switch {
	case arrived:
		c.answered++
		c.mu.Lock()
		c.ok = time.Now()
		c.mu.Unlock()
	case accepted && ctx.Err() == nil && !c.g.endedSince(by, from):
		c.g.t.Errorf("the answer to %s of %s was accepted, and is lost", token, by)
	}
}
