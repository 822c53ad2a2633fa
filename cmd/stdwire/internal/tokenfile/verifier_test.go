package tokenfile

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/lockedbuffer"
)

// A verifier follows its file. What has not changed stays as it is, and what has ends, within a
// second and without a request.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "tokens.json")
		var log lockedbuffer.Buffer
		open := func() (*Verifier, error) {
			return File(path, slog.New(slog.NewTextHandler(&log, nil))).Open()
		}
		_, err := open()
		assert.ErrorIs(t, err, os.ErrNotExist)
		write := func(tokens ...Token) {
			t.Helper()
			content, err := encode(Content{Tokens: tokens})
			assert.NilError(t, err)
			assert.NilError(t, os.WriteFile(path, content, 0o600))
		}
		ada, adas := New("ada", time.Now())
		bob, bobs := New("bob", time.Now())
		carol, carols := New("carol", time.Now())
		bob.Expires = time.Now().Add(time.Minute).UTC()
		ada.Groups, ada.Scopes = []string{"g"}, []string{"s"}
		ada.Claims = map[string]json.RawMessage{"x": json.RawMessage(`{"y":[1 ]}`)} // laid out anew
		write(ada, bob, carol)
		v, err := open()
		assert.NilError(t, err)
		defer v.Close()
		ctx, stop := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { v.Follow(ctx) })
		defer following.Wait()
		defer stop()

		a, b, c := v.Find(adas), v.Find(bobs), v.Find(carols)
		assert.Equal(t, a.Principal(), "token#ada")
		assert.DeepEqual(t, a.Identity.Groups, []string{"g"})
		assert.DeepEqual(t, a.Identity.Scopes, []string{"s"})
		assert.Assert(t, b.Identity.Expires.Equal(bob.Expires))
		for _, wrong := range []string{"", adas + "x", strings.ToUpper(adas), adas[:20],
			digestOf(adas)} {
			assert.Assert(t, v.Find(wrong) == nil, wrong)
		}

		// an unrelated change, and one of what a token may do
		carol.Groups = []string{"other"}
		write(bob, carol, ada)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.NilError(t, a.Ended.Err())
		assert.NilError(t, b.Ended.Err())
		assert.ErrorIs(t, context.Cause(c.Ended), ErrRevoked)
		assert.Assert(t, v.Find(adas) == a)
		assert.DeepEqual(t, v.Find(carols).Identity.Groups, []string{"other"})

		// an invalid file changes nothing
		for _, content := range []string{"{", `{"tokens":[],"x":1}`} {
			assert.NilError(t, os.WriteFile(path, []byte(content), 0o600))
			time.Sleep(time.Second)
			synctest.Wait()
			assert.Assert(t, v.Find(adas) == a && a.Ended.Err() == nil)
		}
		assert.Assert(t, strings.Contains(log.String(), "the last one stays in use"), log.String())
		assert.Assert(t, !strings.Contains(log.String(), adas))

		write(bob)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.ErrorIs(t, context.Cause(a.Ended), ErrRevoked)
		assert.Assert(t, v.Find(adas) == nil)
		assert.NilError(t, b.Ended.Err())

		time.Sleep(time.Until(bob.Expires) - time.Nanosecond)
		synctest.Wait()
		assert.Assert(t, v.Find(bobs) == b && b.Ended.Err() == nil)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.ErrorIs(t, context.Cause(b.Ended), ErrExpired)
		assert.Assert(t, v.Find(bobs) == nil)

		// a name that comes back is another token
		again, agains := New("ada", time.Now())
		write(again)
		time.Sleep(time.Second)
		synctest.Wait()
		found := v.Find(agains)
		assert.Equal(t, found.Principal(), "token#ada")
		v.Close()
		assert.Assert(t, found.Ended.Err() != nil)
	})
}

func TestSingle(t *testing.T) {
	v := Single("0123456789abcdef")
	defer v.Close()
	v.Follow(t.Context()) // there is nothing to follow
	c := v.Find("0123456789abcdef")
	assert.Equal(t, c.Principal(), "token")
	assert.Assert(t, c.Identity == nil && c.Ended.Err() == nil)
	assert.Assert(t, v.Find("0123456789abcdeg") == nil && v.Find("") == nil)
}

func BenchmarkFind(b *testing.B) {
	all := make([]Token, 0, 1000)
	for range 1000 {
		t, _ := New("x", time.Now())
		all = append(all, t)
	}
	t, secret := New("y", time.Now())
	v := newVerifier()
	defer v.Close()
	v.replace(append(all, t))
	for b.Loop() {
		if v.Find(secret) == nil {
			b.Fatal("not found")
		}
	}
}
