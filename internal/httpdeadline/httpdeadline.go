// Package httpdeadline limits how long an HTTP client may take to send the body of a request and
// to read the response.
//
// A fixed WriteTimeout of [http.Server] starts when the request has been read, so it also limits
// the work of the handler and the life of a stream. The deadlines of this package start when a
// response is written, and depend on its size:
//
//	request body          30 s, or the server's ReadTimeout
//	256 KiB of a response 30 s
//	whole response        30 s and 1 s for each 32 KiB, at most 2 minutes
//
// A response writer that does not support deadlines is left without them.
package httpdeadline

import (
	"net/http"
	"time"
)

const (
	// PieceSize is the number of bytes that are written with one deadline.
	PieceSize = 256 << 10

	timeout     = 30 * time.Second // for a body, and for one piece of a response
	bytesPerSec = 32 << 10         // the rate at which a client must read a response after that
	maxTimeout  = 2 * time.Minute  // for a whole response
)

// Server returns the server that received r. It returns a zero server if r has none.
func Server(r *http.Request) *http.Server {
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		return server
	}
	return &http.Server{}
}

// SetBody sets the deadline for the body of r and returns the time until then, 0 if r has no body.
// It applies even if the handler does not read the body, because net/http reads what is left of it
// before it writes a response.
func SetBody(w http.ResponseWriter, r *http.Request) time.Duration {
	if r.Body == http.NoBody {
		return 0
	}
	if t := Server(r).ReadTimeout; t > 0 {
		return t
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout))
	return timeout
}

// ClearBody removes the deadline after the body has been read. Otherwise net/http, which reads on
// to detect a disconnect, takes the expired deadline for one.
func ClearBody(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// A Pace computes the deadlines of one response. Each piece has a deadline, and so has the whole
// response: a client that reads a few bytes at a time cannot keep a large response in memory.
type Pace struct{ start, end time.Time }

// NewPace returns the pace of a response of size bytes whose first byte is written at start.
func NewPace(size int, start time.Time) Pace {
	return Pace{start,
		start.Add(min(timeout+time.Duration(size/bytesPerSec)*time.Second, maxTimeout))}
}

// Deadline returns the deadline for a piece that is written now.
func (p Pace) Deadline() time.Time {
	by := time.Now()
	if by.Before(p.start) {
		by = p.start
	}
	if by = by.Add(timeout); by.After(p.end) {
		by = p.end
	}
	return by
}

// A Writer writes a response in pieces and sets the deadline of each.
type Writer struct {
	http.ResponseWriter
	control *http.ResponseController
	pace    Pace
}

// NewWriter returns a writer for a response of size bytes. bodyTimeout is the time that net/http
// may spend on the rest of the request's body before it writes: the result of [SetBody], or 0 after
// [ClearBody].
func NewWriter(w http.ResponseWriter, size int, bodyTimeout time.Duration) *Writer {
	return &Writer{w, http.NewResponseController(w), NewPace(size, time.Now().Add(bodyTimeout))}
}

// Write implements [io.Writer].
func (w *Writer) Write(text []byte) (n int, err error) {
	for n < len(text) && err == nil {
		_ = w.control.SetWriteDeadline(w.pace.Deadline())
		var written int
		written, err = w.ResponseWriter.Write(text[n:min(len(text), n+PieceSize)])
		n += written
	}
	return n, err
}
