package framing

import (
	"errors"
	"fmt"
	"strconv"
)

// The causes of a [FrameError], for errors.Is.
var (
	// ErrTooLarge means that the payload is larger than Limits.MaxFrame, when reading, or
	// MaxAppend, when appending. It may also be the cause of a [SyncError].
	ErrTooLarge = errors.New("frame too large")
	// ErrEmpty means that the payload is empty, or consists of white space in a [Newline] frame,
	// which would be read as a blank line. When reading, only ContentLength returns it: Newline
	// skips blank lines.
	ErrEmpty = errors.New("frame is empty")
	// ErrLineBreak means that the payload of a newline frame contains LF or CR, when appending.
	ErrLineBreak = errors.New("line break in a newline frame")
)

// A FrameError is about one frame. When reading, the frame has been skipped and the stream is at
// the next one; when appending, nothing was appended. Test with errors.As, or for the cause with
// errors.Is.
type FrameError struct {
	Err    error // ErrTooLarge, ErrEmpty or ErrLineBreak
	Size   int64 // for ErrTooLarge: bytes of the payload (of a line read: all before its LF)
	Limit  int   // for ErrTooLarge: the MaxFrame or MaxAppend in force
	Offset int   // for ErrLineBreak: its offset in the payload
}

func (e *FrameError) Error() string {
	switch e.Err {
	case ErrTooLarge:
		return fmt.Sprintf(
			"framing: frame of %d bytes is over the limit of %d: send less, or raise the limit",
			e.Size, e.Limit)
	case ErrLineBreak:
		return fmt.Sprintf("framing: line break at byte %d of a newline frame: remove or escape it",
			e.Offset)
	}
	return "framing: " + e.Err.Error() + ": put one message into each frame"
}

func (e *FrameError) Unwrap() error { return e.Err }

func tooLarge(size int64, limit int) error {
	return &FrameError{Err: ErrTooLarge, Size: size, Limit: limit}
}

// A SyncError ends a stream: the start of the next frame is not known, or only after more bytes
// than the limits allow. Close the connection.
type SyncError struct {
	Problem string // what was found; quotes at most 64 bytes of the stream
	// io.ErrUnexpectedEOF if the stream ended inside a frame, ErrTooLarge if the frame is too large
	// to be skipped, or nil
	Err   error
	Size  int64 // for ErrTooLarge: bytes of the payload, as far as known
	Limit int   // for ErrTooLarge: the MaxFrame in force
}

func (e *SyncError) Error() string {
	return "framing: lost the frame boundary: " + e.Problem
}

func (e *SyncError) Unwrap() error { return e.Err }

func syncError(format string, args ...any) *SyncError {
	return &SyncError{Problem: fmt.Sprintf(format, args...)}
}

// tooLargeToSkip returns the error for a frame that is too large to be skipped.
func tooLargeToSkip(size int64, limit int, format string) *SyncError {
	e := syncError(format, size, limit)
	e.Err, e.Size, e.Limit = ErrTooLarge, size, limit
	return e
}

// quote returns bytes of a peer in printable form, at most 64 of them.
func quote(b []byte) string {
	const most = 64
	if len(b) > most {
		return strconv.Quote(string(b[:most])) + "..."
	}
	return strconv.Quote(string(b))
}
