package host

import (
	"errors"
	"fmt"
	"time"
)

// ErrUnknown matches the error for a server that there is not.
var ErrUnknown = errors.New("there is no such server")

// ErrDisabled matches the error of a use of a server that is disabled.
var ErrDisabled = errors.New("the server is disabled")

// ErrSessions matches the error of a use of a server with PerSession, as many sessions of which have a client as may.
var ErrSessions = errors.New("too many sessions have a server of their own")

// ErrClosed matches the error of a use of a [Manager] that is closed.
var ErrClosed = errors.New("the host is closed")

// An UnavailableError says that a server cannot be used now, because it has failed. It wraps why: a [*client.StartError] or a [*client.LostError].
type UnavailableError struct {
	ID    string
	Retry time.Duration // until it is started again
	Err   error
}

func (e *UnavailableError) Error() string {
	text := fmt.Sprintf("server %q is not available: %v", e.ID, e.Err)
	if e.Retry > 0 {
		text += fmt.Sprintf("; it is started again in %s", max(time.Second, e.Retry.Round(time.Second)))
	}
	return text
}
func (e *UnavailableError) Unwrap() error { return e.Err }

func about(id string, err error) error { return fmt.Errorf("server %q: %w", id, err) }
