package api

import (
	"log/slog"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contain"
)

// sees reports whether the caller may see an operation. If the function panics, he may not.
func (x *exchange) sees(op *dispatch.Operation) (visible bool) {
	if x.o.Visible == nil {
		return true
	}
	failure := contain.Call(func() { visible = x.o.Visible(x.r.Context(), op) })
	if failure != nil {
		x.report(slog.LevelError, "the function Visible panicked",
			slog.String("panic", failure.String()), slog.String("stack", string(failure.Stack)))
		return false
	}
	return visible
}

// visible returns a handler of the operations that the caller may see.
func (x *exchange) visible() *handler {
	if x.o.Visible == nil {
		return x.handler
	}
	var hidden []string
	own := &handler{o: x.o, catalog: x.catalog.Clone()}
	for _, op := range own.catalog.Operations() {
		if !x.sees(op) {
			hidden = append(hidden, op.Name())
		}
	}
	own.catalog.Remove(hidden...)
	return own
}

// unknownOperation is the answer to a call of an operation that does not exist for the caller. It
// suggests none that is hidden from him.
func (x *exchange) unknownOperation(name string) dispatch.Envelope {
	return dispatch.Envelope{Err: x.visible().catalog.Unknown(name)}
}
