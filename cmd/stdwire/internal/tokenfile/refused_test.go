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
		adas, err := v.Admit(ada, nil)
		assert.NilError(t, err)
		again, err := v.Admit(ada, nil)
		assert.NilError(t, err)
		assert.Equal(t, adas, again)
		bobs, err := v.Admit(bob, nil)
		assert.NilError(t, err)
		for _, r := range []Refusal{{ada, time.Now().Add(time.Hour)},
			{"as#other", time.Now().Add(time.Minute)}} {
			assert.NilError(t, Refuse(t.Context(), path, r))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		assert.ErrorIs(t, context.Cause(adas), ErrRefused)
		assert.NilError(t, bobs.Err())
		_, err = v.Admit(ada, nil)
		assert.ErrorIs(t, err, ErrRefused)
		assert.Assert(t, v.Find(secret) != nil, "the token is another caller's")
		time.Sleep(time.Hour)
		_, err = v.Admit(ada, nil)
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

// The callers who are admitted are bounded: of too many, the one who has not called for the longest
// time has to come in again.
func TestAdmittedBounds(t *testing.T) {
	v := newVerifier()
	defer v.Close()
	var all []context.Context
	admit := func(i int) {
		ended, err := v.Admit(fmt.Sprint(i), nil)
		assert.NilError(t, err)
		all = append(all, ended)
	}
	for i := range maxAdmitted {
		admit(i)
	}
	admit(0)
	admit(maxAdmitted)
	assert.Equal(t, len(v.admitted.byCaller), maxAdmitted)
	assert.Equal(t, v.admitted.order.Len(), maxAdmitted)
	for i, ended := range all {
		assert.Equal(t, ended.Err() != nil, i == 1, "%d", i)
	}
}

// What a caller has opened ends with his credentials, too, and a refusal ends it whatever they are.
func TestAdmittedWithCredentials(t *testing.T) {
	v := newVerifier()
	defer v.Close()
	a, endA := context.WithCancelCause(t.Context())
	b, endB := context.WithCancelCause(t.Context())
	defer endB(nil)
	withA, err := v.Admit("as#ada", a)
	assert.NilError(t, err)
	withB, err := v.Admit("as#ada", b)
	assert.NilError(t, err)
	endA(ErrExpired)
	assert.ErrorIs(t, context.Cause(withA), ErrExpired)
	assert.NilError(t, withB.Err())
	v.refuse([]Refusal{{"as#ada", time.Now().Add(time.Hour)}})
	assert.ErrorIs(t, context.Cause(withB), ErrRefused)
	assert.NilError(t, b.Err())
	assert.Equal(t, len(v.admitted.byCaller), 0)
}
