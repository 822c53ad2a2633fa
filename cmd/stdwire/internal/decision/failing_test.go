package decision

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/internal/store/storetest"
)

// A full store can be read, but not written. It does nothing after the end of a context, as one on
// a server.
type full struct {
	store.Store
	is atomic.Bool
}

func (f *full) Replace(ctx context.Context, key string, fence int64, data []byte,
	ttl time.Duration) (store.Lease, bool, error) {
	if f.is.Load() {
		return store.Lease{}, false, store.ErrFull
	}
	return f.Store.Replace(ctx, key, fence, data, ttl)
}

func (f *full) Holder(ctx context.Context, key string) (store.Lease, error) {
	if err := ctx.Err(); err != nil {
		return store.Lease{}, err
	}
	return f.Store.Holder(ctx, key)
}

// A gateway that cannot tell the store follows it all the same.
func TestFullStore(t *testing.T) {
	s := &full{Store: new(store.Memory)}
	here, there := follow(t, s), follow(t, s.Store)
	there.Switch("a", true, false)
	here.has("a=disabled")
	s.is.Store(true)
	here.Switch("b", true, false)
	there.Switch("c", true, false)
	here.has("a=disabled c=disabled")
	eventually.True(t, "the failure is noticed",
		func() bool { return errors.Is(here.Failure(), store.ErrFull) })
	assert.Assert(t, here.Waits("b") && !here.Waits("a"))
	one, two := accepted("a", "A", "t", "1"), accepted("a", "A", "t", "2")
	here.Accept(two)
	assert.Assert(t, here.IsReplaced(&one) && !here.IsReplaced(&two))
	s.is.Store(false)
	there.has("a=disabled b=disabled c=disabled a/t=2")
}

// What is decided last is told even if Follow ends meanwhile.
func TestEnd(t *testing.T) {
	s := &full{Store: new(store.Memory)}
	ctx, cancel := context.WithCancel(t.Context())
	d := New(s, discard)
	d.Follow(ctx, func(*State) { // which may take long
		d.Switch("a", true, false)
		cancel()
	})
	now, err := New(s, discard).Read(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, describe(now), "a=disabled")
}

// A key that the store has removed is put back with the next change, and after an hour at the
// latest; it never means that a server is enabled. Decisions are kept while a gateway runs.
func TestRemovedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(store.Memory)
		g := follow(t, s)
		g.Switch("a", true, false)
		g.Accept(accepted("a", "A", "t", "1"))
		g.has("a=disabled a/t=1")
		remove := func(key string) {
			l, err := s.Holder(t.Context(), key)
			assert.NilError(t, err)
			released, err := s.Release(t.Context(), key, l.Fence, 0)
			assert.Assert(t, err == nil && released)
		}
		has := func(want string) {
			t.Helper()
			now, err := New(s, discard).Read(t.Context())
			assert.NilError(t, err)
			assert.Equal(t, describe(now), want)
			assert.Equal(t, describe(g.state.Load()), want)
		}
		remove(switchedKey)
		g.Accept(accepted("a", "A", "u", "1"))
		time.Sleep(time.Second)
		synctest.Wait()
		has("a=disabled a/t=1 a/u=1")
		remove(switchedKey)
		remove(acceptedKey)
		g.Switch("b", true, false)
		time.Sleep(time.Second)
		synctest.Wait()
		has("a=disabled b=disabled a/t=1 a/u=1")
		time.Sleep(changes.TTL + readEvery) // until the store says nothing of changes any more
		remove(acceptedKey)
		l, err := s.Holder(t.Context(), switchedKey)
		assert.NilError(t, err)
		renewed, err := s.Renew(t.Context(), switchedKey, l.Fence, 2*readEvery)
		assert.Assert(t, err == nil && renewed)
		time.Sleep(readEvery + time.Minute)
		synctest.Wait()
		has("a=disabled b=disabled a/t=1 a/u=1")
		l, err = s.Holder(t.Context(), switchedKey)
		assert.NilError(t, err)
		assert.Assert(t, l.Left > keepFor/2)
	})
}

// Definitions are equal if they are equal as JSON, whatever the store has made of their text.
func TestCanonical(t *testing.T) {
	s := new(store.Memory)
	here, there := follow(t, s), follow(t, s)
	const definition = "{\"b\":\"<a> & \u2028\",\"name\":\"t\"}"
	a := accepted("a", "A", "t", definition)
	here.Accept(a)
	there.has("a/t=" + definition)
	assert.Assert(t, there.state.Load().Has(&a))
	var parsed []Accepted
	assert.NilError(t, parse(acceptedKey, []byte(`[{"server":{"ID":"a","Name":"A"},"kind":"tool",`+
		`"name":"t","definition":{"name":"t","b":"\u003ca\u003e \u0026 \u2028"}}]`), &parsed))
	assert.Assert(t, parsed[0].equal(&a))
}

// What a gateway has not read it does not replace.
func TestOutrun(t *testing.T) {
	t1, t2, t3 := accepted("a", "A", "t", "1"), accepted("a", "A", "t", "2"),
		accepted("a", "A", "t", "3")
	other := accepted("a", "B", "u", "1")
	for _, c := range []struct {
		read, now, mine []Accepted
		want, outrun    string
	}{
		{nil, nil, []Accepted{t1}, "a/t=1", ""},
		{[]Accepted{t1}, []Accepted{t1}, []Accepted{t2}, "a/t=2", ""},
		{[]Accepted{t1}, []Accepted{t3}, []Accepted{t2}, "a/t=3", "a/t=2"},
		{nil, []Accepted{t3}, []Accepted{t3}, "a/t=3", ""},
		{[]Accepted{t1}, []Accepted{other}, []Accepted{t2}, "a/u=1", "a/t=2"},
		{[]Accepted{other}, []Accepted{other}, []Accepted{t2}, "a/t=2", ""},
	} {
		got, outrun := (&State{Accepted: c.read}).follow(c.now, c.mine)
		assert.Equal(t, describe(&State{Accepted: got}), c.want)
		assert.Equal(t, describe(&State{Accepted: outrun}), c.outrun)
	}
	s := new(store.Memory)
	text, err := json.Marshal([]Accepted{t3})
	assert.NilError(t, err)
	_, _, err = s.Acquire(t.Context(), acceptedKey, text, time.Hour)
	assert.NilError(t, err)
	d := New(s, discard)
	d.Accept(t2)
	assert.NilError(t, d.flush(t.Context()))
	now, err := d.Read(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, describe(now), "a/t=3")
	assert.Equal(t, len(d.accepted), 0)
	d.Accept(t2) // now it has been read
	assert.NilError(t, d.flush(t.Context()))
	d.Accept(t1) // what it has written itself is read, too
	assert.NilError(t, d.flush(t.Context()))
	now, err = d.Read(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, describe(now), "a/t=1")
}

// What is decided elsewhere is followed at once, or a little later if the message is lost. While
// nothing is decided, the store is hardly asked, but the state is applied again and again.
func TestWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &storetest.Counted{Store: new(store.Memory)}
		there := follow(t, s)
		here := New(s, discard)
		var state atomic.Pointer[State]
		var applied atomic.Int32
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			here.Follow(ctx, func(now *State) {
				state.Store(now)
				applied.Add(1)
			})
		}()
		time.Sleep(time.Minute)
		there.Switch("a", true, false)
		synctest.Wait()
		assert.Equal(t, describe(state.Load()), "a=disabled")
		s.Quiet.Store(true)
		there.Switch("a", false, false)
		synctest.Wait()
		assert.Equal(t, describe(state.Load()), "a=disabled")
		time.Sleep(15 * time.Second)
		synctest.Wait()
		assert.Equal(t, describe(state.Load()), "a=as configured")
		l, err := s.Holder(ctx, switchedKey)
		assert.NilError(t, err)
		_, err = s.Release(ctx, switchedKey, l.Fence, 0) // what was removed is put back soon
		assert.NilError(t, err)
		s.Quiet.Store(false)
		assert.NilError(t, store.AppendAndWake(ctx, s, changesKey, []byte("x"), changes))
		time.Sleep(time.Second)
		synctest.Wait()
		now, err := New(s, discard).Read(ctx)
		assert.NilError(t, err)
		assert.Equal(t, describe(now), "a=as configured")
		reads, before := s.Reads.Load(), applied.Load()
		time.Sleep(time.Hour)
		reads = s.Reads.Load() - reads
		assert.Assert(t, reads < 2*3600/10*2, "two gateways read %d times in an hour", reads)
		assert.Assert(t, applied.Load()-before > 3600)
		cancel()
		<-ended
	})
}
