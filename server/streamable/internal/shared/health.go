package shared

import (
	"errors"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/store"
)

// IsUnreachable reports whether a use of the store has failed because there is no connection, or
// none that is fast enough, so that others would fail as well.
func IsUnreachable(err error) bool { return errors.Is(err, redis.ErrUnavailable) }

// A Health says whether a store does what is asked of it: one that can be reached may be full, too
// slow, or forbid something. Its methods are safe for concurrent use, and do nothing for nil.
type Health struct {
	mu     sync.Mutex
	why    error // of the last failure
	failed time.Time
	fails  bool // nothing has succeeded since
}

// memory is how long a failure counts although something else has succeeded: a store may refuse
// some commands only.
const memory = 10 * time.Second

// note notes the result of a use of the store. Errors about what a store has, and not about the
// store, say nothing.
func (h *Health) note(err error) {
	if h == nil {
		return
	}
	for _, about := range []error{ErrEmptied, ErrGone, store.ErrTooLarge, errContended,
		errLeaseLost, errTask} {
		if errors.Is(err, about) {
			return
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fails = err != nil; h.fails {
		h.why, h.failed = err, time.Now()
	}
}

// Failure returns why the store could not be used the last time or a few seconds ago, or nil.
func (h *Health) Failure() error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fails || h.why != nil && time.Since(h.failed) < memory {
		return h.why
	}
	return nil
}
