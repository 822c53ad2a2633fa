package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/quota"
)

// A refusal is the answer to a request that does not become a call: an envelope, and a status that
// may differ from the status of the error's code.
type refusal struct {
	status int
	err    *dispatch.Error
	header [2]string // name and value of an additional header; "" for none
}

func refuse(status int, code dispatch.Code, format string, args ...any) *refusal {
	return &refusal{status: status, err: dispatch.Errorf(code, format, args...)}
}

// with adds a header.
func (r *refusal) with(name, value string) *refusal {
	r.header = [2]string{name, value}
	return r
}

func (x *exchange) refuse(r *refusal) {
	if r.header[0] != "" {
		x.w.Header().Set(r.header[0], r.header[1])
	}
	x.send(r.status, dispatch.Envelope{Err: r.err})
}

// answer sends the outcome of a call, or returns a refusal if there is no memory for it.
func (x *exchange) answer(e dispatch.Envelope) *refusal {
	if e.Err != nil && errors.Is(e.Err, dispatch.ErrBusy) {
		return &refusal{status: http.StatusServiceUnavailable, err: e.Err,
			header: [2]string{"Retry-After", "1"}}
	}
	if e.Err != nil && e.Err.Code == dispatch.Cancelled &&
		errors.Is(context.Cause(x.r.Context()), http.ErrServerClosed) {
		return refuse(http.StatusServiceUnavailable, dispatch.Cancelled,
			"the server is shutting down, and the call was not finished").with("Retry-After", "5")
	}
	status := http.StatusOK
	if e.Err != nil {
		info, _ := x.catalog.CodeInfo(e.Err.Code) // the dispatcher returns only known codes
		status = info.HTTPStatus
		x.setRetryAfter(e.Err)
	}
	text := encode(e)
	held := int64(cap(text))
	if held <= uncounted {
		held = 0
	}
	if err := x.account.Resize(held); err != nil {
		refused := busy(err,
			fmt.Sprintf("the call has run, but the memory has no room for its answer of %d bytes",
				len(text)))
		if errors.Is(err, quota.ErrNever) {
			refused.status, refused.header = http.StatusInternalServerError, [2]string{}
			refused.err = dispatch.Errorf(dispatch.InternalError,
				"the call has run, but its answer of %d bytes is more than one caller may have in memory; ask for less at a time",
				len(text))
		}
		return refused
	}
	e = dispatch.Envelope{} // to free the data: text has a copy
	x.write(status, text)
	return nil
}

// setRetryAfter sets the header Retry-After if the details of an error say when to try again, in
// whole seconds that are not too short.
func (x *exchange) setRetryAfter(err *dispatch.Error) {
	details, _ := err.Details.(json.RawMessage) // of every error from Dispatch
	wait, notNumber := strconv.ParseInt(string(jsonscan.Member(details, "retryAfterMs")), 10, 64)
	if err.Code == dispatch.TooManyRequests && notNumber == nil && wait > 0 {
		x.w.Header().Set("Retry-After", strconv.FormatInt((wait+999)/1000, 10))
	}
}

func (x *exchange) send(status int, e dispatch.Envelope) { x.write(status, encode(e)) }

func encode(e dispatch.Envelope) []byte { return e.AppendJSON(make([]byte, 0, len(e.Data)+256)) }

func (x *exchange) write(status int, text []byte) {
	header := x.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(text)))
	header.Set("Cache-Control", "no-store")
	x.w.WriteHeader(status)
	_, _ = x.answerWriter(len(text)).Write(text) // an error means that the client has disconnected
}

// answerWriter returns the writer for an answer of size bytes. A WriteTimeout of the server
// replaces this package's deadlines.
func (x *exchange) answerWriter(size int) http.ResponseWriter {
	if httpdeadline.Server(x.r).WriteTimeout > 0 {
		return x.w
	}
	return x.deadlines.Writer(size)
}
