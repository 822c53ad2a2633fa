package streamable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/streamable/internal/forwarding"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// An outgoing is a request that may have to be passed on.
type outgoing struct {
	body    []byte // nil: none
	id      rpc.ID // of a request
	isCall  bool   // it is begun at most once
	isBatch bool   // of which a message is a call
	attempt int    // see forwarding.Frame
	late    bool   // it may be passed on during a shutdown
	// acquire acquires what the request needs while it is passed on.
	acquire func(x *httpRequest, late bool) (release func(), refused *refusal)
}

// outgoingMessage returns the POST of a message.
func outgoingMessage(m *rpc.Message, body []byte) outgoing {
	if m.IsResponse() {
		return outgoing{body: body, acquire: (*httpRequest).acquireWait}
	}
	isRequest := !m.ID.IsZero()
	return outgoing{body: body, id: m.ID, isCall: isRequest && m.Method == mcp.MethodCallTool,
		late: !isRequest, acquire: (*httpRequest).acquireRequest}
}

// acquireRequest acquires a slot of requests.
func (x *httpRequest) acquireRequest(late bool) (release func(), refused *refusal) {
	t, refused := x.acquireRequestSlot(late)
	return t.release, refused
}

// acquireStream acquires a slot of streams.
func (x *httpRequest) acquireStream(bool) (release func(), refused *refusal) {
	t, refused := x.acquireStreamSlot()
	return t.release, refused
}

// acquireWait acquires a place for an answer or the end of a session while it is passed on.
func (x *httpRequest) acquireWait(bool) (release func(), refused *refusal) {
	return x.sessionTable.acquireWait(x.memory.owner)
}

// ownerPatience is how long a request waits for a session to have an owner, from when the one that
// it had could not be reached: longer than the lease of one that has been killed lasts.
const ownerPatience = shared.ReplicaLife + 5*time.Second

// forward passes a request on to the server that owns the session. It reports whether it has
// answered the request, or returned the refusal to answer it with; otherwise it is for this server.
func (x *httpRequest) forward(session string, out outgoing) (done bool, refused *refusal) {
	if x.forwarder == nil || x.forwarded != nil || !shared.IsID(session) || x.isHTTPSSE() {
		return false, nil
	}
	var release func()
	defer func() {
		if release != nil {
			release()
		}
	}()
	var since time.Time // when the owner could not be reached for the first time
	var failed error    // why it could not be reached the last time
	var url string      // at which
	defer func() {
		if failed != nil && refused != nil {
			x.refusalLog.Log(x.o.Logger.Warn, url, "a request did not reach the owner of its session",
				"error", failed)
		}
	}()
	for pause := time.Duration(0); ; {
		owner, refused := x.findOwner(session)
		if refused != nil {
			return true, refused.forID(out.id)
		}
		if owner.Name == "" {
			x.setAttempt(out.attempt)
			return false, nil
		}
		if release == nil {
			acquired, refused := out.acquire(x, out.late)
			if refused != nil {
				return true, refused.forID(out.id)
			}
			release = acquired
			x.forwarder.PassedOn.Add(1)
		}
		begun, refused, err := x.forwardTo(owner, session, &out)
		if err == nil {
			return true, refused
		}
		failed, url = err, owner.URL
		if err != errStillRuns {
			x.forwarder.Routes.Forget(session)
		}
		if since.IsZero() {
			since = time.Now()
		}
		if begun {
			if refused := x.claimForwarded(session, &out); refused != nil {
				return true, refused
			}
		}
		if time.Since(since) > ownerPatience {
			return true, unreachableRefusal(err).forID(out.id)
		}
		pause = min(2*pause+shared.Pause(), time.Second)
		select {
		case <-time.After(pause):
		case <-x.r.Context().Done():
		case <-x.forwarder.Ended.Done():
		}
		if refused := x.interrupted(); refused != nil {
			return true, refused.forID(out.id)
		}
	}
}

// interrupted returns the refusal of a request that waits no longer, or nil.
func (x *httpRequest) interrupted() *refusal {
	switch {
	case x.isRevoked():
		return revokedRefusal()
	case x.forwarder.Ended.Err() != nil, x.r.Context().Err() != nil: // who has left gets nothing
		return x.shutdownRefusal()
	}
	return nil
}

// findOwner returns the server that owns a session, without a name if it is this one. A session
// without an owner, or whose owner is gone, gets this one.
func (x *httpRequest) findOwner(session string) (owner shared.Replica, refused *refusal) {
	f := x.forwarder
	name := x.replicas.Own().Name
	if s := x.lookupSession(session); s != nil && s.principal == x.principal && s.isShared() {
		if owner := s.currentRecord().Owner; owner == name && name != "" {
			return shared.Replica{}, nil
		}
	}
	if owner := f.Routes.Find(session, x.principal); owner.Name != "" {
		return owner, nil
	}
	release, refused := x.acquireLookup()
	if refused != nil {
		return shared.Replica{}, refused
	}
	defer release()
	owner, err := x.lookupOwner(session)
	switch {
	case errors.Is(err, errGone):
		return owner, sessionNotFound()
	case err == ErrClosed:
		return owner, x.shutdownRefusal()
	case err != nil:
		return owner, x.storeRefusal(x.r.Context(), err)
	case owner.Name == x.replicas.Own().Name:
		return shared.Replica{}, nil
	case owner.Name != "":
		f.Routes.Set(session, x.principal, owner)
	}
	return owner, nil
}

// lookupOwner is findOwner by what the store has, where it returns this server with its name.
func (x *httpRequest) lookupOwner(session string) (shared.Replica, error) {
	ctx := x.r.Context()
	for range 5 { // others may take it over meanwhile
		record, err := x.shared.Find(ctx, session, nil)
		if err != nil {
			return shared.Replica{}, err
		}
		own := x.replicas.Own()
		switch {
		case record.Version == 0 || record.Principal != x.principal:
			return shared.Replica{}, errGone
		case record.Owner != "" && record.Owner == own.Name:
			return own, nil
		case record.Owner != "":
			owner, err := x.replicas.Find(ctx, record.Owner)
			if !errors.Is(err, shared.ErrGone) {
				return owner, err
			}
		}
		if x.isClosing() { // it is for one that goes on
			return shared.Replica{}, ErrClosed
		}
		taken, err := x.replicas.Take(ctx, session, &record)
		if err != nil {
			return shared.Replica{}, err
		}
		if taken {
			// who does not hear of it learns it with the next request
			_ = x.shared.Tell(ctx, shared.Notice{Session: session, Changed: true})
			return x.replicas.Own(), nil
		}
	}
	return shared.Replica{}, errContended
}

// forwardedHeaders are the headers of a client's request that the owner of its session needs.
var forwardedHeaders = []string{"Accept", "Content-Type", "Last-Event-Id",
	mcp.HeaderProtocolVersion, mcp.HeaderSessionID, "Traceparent", "Tracestate"}

// forwardTo passes a request on to a server, which has answered it unless there is a refusal or an
// error. With an error, begun reports that the server may have begun the request.
func (x *httpRequest) forwardTo(owner shared.Replica, session string, out *outgoing) (begun bool,
	refused *refusal, err error) {
	f := x.forwarder
	sealed, frame, refused := x.seal(owner, session, out)
	if refused != nil {
		return false, refused, nil
	}
	ctx, stop := x.replicas.Watch(x.r.Context(), owner.Name)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.Ended, cancel)()
	res, begun, err := f.Client.Send(ctx, owner.URL, frame, sealed, out.body)
	if err == nil {
		defer res.Body.Close()
		defer cancel() // before the body is closed, which would wait for what is being sent
		isMarked := f.Sealer.IsMarked(res, sealed)
		switch {
		case res.StatusCode == http.StatusMisdirectedRequest:
			if isMarked && res.Header.Get("Retry-After") != "" {
				return false, nil, errStillRuns
			}
			return false, nil, errMisdirected
		case !isMarked: // it says nothing of the session
			err = fmt.Errorf("another program answers there, with the status %d", res.StatusCode)
		}
	}
	if err != nil {
		if refused := x.interrupted(); refused != nil {
			return begun, refused.forID(out.id), nil
		}
		return begun, nil, err
	}
	if res.StatusCode == http.StatusNotFound {
		f.Routes.Forget(session)
	}
	if err := forwarding.Copy(x.w, x.deadlines, res); err != nil && x.interrupted() == nil {
		panic(http.ErrAbortHandler) // so that the client does not take it for the end
	}
	return true, nil, nil
}

// seal returns the frame of a request for a server, plain and sealed.
func (x *httpRequest) seal(owner shared.Replica, session string, out *outgoing) (sealed string,
	frame *forwarding.Frame, refused *refusal) {
	f := x.forwarder
	own, err := x.replicas.Await(x.r.Context())
	if err != nil {
		return "", nil, x.storeRefusal(x.r.Context(), err).forID(out.id)
	}
	frame = &forwarding.Frame{From: own.Name, Sequence: f.Sequence.Add(1), Fence: owner.Fence,
		Method: x.r.Method, Path: requestPath(x.r), Session: session, Header: http.Header{},
		Digest: forwarding.Digest(out.body), Principal: x.principal, Expires: x.expires,
		Attempt: out.attempt, Made: x.replicas.Now()}
	for _, name := range forwardedHeaders {
		if values := x.r.Header[name]; values != nil {
			frame.Header[name] = values
		}
	}
	if values := x.o.Forward.Values; values != nil {
		err = contain.Do(func() (err error) {
			frame.Values, err = values(x.r.Context())
			return err
		})
	}
	if err == nil {
		sealed, err = f.Sealer.Seal(owner.Name, frame)
	}
	switch {
	case errors.Is(err, forwarding.ErrTooLarge):
		refused = newRefusal(http.StatusRequestHeaderFieldsTooLarge, rpc.CodeInvalidRequest,
			"%v to be passed on to the server that has this session", err).forID(out.id)
	case err != nil:
		x.o.Logger.Error("a request could not be passed on", "error", err)
		refused = newRefusal(http.StatusInternalServerError, rpc.CodeInternalError,
			"the request could not be passed on; the log has the cause").forID(out.id)
	}
	return sealed, frame, refused
}

// requestPath returns the path of a request as its client has sent it: a program may have removed a
// prefix.
func requestPath(r *http.Request) string {
	if path, _, _ := strings.Cut(r.RequestURI, "?"); strings.HasPrefix(path, "/") {
		return path
	}
	return r.URL.EscapedPath()
}

// claimForwarded makes sure that a request whose connection broke may be sent again, or returns the
// refusal because nobody knows whether it has begun.
func (x *httpRequest) claimForwarded(session string, out *outgoing) *refusal {
	switch {
	case out.isBatch:
		return unknownOutcome("a request of the batch")
	case !out.isCall:
		out.attempt++ // nobody claims it, and it waits until its first copy has ended
		return nil
	}
	first, err := x.shared.Claim(x.r.Context(), session, out.id.String(), out.attempt)
	switch {
	case err != nil:
		return x.storeRefusal(x.r.Context(), err).forID(out.id)
	case !first:
		return unknownOutcome("the request").forID(out.id)
	}
	out.attempt++
	return nil
}
