package login

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// A link ends after ten minutes, and one user has a share of all.
func TestLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		l := New(NewMemory(), discard)
		_, err := l.link(ctx, Key{"ada", "", "up"}, "app", nil)
		assert.ErrorContains(t, err, "--public-url")
		l.SetBase("https://gw.example/")
		get := func(k Key, scopes ...string) *link {
			t.Helper()
			made, err := l.link(ctx, k, "app", scopes)
			assert.NilError(t, err)
			return made
		}
		find := func(secret string) *link {
			t.Helper()
			k, err := l.find(ctx, secret)
			assert.NilError(t, err)
			return k
		}
		ended := func(k *link, want string) {
			t.Helper()
			why, err := l.await(ctx, k)
			assert.NilError(t, err)
			assert.Check(t, cmp.Contains(why, want))
		}
		up := Key{"ada", "", "up"}
		one := get(up)
		assert.DeepEqual(t, get(up).Secret, one.Secret)
		of := strings.TrimPrefix(l.urlOf(one), "https://gw.example/oauth/start/")
		assert.Equal(t, find(of).Secret, one.Secret)
		scoped := get(up, "write")
		assert.Assert(t, scoped.Secret != one.Secret && find(of) == nil)
		ended(one, "other permissions")
		both := get(up, "admin")
		assert.DeepEqual(t, both.Scopes, []string{"admin", "write"})
		scoped = get(up, "write")
		assert.Equal(t, scoped.Secret, both.Secret)
		revoked := get(Key{"ada", "", "other"})
		assert.NilError(t, l.store.endLink(ctx, revoked.key(), errRevoked))
		ended(revoked, "revoked")
		n := 0
		for err == nil || n == 0 {
			n++
			_, err = l.link(ctx, Key{"eve", fmt.Sprint(n), "up"}, "app", nil)
		}
		assert.Equal(t, n, maxLinksOfUser+1)
		assert.ErrorContains(t, err, "too many logins")
		get(Key{"bob", "", "up"})
		time.Sleep(lifetime + time.Second)
		ended(scoped, "10 minutes")
		assert.Assert(t, find(scoped.Secret) == nil)
		get(Key{"eve", "0", "up"})
		l.Close()
		_, err = l.link(ctx, up, "app", nil)
		assert.ErrorIs(t, err, errClosed)
	})
}

// A link counts in one browser, and what a browser comes back with once, there.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		l := New(NewMemory(), discard)
		defer l.Close()
		l.SetBase("https://gw.example")
		resume := func(state, browser string) (why string, err error) {
			_, why, err = l.resume(ctx, url.Values{"state": {state}}, "state="+state, browser)
			return why, err
		}
		for _, state := range []string{"", "unknown"} {
			_, err := resume(state, "b")
			assert.ErrorIs(t, err, errUnknown)
		}
		for _, browser := range []string{"b", "other"} {
			k, err := l.link(ctx, Key{"ada", "", "up"}, "app", nil)
			assert.NilError(t, err)
			assert.NilError(t, l.store.point(ctx, stateKey("s"), "ada"))
			assert.NilError(t, l.store.editLink(ctx, k, func(k *link) error {
				k.Browser, k.Attempt, k.State = "b", "a", "s"
				return nil
			}))
			if browser != "b" {
				_, err = resume("s", browser)
				assert.ErrorIs(t, err, errTaken)
				_, err = resume("s", "b")
				assert.ErrorIs(t, err, errUnknown)
				continue
			}
			_, err = l.begin(ctx, k, "other")
			assert.ErrorIs(t, err, errTaken)
			a := &attempt{id: "a", response: make(chan string, 1), done: make(chan struct{})}
			var own context.Context
			own, a.cancel = context.WithCancelCause(ctx)
			watched := make(chan struct{})
			go func() {
				defer close(watched)
				l.watch(own, k, a)
			}()
			go func() {
				assert.Check(t, cmp.Equal(<-a.response, "state=s"))
				_, err := resume("s", "b")
				assert.ErrorIs(t, err, errUnknown)
				assert.Check(t, l.store.endLink(ctx, k.key(), nil))
			}()
			why, err := resume("s", "b")
			assert.NilError(t, err)
			assert.Equal(t, why, "")
			<-watched
			assert.ErrorContains(t, context.Cause(own), "valid no more")
		}
	})
}
