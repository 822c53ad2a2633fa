package framing

import (
	"errors"
	"fmt"
	"strconv"
)

// What a [FrameError] can be about. Test with errors.Is.
var (
	// ErrTooLarge: the payload is larger than Limits.MaxFrame, or MaxAppend. Read and append. A
	// [SyncError] may be about it, too.
	ErrTooLarge = errors.New("frame too large")
	// ErrEmpty: the payload has no byte, or for [Newline] none but white space, which would
	// read as a blank line. Read (ContentLength only, as Newline skips blank lines) and append.
	ErrEmpty = errors.New("frame is empty")
	// ErrLineBreak: the payload of a newline frame contains LF or CR. Append only.
	ErrLineBreak = errors.New("line break in a newline frame")
)

// A FrameError is about one frame only. On reading, the frame has been skipped and the stream
// stands at the next; on appending, nothing was appended. Test with errors.As, or by cause with errors.Is.
type FrameError struct {
	Err    error // ErrTooLarge, ErrEmpty or ErrLineBreak
	Size   int64 // ErrTooLarge: bytes of the payload (of a line read: all before its LF)
	Limit  int   // ErrTooLarge: the MaxFrame or MaxAppend in force
	Offset int   // ErrLineBreak: where in the payload it is
}

func (e *FrameError) Error() string {
	switch e.Err {
	case ErrTooLarge:
		return fmt.Sprintf("framing: frame of %d bytes is over the limit of %d: send less, or raise the limit", e.Size, e.Limit)
	case ErrLineBreak:
		return fmt.Sprintf("framing: line break at byte %d of a newline frame: remove or escape it", e.Offset)
	}
	return "framing: " + e.Err.Error() + ": put one message into each frame"
}

func (e *FrameError) Unwrap() error { return e.Err }

func tooLarge(size int64, limit int) error {
	return &FrameError{Err: ErrTooLarge, Size: size, Limit: limit}
}

// A SyncError ends a stream: where the next frame begins can no longer be known, or only after
// more bytes than the limits allow. The one thing left to do is to close the connection.
type SyncError struct {
	Problem string // what was met; quotes at most 64 bytes of the stream
	Err     error  // io.ErrUnexpectedEOF if the stream ended inside a frame, ErrTooLarge if the frame is too large even to be skipped, else nil
	Size    int64  // ErrTooLarge: bytes of the payload, as far as they are known
	Limit   int    // ErrTooLarge: the MaxFrame in force
}

func (e *SyncError) Error() string {
	return "framing: lost the frame boundary: " + e.Problem + ": close the connection"
}

func (e *SyncError) Unwrap() error { return e.Err }

func lost(format string, args ...any) *SyncError {
	return &SyncError{Problem: fmt.Sprintf(format, args...)}
}

// giveUp is the error of a frame that is too large even to be skipped.
func giveUp(size int64, limit int, format string) *SyncError {
	e := lost(format, size, limit)
	e.Err, e.Size, e.Limit = ErrTooLarge, size, limit
	return e
}

// quote shows a peer's bytes in an error, safely and in bounds.
func quote(b []byte) string {
	const most = 64
	if len(b) > most {
		return strconv.Quote(string(b[:most])) + "..."
	}
	return strconv.Quote(string(b))
}
