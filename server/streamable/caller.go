package streamable

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc"
)

// A Caller is who sends an HTTP request, as [Options].Authorize knows them.
type Caller struct {
	Principal string // to whom sessions and sealed state belong; "": nobody in particular

	// Context is for handlers to know more of the caller by its values: the request's, or one made of it. Handlers of the legacy era, which go on when the connection is
	// cut, get its values only. nil: the request's.
	Context context.Context
	// AuthorizeMessages is asked once, when it is known what the request is about and before anything of it is done, with all its messages: one, several of a batch, or none, for a GET or
	// DELETE. An error refuses them all, as one of Authorize. nil: the caller may do everything.
	AuthorizeMessages func([]Message) error
	// Expires is when the caller has to show again who they are: streams that belong to no request, and subscriptions, are ended then, so that they come back. The zero
	// time is never.
	Expires time.Time
	// Header has more headers of the answer, by their canonical names.
	Header http.Header
}

// A Message is one of a client's, for [Caller].May.
type Message struct {
	Method string // "": a response
	// Subject is what the method is about, where it names something: a tool, a prompt, the URI of a resource, a task.
	Subject string
	// Params are as they came, and not to be kept. A name in them may be there twice; such a request does nothing.
	Params json.RawMessage
}

// authenticate settles who sends the request.
func (x *httpRequest) authenticate() (refused *refusal) {
	if x.o.Authorize == nil {
		return nil
	}
	var caller Caller
	failure := contain.Call(func() {
		var err error
		if caller, err = x.o.Authorize(x.r); err != nil {
			refused = x.callerRefusal(err)
		}
	})
	if failure != nil {
		return x.panicRefusal(failure)
	}
	if refused != nil {
		return refused
	}
	x.principal, x.messageFilter, x.expires = caller.Principal, caller.AuthorizeMessages, caller.Expires
	x.memory.owner = x.owner(x.principal)
	if caller.Context != nil {
		x.r = x.r.WithContext(caller.Context)
	}
	maps.Copy(x.w.Header(), caller.Header)
	return nil
}

// callerRefusal makes a refusal of the error of a function that decides on callers.
func (x *httpRequest) callerRefusal(err error) *refusal {
	shown, ok := errors.AsType[*Refusal](err)
	if !ok {
		x.refusalLog.Log(x.o.Logger.Warn, x.r.RemoteAddr, "the caller is not known", "error", err)
		shown = &Refusal{}
	}
	return shown.refusal()
}

// panicRefusal is the refusal where such a function has panicked.
func (x *httpRequest) panicRefusal(failure *contain.PanicError) *refusal {
	x.o.Logger.Error("the principal function panicked", "panic", failure.String(), "stack", string(failure.Stack))
	return newRefusal(http.StatusInternalServerError, rpc.CodeInternalError, "the caller could not be told; the log has the cause")
}

// authorizeMessage asks whether the caller may send a message.
func (x *httpRequest) authorizeMessage(m *rpc.Message, subject []byte) *refusal {
	if x.messageFilter == nil {
		return nil
	}
	return x.authorizeMessages([]Message{{m.Method, string(subject), m.Params}})
}

// authorizeMessages asks whether the caller may send the request with these messages.
func (x *httpRequest) authorizeMessages(messages []Message) (refused *refusal) {
	if x.messageFilter == nil {
		return nil
	}
	failure := contain.Call(func() {
		if err := x.messageFilter(messages); err != nil {
			refused = x.callerRefusal(err)
		}
	})
	if failure != nil {
		return x.panicRefusal(failure)
	}
	return refused
}

// cancelAtExpiry has the request end, if it is still there, when its caller has to show again who they are. What it returns is to be called at the end.
func (x *httpRequest) cancelAtExpiry() (cancel func()) {
	if x.expires.IsZero() {
		return func() {}
	}
	ctx, cancel := context.WithDeadline(x.r.Context(), x.expires)
	x.r = x.r.WithContext(ctx)
	return cancel
}
