package api

import (
	"net/http"

	"github.com/stdwire/stdwire/internal/httpdeadline"
)

// awaitBody sets the deadline for the body of the request.
func (x *exchange) awaitBody() { x.awaited = httpdeadline.SetBody(x.w, x.r) }

// bodyCame removes the deadline after the body has been read.
func (x *exchange) bodyCame() {
	x.awaited = 0
	httpdeadline.ClearBody(x.w)
}

// paced returns a writer for a response of size bytes, whose client must read it at a minimum rate
// unless the server has a WriteTimeout.
func (x *exchange) paced(size int) http.ResponseWriter {
	if httpdeadline.Server(x.r).WriteTimeout > 0 {
		return x.w
	}
	return httpdeadline.NewWriter(x.w, size, x.awaited)
}
