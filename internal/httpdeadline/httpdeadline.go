// Package httpdeadline limits how long an HTTP client may take to send the body of a request and to
// read the answer, for handlers whose [http.Server] may set no timeouts.
//
// A body has to arrive within 30 seconds, or within the server's ReadTimeout where that is set. An
// answer is written in pieces of 256 KiB. Each has to be read within 30 seconds, and the whole
// answer within 30 seconds plus one second per 32 KiB, at most 2 minutes. So a client
// that reads a little from time to time does not keep a large answer in memory for long.
package httpdeadline

import (
	"net/http"
	"time"
)

const (
	maxWait  = 30 * time.Second // for a body, and for a piece of an answer to be read
	minRate  = 32 << 10         // bytes of an answer that extend its deadline by a second
	maxTotal = 2 * time.Minute  // for a whole answer to be read

	// PieceSize is how many bytes of an answer to write between two deadlines.
	PieceSize = 256 << 10
)

// A Request sets the deadlines of one HTTP request. It is not safe for concurrent use.
type Request struct {
	w        http.ResponseWriter
	bodyWait time.Duration // how long the body may take; 0 once it has been read
}

// New returns the deadlines of a request and sets that of its body. The deadline holds even if the
// handler does not read the body: the server reads the rest of it before it sends an answer. New
// has no effect on a ResponseWriter without deadlines.
func New(w http.ResponseWriter, r *http.Request) Request {
	if r.Body == http.NoBody {
		return Request{w: w}
	}
	if timeout := Server(r).ReadTimeout; timeout > 0 { // which has set the deadline
		return Request{w, timeout}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(maxWait))
	return Request{w, maxWait}
}

// Server returns the server that received r, or one without settings if r has none.
func Server(r *http.Request) *http.Server {
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		return server
	}
	return &http.Server{}
}

// BodyRead removes the deadline of the body. The server continues to read, to detect that the
// client disconnects, and would mistake the deadline for a disconnect.
func (r *Request) BodyRead() {
	r.bodyWait = 0
	_ = http.NewResponseController(r.w).SetReadDeadline(time.Time{})
}

// Writer returns a writer for an answer of size bytes, which sets the deadline of each piece. It
// replaces the server's WriteTimeout.
func (r *Request) Writer(size int) Writer {
	start := time.Now().Add(r.bodyWait) // net/http reads the rest of a body first
	return Writer{ResponseWriter: r.w, pace: NewPace(size, start)}
}

// A Writer writes an answer in pieces, each with a deadline.
type Writer struct {
	http.ResponseWriter
	pace Pace
}

func (w Writer) Write(text []byte) (n int, err error) {
	for n < len(text) && err == nil {
		piece := text[n:min(len(text), n+PieceSize)]
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(w.pace.Deadline())
		var written int
		written, err = w.ResponseWriter.Write(piece)
		n += written
	}
	return n, err
}

// A Pace is how fast a client has to read an answer.
type Pace struct{ start, end time.Time }

// NewPace returns the pace for an answer of size bytes whose first piece is written at start.
func NewPace(size int, start time.Time) Pace {
	return Pace{start, start.Add(min(maxWait+time.Duration(size/minRate)*time.Second, maxTotal))}
}

// Deadline returns when a piece that is written now has to be read.
func (p Pace) Deadline() time.Time {
	deadline := time.Now()
	if deadline.Before(p.start) {
		deadline = p.start
	}
	if deadline = deadline.Add(maxWait); deadline.After(p.end) {
		deadline = p.end
	}
	return deadline
}
