package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
)

// ErrBusy matches the error of a call for which no memory was left: see [Reserve].
var ErrBusy = errors.New("dispatch: no memory is left for the call")

const reserveTimeout = 10 * time.Second

// Reserve reserves n bytes of the surface's memory limit for the call's principal until the call
// has been answered. An operation calls it before it allocates more than about a megabyte, so that
// many concurrent calls stay within the memory of the program. The surface itself reserves memory
// for the arguments and the encoded answer.
//
// Reserve blocks while too little memory is left, and serves waiting principals in turn. After 10
// seconds it returns a [Timeout] that matches [ErrBusy]; the caller may try again. If n is more
// than one principal may ever hold, Reserve returns an [InvalidInput] at once. Outside of a call,
// and if the surface has no limit, it does nothing.
func Reserve(ctx context.Context, n int64) error {
	account := quota.FromContext(ctx)
	if account == nil {
		return nil
	}
	waitCtx, cancel := context.WithTimeoutCause(ctx, reserveTimeout, ErrBusy)
	defer cancel()
	err := account.Wait(waitCtx, n)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, quota.ErrNever):
		return Errorf(InvalidInput,
			"this takes %d bytes of memory, which is more than one caller may have; ask for less at a time",
			n)
	case errors.Is(err, ErrBusy):
		return Errorf(Timeout,
			"the memory for answers is in use; try again in a moment").withCause(ErrBusy)
	}
	return fmt.Errorf("waiting for memory: %w", err)
}
