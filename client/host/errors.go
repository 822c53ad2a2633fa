package host

import (
	"errors"
	"fmt"
	"time"
)

// ErrUnknown matches the error of a call that names a server the [Manager] does not have.
var ErrUnknown = errors.New("there is no such server")

// ErrDisabled matches the error of using a disabled server.
var ErrDisabled = errors.New("the server is disabled")

// ErrTooManySessions matches the error of using a server that is not Shared for a further session
// or user, if it already has MaxSessions of them.
var ErrTooManySessions = errors.New("too many sessions have a server of their own")

// ErrClosed matches the error of using a closed [Manager].
var ErrClosed = errors.New("the host is closed")

// An UnavailableError reports that a server has failed and cannot be used now. It wraps the cause:
// a [*client.StartError] or a [*client.LostError].
type UnavailableError struct {
	ID         string
	RetryAfter time.Duration // the time until the restart
	Err        error         // the last failure
}

func (e *UnavailableError) Error() string {
	text := fmt.Sprintf("server %q is not available: %v", e.ID, e.Err)
	if e.RetryAfter > 0 {
		text += fmt.Sprintf("; it restarts in %s",
			max(time.Second, e.RetryAfter.Round(time.Second)))
	}
	return text
}
func (e *UnavailableError) Unwrap() error { return e.Err }

// serverError adds the ID of a server to an error.
func serverError(id string, err error) error { return fmt.Errorf("server %q: %w", id, err) }
