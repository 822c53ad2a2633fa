package login

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/internal/store/storetest"
)

func shares(t *testing.T, s store.Store) *Store {
	t.Helper()
	made, err := NewShared(s, secret)
	assert.NilError(t, err)
	return made
}

// What one gateway stores, the others have, and what one changes or deletes, the others notice.
func TestShared(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s store.Store) {
		here, there := shares(t, s), shares(t, s)
		k := Key{"ada", "app", "up"}
		gone := func(want map[Key]bool, begun ...Key) {
			t.Helper()
			got, err := here.follow(t.Context())
			assert.NilError(t, err)
			assert.DeepEqual(t, got, want)
			assert.DeepEqual(t, here.takeBegun(), begun)
		}
		none := map[Key]bool{}
		gone(none)
		assert.Assert(t, !has(t, here, k))
		ofThere := &account{s: there, key: k, create: true}
		assert.NilError(t, ofThere.Put(credentials("one")))
		gone(none, k)
		assert.Assert(t, has(t, here, k))
		assert.Assert(t, !has(t, here, Key{"ada", "other", "up"}))
		found, err := (&account{s: here, key: k}).Find("https://s.example/mcp?key=hidden")
		assert.NilError(t, err)
		assert.Equal(t, found[0].AccessToken, "one")
		ofThere.create = false
		assert.NilError(t, ofThere.Put(credentials("two")))
		gone(none)
		ofThere.create = true
		assert.NilError(t, ofThere.Put(credentials("three")))
		gone(map[Key]bool{k: true})
		assert.NilError(t, (&account{s: here, key: k}).Put(credentials("four")))
		gone(none)
		assert.NilError(t, ofThere.drop("three")) // which is not what is there
		gone(none)
		assert.NilError(t, ofThere.drop("four"))
		gone(map[Key]bool{k: true})
		assert.ErrorContains(t, (&account{s: here, key: k}).Put(credentials("five")), "revoked")

		// what this process had asked for before others changed it
		assert.NilError(t, ofThere.Put(credentials("six")))
		assert.Assert(t, has(t, here, k))
		unrevoked, err := there.Revoke(t.Context(), k, func() auth.Options {
			return auth.Options{Name: "test"}
		})
		assert.NilError(t, err)
		assert.Assert(t, unrevoked != nil, "there is no server")
		gone(map[Key]bool{k: true})
		assert.Assert(t, !has(t, here, k))

		for i := range 100 {
			a := &account{s: here, key: Key{fmt.Sprint("user ", i%40), fmt.Sprint(i), "up"}, create: true}
			assert.NilError(t, a.Put(credentials("t")))
		}
		all, err := there.All(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, len(all), 100)
		for i := range maxOfUser + 5 {
			a := &account{s: here, key: Key{"bob", fmt.Sprint(i), "up"}, create: true}
			assert.NilError(t, a.Put(credentials("t")))
		}
		all, err = there.All(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, len(all), 100+maxOfUser)

		other, err := NewShared(s, []byte(strings.Repeat("x", MinKey)))
		assert.NilError(t, err)
		_, err = other.find(t.Context(), Key{"bob", fmt.Sprint(maxOfUser), "up"})
		assert.ErrorIs(t, err, ErrKey)
	})
}

// What the store has of one user and cannot be read, because it is damaged or newer, takes away his
// logins and those of nobody else.
func TestUnreadableRowsOfOneUser(t *testing.T) {
	damage := map[string]func(store.Store) error{
		"unknown member": func(s store.Store) error {
			return store.Update(t.Context(), s, rowsKey("ada"),
				func([]byte) ([]byte, time.Duration, error) {
					return []byte(`{"logins":[],"newer":1}`), time.Hour, nil
				})
		},
		"no JSON": func(s store.Store) error {
			return store.Update(t.Context(), s, rowsKey("ada"),
				func([]byte) ([]byte, time.Duration, error) { return []byte("x"), time.Hour, nil })
		},
		"forged": func(s store.Store) error {
			s.(*forging).key = rowsKey("ada")
			return nil
		},
	}
	for name, damage := range damage {
		t.Run(name, func(t *testing.T) {
			m := &forging{Store: new(store.Memory)}
			s := shares(t, m)
			ada, bob := Key{"ada", "", "up"}, Key{"bob", "", "up"}
			for _, k := range []Key{ada, bob} {
				assert.NilError(t, (&account{s: s, key: k, create: true}).Put(credentials("t")))
			}
			assert.NilError(t, damage(m))
			_, err := m.Append(t.Context(), changesKey, []byte("ada"), changes)
			assert.NilError(t, err)
			gone, err := s.follow(t.Context())
			assert.ErrorIs(t, err, ErrUnreadable)
			assert.ErrorContains(t, err, `"ada"`)
			assert.DeepEqual(t, gone, map[Key]bool{ada: true})
			assert.NilError(t, s.Failure())
			gone, err = s.follow(t.Context())
			assert.NilError(t, err)
			assert.Equal(t, len(gone), 0)
			assert.Assert(t, has(t, s, bob))
			_, err = s.has(t.Context(), ada)
			assert.Assert(t, err != nil && !errors.Is(err, errUnusable), "%v", err)
			l := New(s, discard)
			defer l.Close()
			l.SetBase("https://gw.example")
			why, err := l.ask(t.Context(), ada, nil) // what he is granted could not be stored
			assert.NilError(t, err)
			assert.Assert(t, why != "" && !strings.Contains(why, "https://gw.example"), why)
			all, err := s.All(t.Context())
			assert.ErrorIs(t, err, ErrUnreadable)
			assert.Equal(t, len(all), 1)
			assert.Equal(t, all[0].User, "bob")
		})
	}
}

// A forging store has one value that was not written with its secret.
type forging struct {
	store.Store
	key string
}

func (s *forging) Holder(ctx context.Context, key string) (store.Lease, error) {
	if key == s.key {
		return store.Lease{}, store.ErrForged
	}
	return s.Store.Holder(ctx, key)
}

// A login that was renewed is stored also while the index of users cannot be read.
func TestUnreadableIndex(t *testing.T) {
	m := &forging{Store: new(store.Memory)}
	s := shares(t, m)
	a := &account{s: s, key: Key{"ada", "", "up"}, create: true}
	assert.NilError(t, a.Put(credentials("one")))
	m.key = partKey(partOf("ada"))
	assert.ErrorIs(t, a.Put(credentials("two")), store.ErrForged)
	a = &account{s: s, key: a.key}
	assert.NilError(t, a.Put(credentials("three")))
	c, err := s.find(t.Context(), a.key)
	assert.NilError(t, err)
	assert.Equal(t, c.AccessToken, "three")
}

// An authorization server that does not answer, so that a login stays locked, holds up no other
// login.
func TestLocksOfLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, s := range []*Store{NewMemory(), shares(t, new(store.Memory))} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var unlocks []func()
			for i := range 100 {
				unlock, err := s.lock(ctx, Key{fmt.Sprint(i), "", "up"})
				assert.NilError(t, err)
				unlocks = append(unlocks, unlock)
			}
			_, err := s.lock(ctx, Key{"7", "", "up"})
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			for _, unlock := range unlocks {
				unlock()
			}
			assert.Equal(t, len(s.locks), 0)
		}
	})
}

// A login that replaces another one is noticed, also if the clock has not moved between them.
func TestLoginsOfOneInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(store.Memory)
		here, there := shares(t, s), shares(t, s)
		k := Key{"ada", "app", "up"}
		first, second := credentials("one"), credentials("two")
		second.Saved = first.Saved
		assert.NilError(t, (&account{s: there, key: k, create: true}).Put(first))
		assert.Assert(t, has(t, here, k))
		assert.NilError(t, (&account{s: there, key: k, create: true}).Put(second))
		gone, err := here.follow(t.Context())
		assert.NilError(t, err)
		assert.DeepEqual(t, gone, map[Key]bool{k: true})
	})
}

// The first logins are found without reading those of all users, and what was read is returned
// although the store fails meanwhile.
func TestFirst(t *testing.T) {
	m := &limited{Store: new(store.Memory)}
	m.left.Store(1 << 20)
	s := shares(t, m)
	for i := range 30 {
		for _, server := range []string{"a", "b"} {
			k := Key{fmt.Sprintf("user %02d", i), "", server}
			assert.NilError(t, (&account{s: s, key: k, create: true}).Put(credentials("t")))
		}
	}
	l := New(s, discard)
	defer l.Close()
	for _, c := range []struct {
		reads    int64 // of users
		n        int
		want     int
		more     int
		unusable bool
	}{
		{reads: 5, n: 10, want: 10, more: 25},
		{reads: 5, n: 9, want: 9, more: 26},
		{reads: 4, n: 10, want: 8, more: 26, unusable: true},
		{reads: 0, n: 10, more: 30, unusable: true},
		{reads: 30, n: 60, want: 60},
		{reads: 30, n: 100, want: 60},
	} {
		m.left.Store(maxParts + c.reads)
		first, more, err := l.First(t.Context(), c.n)
		assert.Equal(t, errors.Is(err, errUnusable), c.unusable, "%v", err)
		assert.Equal(t, len(first), c.want)
		assert.Equal(t, more, c.more)
		for i, login := range first {
			want := Key{fmt.Sprintf("user %02d", i/2), "", []string{"a", "b"}[i%2]}
			assert.Equal(t, login.Key(), want)
		}
	}
	m.left.Store(1)
	there, err := l.Keeps(t.Context(), Key{"user 29", "", "b"})
	assert.NilError(t, err)
	assert.Assert(t, there)
	m.left.Store(1)
	there, err = l.Keeps(t.Context(), Key{"user 29", "", "c"})
	assert.NilError(t, err)
	assert.Assert(t, !there)
}

// A limited store answers so many reads.
type limited struct {
	store.Store
	left atomic.Int64
}

func (s *limited) Holder(ctx context.Context, key string) (store.Lease, error) {
	if s.left.Add(-1) < 0 {
		return store.Lease{}, redis.ErrUnavailable
	}
	return s.Store.Holder(ctx, key)
}

// A login that makes room for another one is reported once, although the store fails after it has
// done what it was asked for, and so are tokens that replace those of a login which was removed.
func TestOrphanedAtFailingStore(t *testing.T) {
	for name, fail := range map[string]func(*failing){
		"no failure": func(*failing) {},
		"log":        func(f *failing) { f.appends.Store(2) },
		"answer":     func(f *failing) { f.replaces.Store(1) },
		"both":       func(f *failing) { f.replaces.Store(1); f.appends.Store(1) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &failing{Store: new(store.Memory)}
				s := shares(t, f)
				var orphaned []string
				s.orphaned = func(k Key, c *auth.Credentials) {
					orphaned = append(orphaned, k.Client+" "+c.AccessToken)
				}
				put := func(client, token string, create bool) error {
					time.Sleep(time.Second)
					a := &account{s: s, key: Key{"ada", client, "up"}, create: create}
					return a.Put(credentials(token))
				}
				for i := range maxOfUser {
					assert.NilError(t, put(fmt.Sprint(i), "t", true))
				}
				assert.Equal(t, len(orphaned), 0)
				fail(f)
				assert.NilError(t, put("new", "t", true))
				assert.DeepEqual(t, orphaned, []string{"0 t"})
				fail(f)
				assert.NilError(t, put("1", "t", true))
				assert.NilError(t, put("2", "t", false))
				assert.DeepEqual(t, orphaned, []string{"0 t"})
				assert.ErrorIs(t, put("0", "renewed", false), errRemoved)
				assert.DeepEqual(t, orphaned, []string{"0 t", "0 renewed"})
			})
		})
	}
}

// A failing store says that it has failed when it has not, so many times.
type failing struct {
	store.Store
	appends, replaces atomic.Int64
}

func (f *failing) Append(ctx context.Context, key string, event []byte, b store.LogBounds) (int64,
	error) {
	n, err := f.Store.Append(ctx, key, event, b)
	if f.appends.Add(-1) >= 0 {
		err = redis.ErrUnknown
	}
	return n, err
}

func (f *failing) Replace(ctx context.Context, key string, fence int64, data []byte,
	ttl time.Duration) (store.Lease, bool, error) {
	l, replaced, err := f.Store.Replace(ctx, key, fence, data, ttl)
	if strings.HasPrefix(key, "logins of") && f.replaces.Add(-1) >= 0 {
		err = redis.ErrUnknown
	}
	return l, replaced, err
}

// Before orphaned tokens are revoked, a renewal that another gateway has begun with them ends.
func TestOrphanedAfterRenewal(t *testing.T) {
	m := &watched{Store: new(store.Memory), acquires: make(chan struct{}, 1)}
	here, there := shares(t, m), shares(t, m.Store)
	k := Key{"ada", "", "up"}
	var ended, early atomic.Bool
	asked := make(chan struct{}, 10)
	as := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		early.Store(early.Load() || !ended.Load())
		asked <- struct{}{}
		http.NotFound(w, nil)
	}))
	defer as.Close()
	l := New(here, discard)
	defer l.Close()
	l.Server("up", func() (*config.Endpoint, *tls.Config, error) {
		return &config.Endpoint{URL: as.URL + "/mcp"}, nil, nil
	})
	unlock, err := there.lock(t.Context(), k)
	assert.NilError(t, err)
	c := credentials("t")
	c.Endpoint, c.Issuer = as.URL+"/mcp", as.URL
	l.revokeOrphaned(k, &c)
	select {
	case <-m.acquires:
	case <-asked:
	}
	ended.Store(true)
	unlock()
	<-asked
	assert.Assert(t, !early.Load())
}

// A watched store tells when somebody wants a lease.
type watched struct {
	store.Store
	acquires chan struct{}
}

func (s *watched) Acquire(ctx context.Context, key string, data []byte, ttl time.Duration) (
	store.Lease, bool, error) {
	select {
	case s.acquires <- struct{}{}:
	default:
	}
	return s.Store.Acquire(ctx, key, data, ttl)
}

// Of gateways that renew a login at the same time, one does, and the others use what it got. Of
// changes at the same time none is lost.
func TestSharedRenewal(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s store.Store) {
		k := Key{"ada", "", "up"}
		const n = 6
		var gateways [n]*Store
		for i := range gateways {
			gateways[i] = shares(t, s)
		}
		assert.NilError(t, (&account{s: gateways[0], key: k, create: true}).Put(credentials("0")))
		var holders, renewals atomic.Int64
		var all sync.WaitGroup
		for i, g := range gateways {
			all.Go(func() {
				a := &account{s: g, key: k}
				unlock, err := a.Lock(t.Context(), auth.Key{})
				if !assert.Check(t, err) {
					return
				}
				defer unlock()
				assert.Check(t, cmp.Equal(holders.Add(1), int64(1)))
				defer holders.Add(-1)
				found, err := a.Find("https://s.example/mcp?key=hidden")
				if assert.Check(t, err) && found[0].AccessToken == "0" {
					renewals.Add(1)
					assert.Check(t, a.Put(credentials("1")))
				}
			})
			all.Go(func() {
				a := &account{s: g, key: Key{"ada", fmt.Sprint(i), "other"}, create: true}
				assert.Check(t, a.Put(credentials("t")))
			})
		}
		all.Wait()
		assert.Equal(t, renewals.Load(), int64(1))
		logins, err := gateways[0].All(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, len(logins), n+1)

		unlock, err := gateways[0].lock(t.Context(), k)
		assert.NilError(t, err)
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("he left"))
		_, err = gateways[1].lock(ended, k)
		assert.ErrorContains(t, err, "he left")
		unlock()
		unlock, err = gateways[1].lock(t.Context(), k)
		assert.NilError(t, err)
		unlock()
	})
}

// While the store is down nobody has a login, which is an error that says to try again, and not
// that nobody has logged in; what was granted meanwhile is stored when it is back. An empty store
// has none.
func TestStoreOfLoginsDown(t *testing.T) {
	server := redistest.Start(t)
	s := shares(t, storetest.On(t, server))
	l := New(s, discard)
	defer l.Close()
	l.SetBase("https://gw.example")
	k := Key{"ada", "", "up"}
	a := &account{s: s, key: k, create: true}
	assert.NilError(t, a.Put(credentials("one")))
	server.Kill()
	_, err := s.has(t.Context(), k)
	assert.ErrorIs(t, err, errUnusable)
	_, err = s.follow(t.Context())
	assert.ErrorIs(t, err, errUnusable)
	assert.ErrorIs(t, s.Failure(), errUnusable)
	_, err = l.link(t.Context(), k, "app", nil)
	assert.ErrorIs(t, err, errUnusable)
	stored := make(chan error, 1)
	go func() { stored <- a.Put(credentials("two")) }()
	server.Restart()
	assert.NilError(t, <-stored)
	eventually.True(t, "the store is used again", func() bool {
		_, _ = s.follow(t.Context())
		return s.Failure() == nil
	})
	c, err := s.find(t.Context(), k)
	assert.NilError(t, err)
	assert.Equal(t, c.AccessToken, "two")
	server.Kill()
	server.Restart()
	eventually.True(t, "the login is gone", func() bool {
		gone, _ := s.follow(t.Context())
		return gone[k]
	})
	assert.Assert(t, !has(t, s, k))
}

// That a login was revoked elsewhere is noticed at once, or a little later if the message is lost,
// and its end when it comes. While nothing happens, the store is hardly asked.
func TestFollowIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &storetest.Counted{Store: new(store.Memory)}
		here, there := shares(t, s), shares(t, s)
		events := make(chan string, 10)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			here.Follow(ctx, func() bool { return true },
				func(k Key) { events <- "begun " + k.User },
				func(k Key, revoked bool) { events <- fmt.Sprint("ended ", k.User, revoked) },
				func(err error) { t.Error(err) })
		}()
		next := func(want string, within time.Duration) {
			t.Helper()
			begun := time.Now()
			assert.Equal(t, <-events, want)
			assert.Assert(t, time.Since(begun) <= within, time.Since(begun))
		}
		ada, bob := Key{"ada", "", "up"}, Key{"bob", "", "up"}
		put := func(k Key, of auth.Credentials) {
			assert.NilError(t, (&account{s: there, key: k, create: true}).Put(of))
		}
		assert.Assert(t, !has(t, here, ada) && !has(t, here, bob))
		time.Sleep(time.Minute)
		put(ada, credentials("one"))
		next("begun ada", 0)
		assert.NilError(t, (&account{s: there, key: ada}).drop("one"))
		next("ended adatrue", 0)
		s.Quiet.Store(true)
		short := credentials("two")
		short.RefreshToken, short.Expires = "", time.Now().Add(time.Hour)
		put(bob, short)
		next("begun bob", 15*time.Second)
		reads := s.Reads.Load()
		next("ended bobfalse", time.Hour+followInterval)
		reads = s.Reads.Load() - reads
		assert.Assert(t, reads < 2*3600/10, "%d times in an hour", reads)
		cancel()
		<-ended
	})
}
