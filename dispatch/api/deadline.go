package api

import (
	"net/http"
	"time"
)

const (
	patience  = 30 * time.Second // for a body to come, and for a piece of an answer to be read
	slowest   = 32 << 10         // bytes of an answer that a second more is given for
	longest   = 2 * time.Minute  // for all of an answer to be read
	pieceSize = 256 << 10        // bytes of an answer that are written at a time
)

// server returns the server that the request came by, or one without settings if there is none to be seen.
func (x *exchange) server() *http.Server {
	if server, ok := x.r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		return server
	}
	return &http.Server{}
}

// awaitBody limits the time that the body has to come in, also if nobody here reads it: the server itself does before it sends an answer.
// Where there are no deadlines to be set, somebody else has to see to them.
func (x *exchange) awaitBody() {
	if x.r.Body == http.NoBody {
		return
	}
	if x.awaited = x.server().ReadTimeout; x.awaited <= 0 {
		x.awaited = patience
		_ = http.NewResponseController(x.w).SetReadDeadline(time.Now().Add(patience))
	}
}

// bodyCame ends the time limit: the server reads on, to notice when the client disconnects, and would take the deadline for that.
func (x *exchange) bodyCame() {
	x.awaited = 0
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Time{})
}

// A pacedWriter writes an answer in pieces. It limits the time until each has been read, and until
// all of them have.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController // nil: the server has a limit of its own
	start   time.Time                // when the first piece may be written
	end     time.Time
}

// paced returns the writer for an answer of so many bytes.
func (x *exchange) paced(size int) *pacedWriter {
	w := &pacedWriter{ResponseWriter: x.w}
	if x.server().WriteTimeout <= 0 {
		w.control = http.NewResponseController(x.w)
		w.start = time.Now().Add(x.awaited) // net/http reads the rest of a body first
		w.end = w.start.Add(min(patience+time.Duration(size/slowest)*time.Second, longest))
	}
	return w
}

func (w *pacedWriter) Write(text []byte) (n int, err error) {
	for n < len(text) && err == nil {
		w.limit()
		var written int
		written, err = w.ResponseWriter.Write(text[n:min(len(text), n+pieceSize)])
		n += written
	}
	return n, err
}

// limit sets the deadline of the next piece.
func (w *pacedWriter) limit() {
	if w.control == nil {
		return
	}
	by := time.Now()
	if by.Before(w.start) {
		by = w.start
	}
	if by = by.Add(patience); by.After(w.end) {
		by = w.end
	}
	_ = w.control.SetWriteDeadline(by)
}
