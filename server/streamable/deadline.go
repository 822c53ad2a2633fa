package streamable

import (
	"net/http"
	"time"
)

const (
	patience  = 30 * time.Second // for a body to come, and for a piece of what is sent to be read
	slowest   = 32 << 10         // bytes of an answer that a second more is given for
	longest   = 2 * time.Minute  // for all of an answer, or of an event, to be read
	pieceSize = 256 << 10        // bytes that are written at a time
)

// httpServer returns the server that the request came by, or one without settings if there is none to be seen.
func (x *httpRequest) httpServer() *http.Server {
	if server, ok := x.r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		return server
	}
	return &http.Server{}
}

// setBodyDeadline limits the time that the body has to come in, also if nobody here reads it: the server itself does before it sends an answer.
// Where there are no deadlines to be set, somebody else has to see to them.
func (x *httpRequest) setBodyDeadline() {
	if x.r.Body == http.NoBody {
		return
	}
	if x.bodyTimeout = x.httpServer().ReadTimeout; x.bodyTimeout <= 0 {
		x.bodyTimeout = patience
		_ = http.NewResponseController(x.w).SetReadDeadline(time.Now().Add(patience))
	}
}

// clearBodyDeadline ends the time limit: the server reads on, to notice when the client disconnects, and would take the deadline for that.
func (x *httpRequest) clearBodyDeadline() {
	x.bodyTimeout = 0
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Time{})
}

// A pace is how fast a client has to read: each piece of what is written in a while, and all of it
// by the end. So who reads a little now and then does not keep a large answer in memory for long.
type pace struct{ start, end time.Time }

func paceOf(size int, start time.Time) pace {
	return pace{start, start.Add(min(patience+time.Duration(size/slowest)*time.Second, longest))}
}

// deadline is the time by which the next piece has to be read.
func (p pace) deadline() time.Time {
	by := time.Now()
	if by.Before(p.start) {
		by = p.start
	}
	if by = by.Add(patience); by.After(p.end) {
		by = p.end
	}
	return by
}

// write writes the text of a whole answer. It limits the time also where the server has a limit of
// its own, which would be for answering too, however long that takes.
func (x *httpRequest) write(text []byte) {
	p := paceOf(len(text), time.Now().Add(x.bodyTimeout)) // net/http reads the rest of a body first
	for len(text) > 0 {
		n := min(len(text), pieceSize)
		_ = http.NewResponseController(x.w).SetWriteDeadline(p.deadline())
		if _, err := x.w.Write(text[:n]); err != nil {
			return // a client that is gone needs no answer
		}
		text = text[n:]
	}
}
