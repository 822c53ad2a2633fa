package client

import (
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/framing"
)

// A TooLargeError says that the server has sent a message that is larger than
// Options.Limits.MaxFrame allows. It matches [framing.ErrTooLarge]. Over HTTP it costs the call
// that the message was to answer. On a stream nobody knows which call that was, so it ends the
// connection, and a [*LostError] wraps it.
type TooLargeError struct {
	Size  int64 // in bytes, as far as the message was read
	Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the server sent a message of %d bytes or more, over the limit of %d (Options.Limits.MaxFrame)", e.Size, e.Limit)
}

func (e *TooLargeError) Is(target error) bool { return target == framing.ErrTooLarge }

// received makes of an error of reading a frame the one that ends the connection: that of a frame
// which is too large ends it, as the call that it was to answer would wait in vain.
func convertReadError(err error) error {
	if frame, ok := errors.AsType[*framing.FrameError](err); ok && frame.Err == framing.ErrTooLarge {
		return &TooLargeError{frame.Size, frame.Limit}
	}
	if lost, ok := errors.AsType[*framing.SyncError](err); ok && lost.Err == framing.ErrTooLarge {
		return &TooLargeError{lost.Size, lost.Limit}
	}
	return err
}
