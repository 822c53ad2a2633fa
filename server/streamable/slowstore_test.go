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

	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/internal/store/storetest"
	"github.com/stdwire/stdwire/server/streamable"
)

// A poorStore is slow and fails now and then. It counts what is asked of it.
type poorStore struct {
	store.Memory
	latency time.Duration
	failing atomic.Pointer[error]
	opened  atomic.Int32
	claims  atomic.Int32
	sent    atomic.Int64 // bytes of notices
	every   atomic.Int32 // n: each nth renewal fails; 0: none
	renewed atomic.Int32

	replaceFails atomic.Bool
}

func (s *poorStore) wait() error {
	time.Sleep(s.latency)
	if err := s.failing.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *poorStore) Put(ctx context.Context, key string, value []byte, when store.Condition,
	ttl time.Duration) (bool, error) {
	if err := s.wait(); err != nil {
		return false, err
	}
	if strings.HasPrefix(key, "request/") && when == store.Always {
		s.claims.Add(1)
	}
	return s.Memory.Put(ctx, key, value, when, ttl)
}

func (s *poorStore) Acquire(ctx context.Context, key string, data []byte, ttl time.Duration) (
	store.Lease, bool, error) {
	s.opened.Add(1)
	if err := s.wait(); err != nil {
		return store.Lease{}, false, err
	}
	return s.Memory.Acquire(ctx, key, data, ttl)
}

func (s *poorStore) Renew(ctx context.Context, key string, fence int64, ttl time.Duration) (bool,
	error) {
	if err := s.wait(); err != nil {
		return false, err
	}
	if n := s.every.Load(); n > 0 && s.renewed.Add(1)%n == 0 {
		return false, store.ErrFull
	}
	return s.Memory.Renew(ctx, key, fence, ttl)
}

func (s *poorStore) Replace(ctx context.Context, key string, fence int64, data []byte,
	ttl time.Duration) (store.Lease, bool, error) {
	if s.replaceFails.Load() {
		return store.Lease{}, false, redis.ErrUnknown
	}
	return s.Memory.Replace(ctx, key, fence, data, ttl)
}

func (s *poorStore) Publish(ctx context.Context, channel string, message []byte) error {
	s.sent.Add(int64(len(message)))
	return s.Memory.Publish(ctx, channel, message)
}

// While the calls of many sessions run, a slow store that fails now and then keeps all of them and
// what they have claimed.
func TestSlowStoreKeepsManySessions(t *testing.T) {
	slow := &poorStore{latency: time.Second}
	o := streamable.Options{Store: streamable.StoreOf(slow), SessionIdle: 5 * time.Minute,
		Heartbeat: time.Hour}
	inBubble(t, o, func(t *testing.T, b *bubble) {
		const sessions = 150
		var all []header
		for range sessions {
			session := b.connect("2025-06-18")
			w := b.dial()
			w.send("POST", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hold","arguments":{"text":"x"}}}`,
				session)
			<-b.begun
			all = append(all, session)
		}
		slow.every.Store(7)
		time.Sleep(20 * time.Minute)
		slow.every.Store(0)
		time.Sleep(time.Minute)
		// The calls are claimed, and other replicas find the sessions.
		for _, session := range all {
			id := strings.TrimPrefix(string(session), "Mcp-Session-Id: ")
			first, err := slow.Memory.Put(t.Context(), "request/"+id+"/7", nil, store.IfAbsent,
				time.Hour)
			assert.Assert(t, !first && err == nil)
			l, err := slow.Holder(t.Context(), "session/"+id)
			assert.Assert(t, l.Data != nil && err == nil)
		}
		close(b.release)
		synctest.Wait()
	})
}

// A store that is gone is asked now and then, and one that is back, though empty, for a few
// sessions at once, whatever their number. It has all of them again soon.
func TestStoreIsNotStormed(t *testing.T) {
	of := storetest.New(1, storetest.Faults{Latency: time.Millisecond, Reconnect: time.Second})
	o := streamable.Options{Store: streamable.StoreOf(of.Link()), Heartbeat: time.Hour}
	inBubble(t, o, func(t *testing.T, b *bubble) {
		const sessions = 300
		for range sessions {
			b.connect("2025-06-18")
		}
		of.Kill()
		before := of.Load()
		const seconds = 60
		time.Sleep(seconds * time.Second)
		// The log of changes, the notices, and the sessions are asked for every 100 to 300 ms.
		refused := of.Load().Refused - before.Refused
		assert.Assert(t, refused > seconds && refused < 3*10*seconds, "%d", refused)
		of.StartEmpty(0)
		time.Sleep(3 * time.Second)
		after := of.Load()
		assert.Assert(t, after.Most <= 40, "%d at once", after.Most)
		assert.Assert(t, after.Operations > 4*sessions && after.Operations < 10*sessions,
			"%d operations", after.Operations)
	})
}

// A client whose word that it is initialized could not be kept says so again: otherwise no replica
// would tell it of changes.
func TestInitializedIsKept(t *testing.T) {
	poor := new(poorStore)
	inBubble(t, streamable.Options{Store: streamable.StoreOf(poor)}, func(t *testing.T, b *bubble) {
		w := b.dial()
		defer w.Close()
		opened := w.ask("POST", strings.Replace(initialize, "REVISION", "2025-06-18", 1), "")
		_ = opened.text()
		session := header("Mcp-Session-Id: " + opened.Header.Get("Mcp-Session-Id"))
		const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		poor.replaceFails.Store(true)
		refused := w.ask("POST", initialized, session)
		assert.Equal(t, refused.StatusCode, 503)
		assert.Equal(t, refused.Header.Get("Retry-After"), "1")
		_ = refused.text()
		poor.replaceFails.Store(false)
		stream := b.dial()
		defer stream.Close()
		events := stream.ask("GET", "", session).isStream()
		assert.Equal(t, w.ask("POST", initialized, session).StatusCode, 202)
		b.changeTools("new")
		events.until("tools/list_changed")
	})
}

// A lossyStore does what it is asked, but a few times says something else.
type lossyStore struct {
	store.Store
	replaced, published, renewed atomic.Int32 // so many times from now on
}

func (s *lossyStore) Replace(ctx context.Context, key string, fence int64, data []byte,
	ttl time.Duration) (store.Lease, bool, error) {
	l, replaced, err := s.Store.Replace(ctx, key, fence, data, ttl)
	if s.replaced.Add(-1) >= 0 {
		return store.Lease{}, false, redis.ErrUnknown
	}
	return l, replaced, err
}

func (s *lossyStore) Publish(ctx context.Context, channel string, message []byte) error {
	if s.published.Add(-1) >= 0 {
		return redis.ErrUnavailable
	}
	return s.Store.Publish(ctx, channel, message)
}

func (s *lossyStore) Renew(ctx context.Context, key string, fence int64, ttl time.Duration) (bool,
	error) {
	if s.renewed.Add(-1) >= 0 {
		return false, redis.ErrUnavailable
	}
	return s.Store.Renew(ctx, key, fence, ttl)
}

// A replica with the stream of a client learns soon what the client has told another one, though
// the store fails now and then for one of them. It would not hear of it from the client.
func TestListenersLearnOfTheirSession(t *testing.T) {
	for _, c := range []struct {
		name                         string
		replaced, published, renewed int32
		status                       int
	}{
		{"nothing fails", 0, 0, 0, 202},
		{"the answer of the store is lost", 1, 0, 0, 503},
		{"so is the notice", 1, 3, 0, 503},
		{"only the notice fails", 0, 3, 0, 202},
		{"the listener cannot look", 0, 0, 4, 202},
	} {
		t.Run(c.name, func(t *testing.T) {
			memory := new(store.Memory)
			told, listens := &lossyStore{Store: memory}, &lossyStore{Store: memory}
			o := streamable.Options{Store: streamable.StoreOf(told)}
			inBubble(t, o, func(t *testing.T, one *bubble) {
				o.Store = streamable.StoreOf(listens)
				two, end := openBubble(t, new(http.Server), o)
				defer end()
				w, stream := one.dial(), two.dial()
				defer w.Close()
				defer stream.Close()
				opened := w.ask("POST", strings.Replace(initialize, "REVISION", "2025-06-18", 1), "")
				_ = opened.text()
				session := header("Mcp-Session-Id: " + opened.Header.Get("Mcp-Session-Id"))
				events := stream.ask("GET", "", session).isStream()
				synctest.Wait()
				told.replaced.Store(c.replaced)
				told.published.Store(c.published)
				listens.renewed.Store(c.renewed)
				const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
				for _, want := range []int{c.status, 202} { // it says so again
					a := w.ask("POST", initialized, session)
					_ = a.text()
					assert.Equal(t, a.StatusCode, want)
				}
				time.Sleep(5 * time.Second)
				at := time.Now()
				two.changeTools("new")
				events.until("tools/list_changed")
				assert.Assert(t, time.Since(at) < time.Second)
			})
		})
	}
}

// A client that was initialized elsewhere is told of what has changed since then at a replica that
// could not learn it.
func TestLateListenersAreTold(t *testing.T) {
	memory := new(store.Memory)
	o := streamable.Options{Store: streamable.StoreOf(memory)}
	inBubble(t, o, func(t *testing.T, one *bubble) {
		late := &lossyStore{Store: memory}
		o.Store = streamable.StoreOf(late)
		two, end := openBubble(t, new(http.Server), o)
		defer end()
		w, stream := one.dial(), two.dial()
		defer w.Close()
		opened := w.ask("POST", strings.Replace(initialize, "REVISION", "2025-06-18", 1), "")
		_ = opened.text()
		session := header("Mcp-Session-Id: " + opened.Header.Get("Mcp-Session-Id"))
		events := stream.ask("GET", "", session).isStream()
		late.renewed.Store(1000)
		assert.Equal(t, w.ask("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			session).StatusCode, 202)
		time.Sleep(5 * time.Second)
		two.changeTools("new")
		time.Sleep(5 * time.Second)
		late.renewed.Store(0)
		defer time.AfterFunc(5*time.Minute, func() { stream.Close() }).Stop()
		events.until("tools/list_changed")
	})
}

// An initialize that is refused leaves nothing in the store, and one that the store refuses no
// session here.
func TestRefusedSessionsAreNotStored(t *testing.T) {
	poor := new(poorStore)
	o := streamable.Options{Store: streamable.StoreOf(poor), MaxSessions: 4}
	inBubble(t, o, func(t *testing.T, b *bubble) {
		for range 4 {
			b.connect("2025-06-18")
		}
		synctest.Wait() // the handler has its lease, which counts as well
		opened := poor.opened.Load()
		ask := func() *answer {
			w := b.dial()
			defer w.Close()
			a := w.ask("POST", strings.Replace(initialize, "REVISION", "2025-06-18", 1), "")
			_ = a.text()
			return a
		}
		for range 50 {
			a := ask()
			assert.Assert(t, a.StatusCode == 503 && a.Header.Get("Mcp-Session-Id") == "")
		}
		assert.Equal(t, poor.opened.Load(), opened)
		time.Sleep(2 * time.Minute) // so that they are idle
		poor.failing.Store(&redis.ErrUnavailable)
		assert.NilError(t, o.Store.Failure())
		for range 8 {
			a := ask()
			assert.Assert(t, a.StatusCode == 503 && a.Header.Get("Mcp-Session-Id") == "")
		}
		synctest.Wait()
		assert.Assert(t, b.handler.Stats().Sessions <= 3)
		assert.ErrorIs(t, o.Store.Part("p").Failure(), redis.ErrUnavailable)
		poor.failing.Store(nil)
		assert.Equal(t, ask().StatusCode, 200)
		time.Sleep(time.Minute)
		assert.NilError(t, o.Store.Failure())
	})
}

// The cancellation of a request with an id of any size is not sent to all replicas.
func TestLongIDsAreNotPublished(t *testing.T) {
	poor := new(poorStore)
	inBubble(t, streamable.Options{Store: streamable.StoreOf(poor)}, func(t *testing.T, b *bubble) {
		session := b.connect("2025-06-18")
		cancel := func(id string) {
			w := b.dial()
			defer w.Close()
			a := w.ask("POST", fmt.Sprintf(
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%q}}`, id),
				session)
			assert.Equal(t, a.StatusCode, 202)
		}
		before := poor.sent.Load()
		cancel(strings.Repeat("x", 100_000))
		assert.Equal(t, poor.sent.Load(), before)
		cancel("short")
		assert.Assert(t, poor.sent.Load() > before)
	})
}

// An answer that waits until it is taken keeps no request from its session, and those that wait are
// bounded.
func TestAnswersThatWait(t *testing.T) {
	memory := new(store.Memory)
	o := streamable.Options{Store: streamable.StoreOf(memory), MaxRequests: 1}
	inBubble(t, o, func(t *testing.T, b *bubble) {
		session := b.connect("2025-06-18")
		id := strings.TrimPrefix(string(session), "Mcp-Session-Id: ")
		_, err := memory.Put(t.Context(), "question/"+id+"/7", nil, store.Always, time.Hour)
		assert.NilError(t, err)
		const answers = `{"jsonrpc":"2.0","id":7,"result":{"action":"decline"}}`
		waits, another := b.dial(), b.dial()
		defer waits.Close()
		defer another.Close()
		waits.send("POST", answers, session)
		synctest.Wait()
		begun := time.Now()
		a := another.ask("POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, session)
		assert.Equal(t, a.StatusCode, 200, a.text())
		_ = a.text()
		a = another.ask("POST", answers, session)
		assert.Equal(t, a.StatusCode, 503)
		assert.Equal(t, a.Header.Get("Retry-After"), "1")
		_ = a.text()
		assert.Equal(t, time.Since(begun), time.Duration(0))
		a = waits.answer() // the store has it
		assert.Equal(t, a.StatusCode, 202)
		assert.Assert(t, time.Since(begun) > time.Second)
	})
}
