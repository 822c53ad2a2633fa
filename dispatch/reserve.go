package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stdwire/stdwire/dispatch/quota"
)

// ErrBusy is matched by the error of a call that found no memory: see [Reserve].
var ErrBusy = errors.New("dispatch: no memory is left for the call")

const reserveWithin = 10 * time.Second

// Reserve takes n bytes from the memory that the surface has for its callers, in the name of the
// call's principal, and keeps them until the call has been answered. An operation calls it before
// it allocates much, from about a megabyte on, so that many calls at once stay within the memory of
// the program. What the surface itself holds, the arguments and the encoded answer, it takes
// itself.
//
// Reserve blocks while others hold too much, for up to 10 seconds; principals that wait are served
// in turn. Then it returns a [Timeout] that matches [ErrBusy], which the caller may try again. If n
// is more than one principal may ever have, it returns an [InvalidInput] at once. Outside of a
// call, and where the surface has no limit, it does nothing.
func Reserve(ctx context.Context, n int64) error {
	account := quota.FromContext(ctx)
	if account == nil {
		return nil
	}
	within, cancel := context.WithTimeoutCause(ctx, reserveWithin, ErrBusy)
	defer cancel()
	err := account.Wait(within, n)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, quota.ErrNever):
		return Errorf(InvalidInput,
			"this takes %d bytes of memory, which is more than one caller may have; ask for less at a time",
			n)
	case errors.Is(err, ErrBusy):
		return Errorf(Timeout,
			"the memory for answers is in use; try again in a moment").because(ErrBusy)
	}
	return fmt.Errorf("waiting for memory: %w", err)
}
