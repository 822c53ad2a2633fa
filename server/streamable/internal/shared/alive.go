package shared

import (
	"context"
	"time"

	"github.com/stdwire/stdwire/internal/store"
)

// A replica says every now and then that it runs, and at its end that it does not, so that those
// who wait for it learn when it is lost.
const (
	aliveInterval = 5 * time.Second
	aliveLife     = 15 * time.Second
)

func (s *Sessions) aliveKey(id string) string { return s.Part + "alive/" + id }

// alive says that this replica runs. If that fails, it is said again a little later.
func (e *Events) alive(ctx context.Context) {
	ctx, end := e.s.use(ctx)
	_, err := e.s.Store.Put(ctx, e.s.aliveKey(e.replica), []byte("runs"), store.Always, aliveLife)
	end(err)
}

// leave says that this replica has ended.
func (e *Events) leave(ctx context.Context) {
	ctx, end := e.s.use(ctx)
	_, err := e.s.Store.Put(ctx, e.s.aliveKey(e.replica), nil, store.Always, e.s.life())
	end(err)
}

// A watch decides whether a replica is lost. A store that was emptied does not have it either, so
// it is lost only when it has been missing for as long as it may be silent.
type watch struct {
	missing time.Time // since when; zero: it was there
}

// lost looks at a replica.
func (w *watch) lost(ctx context.Context, s *Sessions, id string) (lost bool, err error) {
	ctx, end := s.use(ctx)
	said, err := s.Store.Get(ctx, s.aliveKey(id))
	end(err)
	switch {
	case err != nil || len(said) > 0:
		w.missing = time.Time{}
		return false, err
	case said != nil: // it has said that it ends
		return true, nil
	case w.missing.IsZero():
		w.missing = time.Now()
	}
	return time.Since(w.missing) >= aliveLife, nil
}
