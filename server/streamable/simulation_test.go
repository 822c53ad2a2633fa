package streamable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/store/storetest"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// Many replicas with many clients, over a network and a store that fail in every way, each with a
// clock that is up to a tenth fast or slow. The handlers are real; the store and the network are
// not. In all histories
//
//   - a call runs at most once, unless the store has lost the claim meanwhile;
//   - a session that a replica knows gets no 404, and modern clients notice nothing;
//   - an answer that was accepted reaches the handler that asked;
//   - clients hear of a change within a second after the way from its replica to theirs is there.
//
// The seed decides what fails and what clients do, but not how goroutines interleave: a history
// that has failed may need several runs with its seed to fail again.
func TestSimulatedReplicas(t *testing.T) {
	size := worldSize{replicas: 6, clients: 40, storm: 75 * time.Second, rest: 3 * time.Second}
	if storetest.Soaks() {
		size = worldSize{replicas: 1000, clients: 2000, storm: 2 * time.Minute,
			rest: 40 * time.Second}
	}
	storetest.Seeds(t, 4, func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) { newWorld(t, seed, size).run() })
	})
}

type worldSize struct {
	replicas, clients int
	storm             time.Duration
	rest              time.Duration // the longest that a client does nothing
}

// A world is one history.
type world struct {
	t      *testing.T
	size   worldSize
	random *rand.Rand // only of run
	store  *storetest.Server
	ctx    context.Context // ends with the history
	users  sync.WaitGroup

	mu       sync.Mutex
	replicas []*replica // that are in service
	started  int
	clients  []*user
	calm     bool        // the network works
	emptied  []time.Time // when the store has lost everything
	ran      map[string]int
	sent     map[string]span
	asked    map[string]*question
	failures int
}

// A span is the time from when something was first sent to when that was given up.
type span struct{ from, to time.Time }

// A question is one that a client has seen.
type question struct {
	by       *replica
	accepted time.Time // the answer was; zero: not yet
	answered time.Time // the handler has it; zero: not yet
}

// A replica is a server with a way to the store.
type replica struct {
	w       *world
	name    string
	server  *server.Server
	handler *streamable.Handler
	link    *storetest.Link

	// guarded by the mutex of the world
	dead  bool
	next  int            // number of the next connection
	conns map[int]func() // what cuts them
	tools int
}

var normal = storetest.Faults{Latency: time.Millisecond, Reconnect: 300 * time.Millisecond,
	Skew: 0.1}

func newWorld(t *testing.T, seed uint64, size worldSize) *world {
	w := &world{t: t, size: size, random: rand.New(rand.NewPCG(seed, 2)),
		store: storetest.New(seed, normal), ran: map[string]int{}, sent: map[string]span{},
		asked: map[string]*question{}}
	for range size.replicas {
		w.start()
	}
	for i := range size.clients {
		w.clients = append(w.clients, newUser(w, seed, uint64(i)))
	}
	return w
}

// start starts a replica.
func (w *world) start() {
	w.mu.Lock()
	w.started++
	r := &replica{w: w, name: fmt.Sprint("replica ", w.started), link: w.store.Link(),
		conns: map[int]func(){}}
	w.mu.Unlock()
	quiet := slog.New(slog.DiscardHandler)
	r.server = server.Options{Logger: quiet, StateKey: []byte(key)}.New(
		server.Info{Name: r.name, Version: "1"}, nil)
	for name, call := range map[string]func(context.Context, string) error{"count": r.count,
		"ask": r.ask} {
		assert.NilError(w.t, r.server.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: name},
			Call: func(ctx context.Context, in json.RawMessage) (*mcp.CallToolResult, error) {
				var arguments echoed
				if err := json.Unmarshal(in, &arguments); err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{}, call(ctx, arguments.Text)
			}}))
	}
	r.handler = streamable.Options{Logger: quiet, Store: streamable.StoreOf(r.link),
		Heartbeat: time.Hour, MaxRequests: 1 << 16, MaxStreams: 1 << 16}.New(r.server)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.replicas = append(w.replicas, r)
}

// count is a call whose number of executions matters. It takes a while.
func (r *replica) count(ctx context.Context, token string) error {
	r.w.mu.Lock()
	if !r.dead { // what a dead process does, it does not
		r.w.ran[token]++
	}
	r.w.mu.Unlock()
	select {
	case <-time.After(rand.N(3 * time.Second)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ask asks the client, which answers with the token.
func (r *replica) ask(ctx context.Context, token string) error {
	answer, err := server.Elicit(ctx, "name", mcp.ElicitParams{Message: token,
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
	if err != nil {
		return err
	}
	var got struct{ Name string }
	if err := json.Unmarshal(answer.Content, &got); err != nil || got.Name != token {
		r.w.fail("%s: the answer to %s is %s", r.name, token, answer.Content)
	}
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if q := r.w.asked[token]; q != nil {
		q.answered = time.Now()
	}
	return nil
}

// fail reports that an invariant does not hold.
func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	w.failures++
	n := w.failures
	w.mu.Unlock()
	if n <= 10 { // more say no more
		w.t.Errorf("%s: "+format, append([]any{clock(time.Now())}, args...)...)
	}
}

func clock(t time.Time) string { return t.Format("04:05.000") }

// pick returns a replica that is in service.
func (w *world) pick(random *rand.Rand) *replica {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.replicas[random.IntN(len(w.replicas))]
}

// remove takes a replica out of service, unless few are left.
func (w *world) remove() *replica {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.replicas) <= 3 {
		return nil
	}
	i := w.random.IntN(len(w.replicas))
	r := w.replicas[i]
	w.replicas = append(w.replicas[:i:i], w.replicas[i+1:]...)
	return r
}

// kill ends a replica as kill -9 does.
func (w *world) kill(r *replica) {
	r.link.Cut()
	w.mu.Lock()
	r.dead = true
	cuts := slices.Collect(maps.Values(r.conns))
	w.forgive(len(w.emptied) > 0 && time.Since(w.emptied[len(w.emptied)-1]) < 90*time.Second)
	w.mu.Unlock()
	for _, cut := range cuts {
		cut()
	}
	w.users.Go(r.handler.Close)
}

// drain ends a replica that is told to.
func (w *world) drain(r *replica) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	w.users.Go(func() {
		defer cancel()
		_ = r.handler.Shutdown(ctx)
		w.kill(r)
	})
}

// forgive notes that the sessions may be lost that no replica in service knows, if the store may
// have lost them. The caller holds mu.
func (w *world) forgive(storeLost bool) {
	for _, u := range w.clients {
		known := false
		for r := range u.known {
			known = known || !r.dead
		}
		if storeLost && !known {
			u.lost = true
		}
	}
}

// startEmpty brings back a store that has lost everything.
func (w *world) startEmpty() {
	w.mu.Lock()
	w.emptied = append(w.emptied, time.Now())
	w.forgive(true)
	w.mu.Unlock()
	behind := time.Duration(w.random.IntN(3)) * 20 * time.Second
	w.t.Logf("%s: its clock is %v behind", clock(time.Now()), behind)
	w.store.StartEmpty(behind)
}

// change changes the lists of a replica.
func (w *world) change(r *replica) {
	w.mu.Lock()
	r.tools++
	name := fmt.Sprint("tool", r.tools)
	w.mu.Unlock()
	assert.NilError(w.t, r.server.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: name},
		Call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return nil, nil
		}}))
}

// faults are what happens in the storm.
var faults = []struct {
	name string
	do   func(w *world)
}{
	{"the store is killed, and back", func(w *world) {
		w.store.Kill()
		at := w.changeWithin(10 * time.Second)
		w.store.Start()
		w.heard(at)
	}},
	{"the store is killed, and back empty", func(w *world) {
		w.store.Kill()
		at := w.changeWithin(3 * time.Second)
		w.startEmpty()
		w.heard(at)
	}},
	{"the store is stopped", func(w *world) {
		w.store.Hang()
		at := w.changeWithin(8 * time.Second)
		w.store.Go()
		w.heard(at)
	}},
	{"the store is slow, and answers are lost", func(w *world) {
		w.store.Suffer(storetest.Faults{Latency: 300 * time.Millisecond, Lost: 0.03,
			Reconnect: normal.Reconnect})
		w.rest(10 * time.Second)
		w.store.Suffer(normal)
	}},
	{"replicas do not reach the store", func(w *world) {
		var apart []*replica
		for range 1 + w.random.IntN(1+w.size.replicas/2) {
			r := w.pick(w.random)
			if w.random.IntN(2) == 0 {
				r.link.Cut()
			} else {
				r.link.Hang()
			}
			apart = append(apart, r)
		}
		at := w.changeWithin(20 * time.Second)
		for _, r := range apart {
			r.link.Heal()
		}
		w.heard(at)
	}},
	{"a replica is killed", func(w *world) {
		if r := w.remove(); r != nil {
			w.kill(r)
			w.start()
		}
	}},
	{"replicas are restarted", func(w *world) {
		for range 1 + w.random.IntN(3) {
			if r := w.remove(); r != nil {
				w.drain(r)
				w.rest(2 * time.Second)
				w.start()
			}
		}
	}},
	{"a list changes", func(w *world) { w.change(w.pick(w.random)) }},
}

// changeWithin waits for a time of up to most, in which a list changes, and returns when.
func (w *world) changeWithin(most time.Duration) (at time.Time) {
	w.rest(most / 2)
	at = time.Now()
	w.change(w.pick(w.random))
	w.rest(most / 2)
	return at
}

// heard checks that clients hear of a change when everything works again.
func (w *world) heard(at time.Time) {
	time.Sleep(normal.Reconnect + time.Second)
	w.checkHeard(at, at)
}

// rest waits for a time of up to most.
func (w *world) rest(most time.Duration) {
	time.Sleep(time.Duration(w.random.Int64N(int64(most))))
}

func (w *world) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer w.users.Wait()
	defer cancel()
	w.ctx = ctx
	for _, u := range w.clients {
		w.users.Go(u.use)
		w.users.Go(u.listen)
	}
	for end := time.Now().Add(w.size.storm); time.Now().Before(end); w.rest(3 * time.Second) {
		f := faults[w.random.IntN(len(faults))]
		w.t.Logf("%s: %s", clock(time.Now()), f.name)
		f.do(w)
	}
	w.store.Kill()
	time.Sleep(3 * time.Second)
	w.mu.Lock()
	w.calm = true
	w.mu.Unlock()
	w.store.Start()
	time.Sleep(15 * time.Second) // until all streams are open
	for range 3 {
		at := time.Now()
		w.change(w.pick(w.random))
		time.Sleep(time.Second)
		w.checkHeard(at, at)
	}
	time.Sleep(45 * time.Second)
	cancel()
	w.mu.Lock()
	left := w.replicas
	w.mu.Unlock()
	for _, r := range left {
		r.handler.Close()
	}
	w.users.Wait()
	w.store.Close()
	w.checkCalls()
	w.checkAnswers()
}

// checkHeard checks that the clients whose streams are open since then have heard of a change at a
// time.
func (w *world) checkHeard(at, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	streams, deaf := 0, 0
	for _, u := range w.clients {
		if u.open.IsZero() || u.open.After(since) || u.began.IsZero() || u.began.After(at) ||
			u.lost {
			continue
		}
		streams++
		if u.heard.Before(at) {
			deaf++
		}
	}
	if deaf > 0 || streams == 0 && w.calm {
		w.t.Errorf("%s: %d of %d clients have not heard of the change at %s",
			clock(time.Now()), deaf, streams, clock(at))
	}
}

// checkCalls checks that calls ran once.
func (w *world) checkCalls() {
	for token, n := range w.ran {
		s, lost := w.sent[token], false
		for _, at := range w.emptied {
			lost = lost || at.After(s.from) && at.Before(s.to)
		}
		if n > 1 && !lost {
			w.fail("the call %s ran %d times, sent from %s to %s", token, n,
				clock(s.from), clock(s.to))
		}
	}
	if len(w.ran) < w.size.clients {
		w.fail("%d calls ran", len(w.ran))
	}
}

// checkAnswers checks that answers arrived.
func (w *world) checkAnswers() {
	arrived := 0
	for token, q := range w.asked {
		lost := time.Since(q.accepted) < 5*time.Second // it may be on its way
		for _, at := range w.emptied {
			lost = lost || at.After(q.accepted) && at.Sub(q.accepted) < 5*time.Second
		}
		switch {
		case !q.answered.IsZero():
			arrived++
		case !q.accepted.IsZero() && !q.by.dead && !lost:
			w.fail("the answer to %s of %s was accepted at %s, and lost", token, q.by.name,
				clock(q.accepted))
		}
	}
	if arrived == 0 {
		w.fail("no answer has arrived")
	}
}
