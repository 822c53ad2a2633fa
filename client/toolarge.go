package client

import (
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/framing"
)

// A TooLargeError says that the server has sent a message larger than Options.Limits.MaxFrame. It
// matches [framing.ErrTooLarge]. Over HTTP it fails the call that the message responds to. On a
// stream, that call is unknown, so the connection ends, and a [*LostError] wraps it.
type TooLargeError struct {
	Size  int64 // bytes read
	Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf(
		"the server sent a message of %d bytes or more, over the limit of %d (Options.Limits.MaxFrame)",
		e.Size, e.Limit)
}

func (e *TooLargeError) Is(target error) bool { return target == framing.ErrTooLarge }

// convertReadError converts the error of a frame that is too large into a TooLargeError, which ends
// the connection: otherwise the call that it responds to would wait forever.
func convertReadError(err error) error {
	if frame, ok := errors.AsType[*framing.FrameError](err); ok &&
		frame.Err == framing.ErrTooLarge {
		return &TooLargeError{frame.Size, frame.Limit}
	}
	if lost, ok := errors.AsType[*framing.SyncError](err); ok && lost.Err == framing.ErrTooLarge {
		return &TooLargeError{lost.Size, lost.Limit}
	}
	return err
}
