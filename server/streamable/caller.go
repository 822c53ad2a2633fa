package streamable

import (
	"context"
	"errors"
	"maps"
	"net/http"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/discovery"
	"github.com/stdwire/stdwire/server/streamable/internal/forwarding"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// authenticate calls Authorize and keeps its result.
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
	x.principal, x.messageFilter, x.expires, x.credentials = caller.Principal,
		caller.AuthorizeMessages, caller.Expires, caller.Credentials
	x.memory.owner = x.owner(x.principal)
	if caller.Context != nil {
		x.r = x.r.WithContext(caller.Context)
	}
	x.followCredentials()
	maps.Copy(x.w.Header(), caller.Header)
	return nil
}

// acceptForwarded is authenticate for a request that another server has passed on: the sealed frame
// says who sends it, and has the headers.
func (x *httpRequest) acceptForwarded(sealed string) *refusal {
	own := x.replicas.Own()
	if own.Name == "" {
		return misdirectedRefusal()
	}
	f, err := x.forwarder.Sealer.Open(own.Name, sealed)
	if err != nil { // false, or for a server that had this address before
		x.refusalLog.Log(x.o.Logger.Warn, x.r.RemoteAddr, "a forwarded request was refused",
			"error", err)
		return misdirectedRefusal()
	}
	x.w.Header()[forwarding.Header] = []string{x.forwarder.Sealer.Mark(sealed)}
	if f.Fence != own.Fence || f.Method != x.r.Method || f.Path != requestPath(x.r) {
		return misdirectedRefusal()
	}
	if refused := x.checkForwarder(f); refused != nil {
		return refused
	}
	x.setAttempt(f.Attempt)
	ctx := x.r.Context()
	if withValues := x.o.Forward.WithValues; f.Values != nil && withValues != nil {
		err := contain.Do(func() (err error) {
			ctx, err = withValues(ctx, f.Values)
			return err
		})
		if err != nil {
			x.o.Logger.Error("the values of a forwarded request cannot be used", "error", err)
			return newRefusal(http.StatusInternalServerError, rpc.CodeInternalError,
				"the caller could not be determined; the log has the cause")
		}
	}
	x.r = x.r.WithContext(ctx)
	x.r.Header = f.Header
	x.forwarded, x.principal, x.expires = f, f.Principal, f.Expires
	x.memory.owner = x.owner(x.principal)
	return nil
}

// checkForwarder returns a refusal unless the server that has passed the request on is in the
// store, and does so for the first time.
func (x *httpRequest) checkForwarder(f *forwarding.Frame) *refusal {
	if !x.forwarder.Seen.Knows(f.From) {
		_, err := x.replicas.Find(x.r.Context(), f.From)
		if errors.Is(err, shared.ErrGone) {
			return misdirectedRefusal()
		}
		if err != nil {
			return x.storeRefusal(x.r.Context(), err)
		}
	}
	if !x.forwarder.Seen.Add(f.From, f.Sequence, f.Made, x.replicas.Now()) {
		x.refusalLog.Log(x.o.Logger.Warn, x.r.RemoteAddr, "a forwarded request was refused", "error",
			"it has come before, is too old, or comes from one server too many")
		return misdirectedRefusal()
	}
	return nil
}

// followCredentials makes the end of the caller's credentials end the request's context, until
// x.forget is called.
func (x *httpRequest) followCredentials() {
	if x.credentials == nil {
		return
	}
	ctx, cancel := context.WithCancelCause(x.r.Context())
	stop := context.AfterFunc(x.credentials, func() { cancel(errRevoked) })
	x.r = x.r.WithContext(ctx)
	x.forget = func() {
		stop()
		cancel(nil)
	}
}

// callerRefusal returns the refusal for an error of Authorize or AuthorizeMessages.
func (x *httpRequest) callerRefusal(err error) *refusal {
	shown, ok := errors.AsType[*Refusal](err)
	if !ok {
		x.refusalLog.Log(x.o.Logger.Warn, x.r.RemoteAddr, "the caller is not known", "error", err)
		shown = &Refusal{}
	}
	return shown.refusal()
}

// panicRefusal logs a panic of Authorize or AuthorizeMessages, and returns the refusal.
func (x *httpRequest) panicRefusal(failure *contain.PanicError) *refusal {
	x.o.Logger.Error("the function that authorizes a request panicked", "panic",
		failure.String(), "stack", string(failure.Stack))
	return newRefusal(http.StatusInternalServerError, rpc.CodeInternalError,
		"the caller could not be determined; the log has the cause")
}

// authorizeMessage returns a refusal unless the caller may send a message.
func (x *httpRequest) authorizeMessage(m *rpc.Message, subject []byte) *refusal {
	if x.messageFilter == nil {
		return nil
	}
	return x.authorizeMessages([]Message{{m.Method, string(subject), m.Params}})
}

// authorizeMessages returns a refusal unless the caller may send these messages.
func (x *httpRequest) authorizeMessages(messages []Message) (refused *refusal) {
	if x.messageFilter == nil {
		return nil
	}
	for i, m := range messages {
		if m.Method != mcp.MethodCallTool || !x.toolViews {
			continue
		}
		if _, own, ok := discovery.InnerCall([]byte(m.Subject), m.Params); ok {
			messages[i].Subject = string(own)
		}
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

// cancelAtExpiry ends the request's context when the caller's credentials expire. Call cancel at
// the end of the request.
func (x *httpRequest) cancelAtExpiry() (cancel func()) {
	if x.expires.IsZero() {
		return func() {}
	}
	ctx, cancel := context.WithDeadline(x.r.Context(), x.expires)
	x.r = x.r.WithContext(ctx)
	return cancel
}
