package streamable

import (
	"net/http"
	"time"
)

const (
	patience = 30 * time.Second // for a body to come, and for what is sent to be read
	slowest  = 32 << 10         // bytes of an answer that a second more is given for
)

// httpServer returns the server that the request came by, or one without settings if there is none to be seen.
func (x *exchange) httpServer() *http.Server {
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
	if x.awaited = x.httpServer().ReadTimeout; x.awaited <= 0 {
		x.awaited = patience
		_ = http.NewResponseController(x.w).SetReadDeadline(time.Now().Add(patience))
	}
}

// bodyCame ends the time limit: the server reads on, to notice when the client disconnects, and would take the deadline for that.
func (x *exchange) bodyCame() {
	x.awaited = 0
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Time{})
}

// limitWriting limits the time that an answer of so many bytes is waited for to be read. It does so also where the server has a limit of its own, which would be for
// answering too, however long that takes.
func (x *exchange) limitWriting(size int) {
	_ = http.NewResponseController(x.w).SetWriteDeadline(writeBy(size).Add(x.awaited)) // net/http reads the rest of a body first
}

func writeBy(size int) time.Time {
	return time.Now().Add(patience + time.Duration(size/slowest)*time.Second)
}
