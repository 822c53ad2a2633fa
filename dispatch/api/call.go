package api

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"os"
	"slices"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

const surface = "http"

// call answers POST /v1/{service}.
func (x *exchange) call() *refusal {
	text, refused := x.read()
	if refused != nil {
		return refused
	}
	b, err := parse(text)
	if err != nil {
		return &refusal{status: http.StatusBadRequest, err: err}
	}
	name := x.r.URL.Path[len(root):]
	if b.action != "" {
		name += "." + b.action
	}
	if op, ok := x.catalog.Lookup(name); ok {
		if err := b.fits(op); err != nil {
			return &refusal{status: http.StatusBadRequest, err: err}
		}
	}
	x.answer(x.dispatcher.Dispatch(x.r.Context(), &dispatch.Call{
		Operation: name, Arguments: b.params, Instance: b.instance, Session: b.session, Confirmed: b.confirm,
		Principal: x.principal, RequestID: x.id, Surface: surface,
	}))
	return nil
}

// read returns the body.
func (x *exchange) read() ([]byte, *refusal) {
	kind := x.r.Header.Get("Content-Type")
	if kind != "application/json" {
		kind, _, _ = mime.ParseMediaType(kind) // JSON has one charset only, whatever the parameters say
	}
	if encoding := x.r.Header.Get("Content-Encoding"); kind != "application/json" || encoding != "" && encoding != "identity" {
		return nil, refuse(http.StatusUnsupportedMediaType, dispatch.InvalidInput, "the body must be plain JSON, and the Content-Type application/json")
	}
	claimed := x.r.ContentLength // -1 if the header does not say
	if claimed > x.o.MaxBody {
		return nil, x.tooLarge()
	}
	var text bytes.Buffer
	text.Grow(int(min(max(claimed, 0), keptBody)) + bytes.MinRead)
	_, err := text.ReadFrom(http.MaxBytesReader(x.w, x.r.Body, x.o.MaxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, x.tooLarge()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, refuse(http.StatusRequestTimeout, dispatch.Timeout, "the body took too long to come").with("Connection", "close")
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, dispatch.InvalidInput, "the body did not come whole")
	}
	x.bodyCame()
	return text.Bytes(), nil
}

const keptBody = 16 << 10 // bytes that are allocated because a header claims that they are coming

func (x *exchange) tooLarge() *refusal {
	return refuse(http.StatusRequestEntityTooLarge, dispatch.InvalidInput, "the body is larger than %d bytes", x.o.MaxBody)
}

// A selector is a place of the body for what an operation takes as an argument of the same name.
type selector struct {
	name string
	code dispatch.Code // that operations declare to which it means something
	in   func(*body) string
}

var selectors = [...]selector{
	{"instance", dispatch.UnknownInstance, func(b *body) string { return b.instance }},
	{"session", dispatch.NotRunning, func(b *body) string { return b.session }},
}

// takes reports whether an operation heeds the selector.
func (s selector) takes(op *dispatch.Operation) bool {
	return jsonscan.Member(jsonscan.Member(op.Input(), "properties"), s.name) != nil && slices.Contains(op.Spec().Errors, s.code)
}

// fits refuses what the operation would not heed: who names an instance means it.
func (b *body) fits(op *dispatch.Operation) *dispatch.Error {
	for _, s := range selectors {
		if s.in(b) != "" && !s.takes(op) {
			return dispatch.Errorf(dispatch.InvalidInput, "the operation %q takes no %s", op.Name(), s.name)
		}
	}
	return nil
}
