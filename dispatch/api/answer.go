package api

import (
	"net/http"
	"strconv"

	"github.com/stdwire/stdwire/dispatch"
)

// A refusal is why a request is no call: an envelope, with a status that may not be that of its code.
type refusal struct {
	status int
	err    *dispatch.Error
	header [2]string // one more, "" for none
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

// answer sends the outcome of a call.
func (x *exchange) answer(e dispatch.Envelope) {
	status := http.StatusOK
	if !e.Success() {
		info, _ := x.catalog.CodeInfo(e.Err.Code) // the dispatcher has seen to it that there is one
		status = info.HTTPStatus
	}
	x.send(status, e)
}

func (x *exchange) send(status int, e dispatch.Envelope) {
	text := e.AppendJSON(make([]byte, 0, len(e.Data)+256))
	x.limitWriting(len(text))
	header := x.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(text)))
	header.Set("Cache-Control", "no-store")
	x.w.WriteHeader(status)
	_, _ = x.w.Write(text) // a client that is gone needs no answer
}
