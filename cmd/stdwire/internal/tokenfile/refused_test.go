package tokenfile

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// A principal who is refused loses what he has within a second, and comes in no more until his
// tokens have expired; nobody else is concerned.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "tokens.json")
		const ada, bob = "https://as.example#ada", "https://as.example#bob"
		named, secret := New("ada", time.Now())
		assert.NilError(t, Add(t.Context(), path, named))
		v, err := File(path, slog.New(slog.DiscardHandler)).Open()
		assert.NilError(t, err)
		defer v.Close()
		ctx, stop := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { v.Follow(ctx) })
		defer following.Wait()
		defer stop()
		adas, err := v.Admit(ada)
		assert.NilError(t, err)
		again, err := v.Admit(ada)
		assert.NilError(t, err)
		assert.Equal(t, adas, again)
		bobs, err := v.Admit(bob)
		assert.NilError(t, err)
		for _, r := range []Refusal{{ada, time.Now().Add(time.Hour)},
			{"as#other", time.Now().Add(time.Minute)}} {
			assert.NilError(t, Refuse(t.Context(), path, r))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		assert.ErrorIs(t, context.Cause(adas), ErrRefused)
		assert.NilError(t, bobs.Err())
		_, err = v.Admit(ada)
		assert.ErrorIs(t, err, ErrRefused)
		assert.Assert(t, v.Find(secret) != nil, "the token is another caller's")
		time.Sleep(time.Hour)
		_, err = v.Admit(ada)
		assert.NilError(t, err)

		// it is replaced, and what has ended is not kept
		assert.NilError(t, Refuse(t.Context(), path, Refusal{ada, time.Now().Add(time.Hour)}))
		c, err := Read(path)
		assert.NilError(t, err)
		assert.Equal(t, len(c.Refused), 1)
		assert.Equal(t, len(c.Tokens), 1)
		assert.ErrorContains(t, Refuse(t.Context(), path, Refusal{"token#ada", time.Now()}),
			`revoke "ada"`)
	})
}

// The principals that are admitted are bounded; of too many, one has to come in again.
func TestAdmittedBounds(t *testing.T) {
	v := newVerifier()
	defer v.Close()
	var all []context.Context
	for i := range maxAdmitted + 1 {
		ended, err := v.Admit(fmt.Sprint(i))
		assert.NilError(t, err)
		all = append(all, ended)
	}
	assert.Equal(t, len(v.admitted), maxAdmitted)
	over := 0
	for _, ended := range all {
		if ended.Err() != nil {
			over++
		}
	}
	assert.Equal(t, over, 1)
	assert.NilError(t, all[maxAdmitted].Err())
}
