package streamable_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

func lastEvent(id string) header { return header("Last-Event-Id: " + id) }

// A stream goes on at any replica where it was, live and behind its response. Whoever resumes it
// last gets it, and who had it before is ended, wherever.
func TestResumptionAtAnyReplica(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() *streamable.Store) {
		sites := share(t, 3, streamable.Options{}, open)
		c := sites[0].connect("2025-11-25", "")
		a := c.call("1", "steps", "x", "").isStream()
		first, _ := a.next()
		one := a.event("one")
		a.event("two")
		<-sites[0].begun
		b := c.at(sites[1]).get(lastEvent(one.id)).isStream()
		b.event("two")
		a.ends()
		d := c.at(sites[2]).get(lastEvent(first.id)).isStream()
		d.event("one")
		two := d.event("two")
		b.ends()
		back := c.get(lastEvent(one.id)).isStream() // where it is served
		back.event("two")
		d.ends()
		d = c.at(sites[2]).get(lastEvent(two.id)).isStream()
		back.ends()
		again := c.at(sites[2]).get(lastEvent(two.id)).isStream()
		d.ends()
		sites[0].release <- struct{}{}
		again.event("three")
		last := again.event(`"id":1,"result"`)
		again.ends()
		for _, s := range sites {
			all := c.at(s).get(lastEvent(first.id)).isStream()
			for _, want := range []string{"one", "two", "three", `"id":1,"result"`} {
				all.event(want)
			}
			all.ends()
			c.at(s).get(lastEvent(last.id)).isStream().ends()
		}
		// Ids mean nothing in another session, and those that were never given nothing at all.
		stranger := sites[0].connect("2025-11-25", "")
		stream, _, _ := strings.Cut(one.id, "-")
		assert.Equal(t, stranger.at(sites[1]).get(lastEvent(last.id)).StatusCode, 400)
		for _, wrong := range []string{stream, stream + "-", stream + "--1", stream + "-9",
			"x-1", stream + "-1-x", stream + "-1--1", strings.Repeat("9", 30) + "-1"} {
			got := c.at(sites[1]).get(lastEvent(wrong))
			assert.Equal(t, got.StatusCode, 400, wrong)
			assert.Assert(t, strings.Contains(got.text(), "reconnect without Last-Event-ID"))
		}
	})
}

// Of many readers that come at once at all replicas, one stays.
func TestResumptionByManyReaders(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() *streamable.Store) {
		sites := share(t, 3, streamable.Options{}, open)
		c := sites[0].connect("2025-06-18", "")
		one := c.call("1", "steps", "x", "").isStream().event("one")
		<-sites[0].begun
		ended := make(chan bool, 12)
		for i := range cap(ended) {
			go func() {
				a := c.at(sites[i%3]).get(lastEvent(one.id))
				whole := false
				for e, ok := a.next(); ok; e, ok = a.next() {
					whole = whole || strings.Contains(e.data, `"id":1,"result"`)
				}
				ended <- whole
			}()
		}
		for range cap(ended) - 1 {
			assert.Assert(t, !<-ended)
		}
		sites[0].release <- struct{}{}
		assert.Assert(t, <-ended)
	})
}

// A handler that has the client come back finds it at another replica.
func TestPollingAtAnyReplica(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() *streamable.Store) {
		sites := share(t, 2, streamable.Options{}, open)
		c := sites[0].connect("2025-11-25", "")
		a := c.call("1", "poll", "x", "").isStream()
		first, _ := a.next()
		a.next()
		a.ends()
		<-sites[0].begun
		b := c.at(sites[1]).get(lastEvent(first.id)).isStream()
		close(sites[0].release)
		b.event(`"id":1,"result"`)
		b.ends()
	})
}

// A replica that is drained leaves the answers that its clients have not got, and one that is
// closed says so of the requests that it could not answer.
func TestResumptionFromAReplicaThatEnds(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() *streamable.Store) {
		sites := share(t, 3, streamable.Options{}, open)
		c := sites[0].connect("2025-06-18", "")
		answered := c.call("1", "steps", "x", "").isStream()
		one := answered.event("one")
		<-sites[0].begun
		answered.Body.Close()
		sites[0].release <- struct{}{}
		assert.NilError(t, sites[0].handler.Shutdown(t.Context()))
		b := c.at(sites[1]).get(lastEvent(one.id)).isStream()
		for _, want := range []string{"two", "three", `"id":1,"result"`} {
			b.event(want)
		}
		b.ends()

		lost := c.at(sites[2]).call(`"b"`, "steps", "y", "").isStream()
		one = lost.event("one")
		<-sites[2].begun
		waits := c.at(sites[1]).get(lastEvent(one.id)).isStream()
		waits.event("two")
		for open := true; open; { // it has another reader now
			_, open = lost.next()
		}
		sites[2].handler.Close()
		waits.event(`"id":"b","error":{"code":-32603,"message":"the server that ran this request has ended`)
		waits.ends()
	})
}

// A countedStore is the way of one replica to a store, which may be cut, and counts what is sent.
type countedStore struct {
	store.Store
	cut     atomic.Bool
	appends atomic.Int32
	bytes   atomic.Int64
	latency atomic.Int64 // of appends
	others  atomic.Int32
}

func (s *countedStore) failure() error {
	if s.cut.Load() {
		return redis.ErrUnavailable
	}
	s.others.Add(1)
	return nil
}

func (s *countedStore) Get(ctx context.Context, key string) ([]byte, error) {
	if err := s.failure(); err != nil {
		return nil, err
	}
	return s.Store.Get(ctx, key)
}

func (s *countedStore) Put(ctx context.Context, key string, value []byte, when store.Condition,
	ttl time.Duration) (bool, error) {
	if err := s.failure(); err != nil {
		return false, err
	}
	return s.Store.Put(ctx, key, value, when, ttl)
}

func (s *countedStore) Renew(ctx context.Context, key string, fence int64, ttl time.Duration) (bool,
	error) {
	if err := s.failure(); err != nil {
		return false, err
	}
	if strings.HasPrefix(key, "replica/") { // whatever its clients do
		s.others.Add(-1)
	}
	return s.Store.Renew(ctx, key, fence, ttl)
}

func (s *countedStore) Holder(ctx context.Context, key string) (store.Lease, error) {
	if err := s.failure(); err != nil {
		return store.Lease{}, err
	}
	return s.Store.Holder(ctx, key)
}

func (s *countedStore) Publish(ctx context.Context, channel string, message []byte) error {
	if err := s.failure(); err != nil {
		return err
	}
	return s.Store.Publish(ctx, channel, message)
}

func (s *countedStore) Append(ctx context.Context, key string, event []byte, b store.LogBounds) (
	int64, error) {
	if s.cut.Load() {
		return 0, redis.ErrUnavailable
	}
	time.Sleep(time.Duration(s.latency.Load()))
	s.appends.Add(1)
	s.bytes.Add(int64(len(event)))
	return s.Store.Append(ctx, key, event, b)
}

func (s *countedStore) After(ctx context.Context, key string, number int64) ([]store.Event, bool,
	error) {
	if err := s.failure(); err != nil {
		return nil, false, err
	}
	return s.Store.After(ctx, key, number)
}

// When a replica vanishes without a word, those who wait for it elsewhere learn it; when only the
// store cannot be reached for a while, nothing is lost.
func TestResumptionFromALostReplica(t *testing.T) {
	one, two := &countedStore{Store: new(store.Memory)}, new(countedStore)
	two.Store = one.Store
	inBubble(t, streamable.Options{Store: streamable.StoreOf(one)}, func(t *testing.T, b *bubble) {
		other, end := openBubble(t, new(http.Server),
			streamable.Options{Store: streamable.StoreOf(two)})
		defer end()
		session := b.connect("2025-06-18")
		call := func(id string) (event sent) {
			w := b.dial()
			defer w.Close()
			a := w.ask("POST", `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"steps","arguments":{"text":"x"},"_meta":{"progressToken":1}}}`,
				session).isStream()
			<-b.begun
			return a.event("one")
		}
		first, second := call("1"), call("2")
		wait := func(from sent) heard {
			return hear(other.dial().ask("GET", "",
				session+"\nAccept: text/event-stream\n"+lastEvent(from.id)).isStream())
		}
		waits := wait(first)
		waits.until(t, "two")
		one.cut.Store(true)
		two.cut.Store(true)
		time.Sleep(10 * time.Minute) // longer than a replica may be silent
		two.cut.Store(false)
		time.Sleep(10 * time.Second)
		one.cut.Store(false)
		time.Sleep(time.Minute)
		b.release <- struct{}{}
		released := []string{waits.until(t, "three"), waits.until(t, `"result"`)}
		assert.Assert(t, strings.Contains(released[1], `"id":1`), released)
		waits.ends(t)

		waits = wait(second)
		waits.until(t, "two")
		one.cut.Store(true)
		begun := time.Now()
		waits.until(t,
			`"id":2,"error":{"code":-32603,"message":"the server that ran this request has ended`)
		waits.ends(t)
		assert.Assert(t, time.Since(begun) < 45*time.Second, "%v", time.Since(begun))
		close(b.release)
		synctest.Wait()
	})
}

// heard is what a stream has brought, which is read as it comes: who does not read is disconnected.
type heard chan sent

func hear(a *answer) heard {
	h := make(heard, 10_000)
	go func() {
		defer close(h)
		for e, ok := a.next(); ok; e, ok = a.next() {
			h <- e
		}
	}()
	return h
}

// until waits for an event that has this in its data.
func (h heard) until(t *testing.T, contains string) string {
	t.Helper()
	for e := range h {
		if strings.Contains(e.data, contains) {
			return e.data
		}
	}
	t.Fatalf("the stream has ended before %s", contains)
	return ""
}

func (h heard) ends(t *testing.T) {
	t.Helper()
	for e := range h {
		assert.Equal(t, e.kind, ":")
	}
}

// What the store has of streams is bounded, for each session and each principal. What is gone is
// said to be.
func TestSharedEventsAreBounded(t *testing.T) {
	text := strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		o      streamable.Options
		oldest int
	}{
		"events":      {streamable.Options{MaxEvents: 3}, 400},
		"bytes":       {streamable.Options{MaxEventBytes: 5 << 10}, 400},
		"large event": {streamable.Options{MaxEventBytes: 1 << 10}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			one := openStore(t, nil)
			sites := share(t, 2, c.o, func() *streamable.Store { return one })
			session := sites[0].connect("2025-06-18", "")
			var ids []string
			for i := range 6 {
				a := session.call(fmt.Sprint(i+1), "echo", text,
					"-Accept\nAccept: text/event-stream").isStream()
				ids = append(ids, a.event("result").id)
				a.ends()
				// it is in the store, before that of the next call
				session.at(sites[1]).get(lastEvent(ids[i])).isStream().ends()
			}
			oldest := ids[0]
			before := session.at(sites[1]).get(lastEvent(strings.TrimSuffix(ids[5], "1") + "0"))
			if name == "large event" {
				assert.Equal(t, before.StatusCode, 400)
			} else {
				before.isStream().event("result")
			}
			got := session.at(sites[1]).get(lastEvent(strings.TrimSuffix(oldest, "1") + "0"))
			assert.Equal(t, got.StatusCode, c.oldest)
		})
	}
	t.Run("principals", func(t *testing.T) {
		one := openStore(t, nil)
		o := streamable.Options{MaxStored: 16 << 10,
			Principal: func(r *http.Request) (string, error) {
				return r.Header.Get("Authorization"), nil
			}}
		sites := share(t, 2, o, func() *streamable.Store { return one })
		resumed := func(who header) int {
			session := sites[0].connect("2025-06-18", who)
			a := session.call("1", "echo", text, who+"\n-Accept\nAccept: text/event-stream").isStream()
			id := a.event("result").id
			a.ends()
			return session.at(sites[1]).get(who + "\n" +
				lastEvent(strings.TrimSuffix(id, "1")+"0")).StatusCode
		}
		var got []int
		for range 6 {
			got = append(got, resumed("Authorization: ada"))
		}
		assert.DeepEqual(t, got, []int{200, 200, 200, 400, 400, 400})
		assert.Equal(t, resumed("Authorization: bob"), 200)
	})
}

// A call that is answered as JSON costs nothing for its stream, and a stream one operation that
// nobody waits for, for all events that come together.
func TestCostOfSharedStreams(t *testing.T) {
	counted := &countedStore{Store: new(store.Memory)}
	inBubble(t, streamable.Options{Store: streamable.StoreOf(counted)},
		func(t *testing.T, b *bubble) {
			session := b.connect("2025-06-18")
			call := func(id int, tool string) *answer {
				w := b.dial()
				return w.ask("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"text":"300"},"_meta":{"progressToken":1}}}`,
					id, tool), session)
			}
			synctest.Wait()
			before := counted.others.Load()
			assert.Equal(t, call(1, "echo").Header.Get("Content-Type"), "application/json")
			synctest.Wait()
			assert.Equal(t, counted.appends.Load(), int32(0))
			assert.Equal(t, counted.others.Load()-before, int32(2)) // the session, and the claim
			before = counted.others.Load()
			counted.latency.Store(int64(3 * time.Second))
			begun := time.Now()
			a := call(2, "flood").isStream()
			a.until(`"result"`)
			a.ends()
			assert.Equal(t, time.Since(begun), time.Duration(0))
			time.Sleep(4 * time.Second)
			appends, others := counted.appends.Load(), counted.others.Load()-before
			assert.Assert(t, appends >= 1 && appends <= 301, "%d", appends)
			assert.Equal(t, others, int32(2))
			<-b.begun
			t.Logf("%d events in %d records of %d bytes", 301, appends, counted.bytes.Load())
		})
}

// While the store cannot be reached, a client is told to come back, and streams that are open wait.
// What is added meanwhile is there when the store is back, and what it has lost is said to be.
func TestResumptionWithoutStore(t *testing.T) {
	of := redistest.Start(t)
	sites := share(t, 2, streamable.Options{}, func() *streamable.Store { return openStore(t, of) })
	c := sites[0].connect("2025-06-18", "")
	one := c.call("1", "steps", "x", "").isStream().event("one")
	<-sites[0].begun
	other := c.at(sites[1])
	b := other.get(lastEvent(one.id)).isStream()
	b.event("two")
	of.Kill()
	eventually.True(t, "it is refused", func() bool {
		return other.get(lastEvent(one.id)).StatusCode == 503
	})
	assert.Equal(t, other.get(lastEvent(one.id)).Header.Get("Retry-After"), "1")
	sites[0].release <- struct{}{}
	of.Restart() // empty
	b.event("three")
	b.event(`"result"`)
	b.ends()
	assert.Equal(t, other.get(lastEvent(one.id)).StatusCode, 400)
}

// That the roots of a client have changed, all replicas that know it learn.
func TestReplicasShareChangesOfRoots(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() *streamable.Store) {
		sites := share(t, 2, streamable.Options{}, open)
		c := sites[0].connect("2025-06-18", "")
		ping(c.at(sites[1])).wants(200, pinged)
		heard := make([]chan server.ClientEvent, len(sites))
		for i, s := range sites {
			heard[i] = make(chan server.ClientEvent, 10)
			defer s.server.Integration().OnClientEvent(
				func(_ *server.Conn, e server.ClientEvent) { heard[i] <- e })()
			assert.Equal(t, <-heard[i], server.ClientReady)
		}
		for _, at := range sites {
			got := c.at(at).post(
				`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, "")
			assert.Equal(t, got.StatusCode, 202)
			for _, events := range heard {
				assert.Equal(t, <-events, server.ClientRoots)
			}
		}
		for _, events := range heard {
			assert.Equal(t, len(events), 0)
		}
	})
}

// A client that comes to a replica which does not know it is told of the changes that it may have
// missed, and not of those that it was told of at another one.
func TestReplicasRepeatOnlyMissedChanges(t *testing.T) {
	shared := streamable.StoreOf(new(store.Memory))
	inBubble(t, streamable.Options{Store: shared}, func(t *testing.T, b *bubble) {
		elsewhere := func(session header, with header) (list bool) {
			other, end := openBubble(t, new(http.Server), streamable.Options{Store: shared})
			defer end()
			synctest.Wait()
			w := other.dial()
			a := w.ask("GET", "", session+"\nAccept: text/event-stream\n"+with).isStream()
			synctest.Wait()
			time.Sleep(20 * time.Second) // a comment follows what there is
			for {
				e, ok := a.next()
				if !ok || e.kind == ":" {
					return list
				}
				list = list || strings.Contains(e.data, "tools/list_changed")
			}
		}
		told, never := b.connect("2025-06-18"), b.connect("2025-06-18")
		stream := b.dial().ask("GET", "", told+"\nAccept: text/event-stream").isStream()
		b.changeTools("first")
		first := stream.event("list_changed")
		assert.Assert(t, elsewhere(told, "")) // it may not have arrived
		assert.Assert(t, elsewhere(told, lastEvent(first.id)))
		stream.ends()
		stream = b.dial().ask("GET", "", told+"\nAccept: text/event-stream").isStream()
		hear(stream)
		time.Sleep(3 * time.Minute)
		assert.Assert(t, !elsewhere(told, ""))
		assert.Assert(t, elsewhere(never, ""))
		b.changeTools("second")
		synctest.Wait()
		assert.Assert(t, elsewhere(told, ""))
		for range 10 { // none is open for long enough to know
			w := b.dial()
			hear(w.ask("GET", "", told+"\nAccept: text/event-stream").isStream())
			time.Sleep(30 * time.Second)
			w.Close()
			synctest.Wait()
		}
		assert.Assert(t, elsewhere(told, ""))
	})
}
