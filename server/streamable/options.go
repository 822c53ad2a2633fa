package streamable

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Options are the settings of a [Handler]. The zero value is ready to use.
type Options struct {
	// Principal returns the principal that sends a request. If it is nil, every caller is served as
	// the principal "". It is called for every request, before the body is read, concurrently. A
	// [*Refusal] determines the response to a refused request; any other error results in a 401,
	// and its text is only logged. For one static token:
	//
	//	want := sha256.Sum256([]byte("Bearer " + token))
	//	o.Principal = func(r *http.Request) (string, error) {
	//		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
	//		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
	//			return "", errors.New("the token is not the one that was configured")
	//		}
	//		return "operator", nil
	//	}
	Principal func(*http.Request) (string, error)
	// Authorize replaces Principal where the server needs more than a name, such as the caller's
	// permissions; see [Caller]. It is called like Principal, which is then ignored.
	Authorize func(*http.Request) (Caller, error)

	// AllowedHosts are the host names and addresses, without port, that a request's Host header may
	// have. Case is ignored. If it is empty, a request to a loopback address must name localhost
	// or a loopback address, and a request to another address may name any host, except that a web
	// page may only call a host that is an IP address or is listed here. Behind a proxy on the same
	// machine, list the names that the proxy forwards.
	AllowedHosts []string
	// AllowedOrigins are the web origins, such as https://example.com, whose pages may call the
	// server from a browser, in addition to those of the host itself; "*" allows all.
	AllowedOrigins []string

	MaxBody int64 // maximum size of a request body in bytes; 0: 4 MiB

	// Concurrency limits. A principal has at most half of what the others leave, see
	// dispatch.Budget; all callers whose principal Authorize returns as "" share one part. Without
	// Authorize and Principal there is only one principal, which may use everything.
	MaxRequests int // requests being answered; 0: 1024
	MaxStreams  int // GET streams and subscriptions; 0: 4096
	// MaxSessions limits legacy sessions; 0: 10,000. At the limit, a new session replaces one that
	// has been idle for at least a minute: one of the same principal if that has used its share, or
	// else one of the principal with the most sessions. The session idle for longest goes first.
	MaxSessions int

	// how long a legacy session may have no request or stream; 0: 30 minutes
	SessionIdle time.Duration
	// how long a stream may be silent before a comment is sent, so that proxies keep it open; 0: 15
	// s
	Heartbeat time.Duration

	// Limits on stored events, with which a legacy client resumes a stream: events and bytes for
	// each session, and bytes for all sessions; 0: 256, 1 MiB and 64 MiB. A client that resumes
	// from an event no longer stored gets status 400. Over MaxStored, the oldest events of the
	// principal with the most stored bytes are removed. The same limits hold for what the server
	// has in the Store; of MaxStored, a principal may use half of what the others leave there, and
	// events for which nothing is left can be resumed only on the server that sent them.
	MaxEvents     int
	MaxEventBytes int
	MaxStored     int

	// Replicas declares that this is one of several servers behind one address that share only a
	// StateKey, and that any of them may get a client's next request. Nothing changes for modern
	// clients. A legacy client carries its session in the session id, which any of the servers
	// accepts; the server cannot call it, it can neither subscribe to resources nor set a log
	// level, and it can resume a stream only on the same server. Its session ends after a day.
	Replicas bool

	// Store keeps the legacy sessions of several servers behind one address, which have the same
	// Store and StateKey: any of them may get a client's next request. Replicas has no effect then.
	//
	// A session, its log level and subscriptions are in the store, in which each request looks. The
	// client may answer a request of the server, cancel its own, resume the stream of one, say that
	// its roots have changed, and end its session on any server, and hears of changes of lists and
	// resources of all. Requests run where they arrive. If the server that runs one ends without an
	// answer, a client that has resumed its stream gets an error. A call of a tool is refused with
	// 409, and not begun, if one with its id was begun in the session in the last minutes, on
	// whatever server, unless the store has lost that. If the store cannot be used, requests of
	// sessions are refused with 503 and Retry-After, and the sessions go on. So are those of
	// unknown sessions in the first minute of an empty store, in which other servers may put theirs
	// back, unless sessions have owners and the store was away for more than 8 seconds. Modern
	// clients notice nothing. A session ends with the credentials of the request that opened it or
	// first used it on a server; with Forward, on the server that owns it.
	//
	// It also keeps the tasks of clients of both eras, unless [server.TaskOptions].Store is set. A
	// task is in the store before its client hears of it. Any server reports it, passes answers and
	// notifications on, and cancels it. It runs where it began: if that server is killed, or does
	// not reach the store for 11 seconds, its tasks have failed, and the contexts of their handlers
	// end. An outcome waits as long for the store. While the store cannot be used, no task begins,
	// and clients are told to try again with the error [rpc.CodeBusy]. A principal has at most 1024
	// tasks and 64 MiB in the store; over that, ended ones are removed, and if there are none, no
	// task begins. A legacy client without a principal has the tasks of its session, which end when
	// it ends that, or with their time to live. The first handler of a server with a store keeps
	// its tasks; make it before any task begins. When it is closed, those that run fail.
	//
	// Not shared are messages to the client outside of requests, other than those of changes, what
	// operations keep between calls, and HTTPSSE; with Forward all of these but HTTPSSE are found
	// from each server. MaxSessions limits what each server has in memory; it ends a session only
	// if no server has used it for a minute. Stateless ignores the store. nil: there is none.
	Store *Store

	// Forward lets a server with a Store own sessions, so that their requests reach the server that
	// keeps something for them. nil: requests run where they arrive.
	Forward *Forward

	// Stateless serves legacy clients without sessions, as modern ones: each POST is answered by
	// itself, with or without a handshake before it, on any of several servers. The header
	// MCP-Protocol-Version names the revision, which is 2025-03-26 without it, and initialize
	// returns no session id. What needs a session is refused: there are no GET streams, batches,
	// subscriptions, log levels and tasks, the server cannot call the client, and it announces no
	// changes. A client that disconnects cancels its request. Replicas has no effect then: it
	// serves several servers with fewer restrictions, but requires initialize.
	Stateless bool

	// HTTPSSE also serves the HTTP+SSE transport of 2024-11-05: a GET without a session opens a
	// stream, whose first event is the address for messages.
	HTTPSSE bool
	// PublicURL is the address of the handler as clients see it, for the first event of HTTPSSE: a
	// URL of http or https, or a path that begins with "/", without a query. It is necessary behind
	// a proxy that removes a prefix of the path. An invalid one is logged and not used. "": the
	// path of the request.
	PublicURL string

	// Card describes the server to everybody, without authorization, in answer to GET at paths that
	// end with /server-card and, in a list, at /.well-known/ai-catalog.json (SEP-2127). Its first
	// remote is the endpoint, which must be set; its Schema need not be. An invalid card is logged
	// and not served. nil: there is none.
	Card *mcp.ServerCard

	// Logger receives refused callers, at most once a second for each address, panics of Principal
	// and Authorize, and requests that failed with an internal error; never headers or bodies. nil:
	// the server's. Panics of handlers are logged by the server.
	Logger *slog.Logger
}

// A Caller is the sender of an HTTP request, as returned by [Options].Authorize.
type Caller struct {
	Principal string // owner of sessions and sealed state; "": anonymous

	// Context carries values for handlers. It is the request's context or derived from it; nil: the
	// request's. Handlers of the legacy era, which continue after a disconnect, see its values but
	// not its end.
	Context context.Context
	// AuthorizeMessages is called once, after the body has been parsed and before any of it is
	// handled, with all messages of the request: one, several for a batch, none for a GET or
	// DELETE. An error refuses the whole request, like an error of Authorize. nil: all messages are
	// allowed.
	AuthorizeMessages func([]Message) error
	// Expires is when the caller's credentials expire. GET streams and subscriptions are closed
	// then, so that the client authenticates again. The zero time means never.
	Expires time.Time
	// Credentials ends when the caller's credentials are valid no more. Everything that belongs to
	// them ends then: the legacy sessions that they have opened, streams, subscriptions, and
	// running requests, which are answered with 401 unless a stream has begun. nil: that is not
	// known.
	Credentials context.Context
	// Header has additional headers of the response, by canonical name.
	Header http.Header
}

// A Message is one message of a client, for [Caller].AuthorizeMessages.
type Message struct {
	Method string // "": a response
	// Subject is the name that the method refers to: of a tool or prompt, the URI of a resource, or
	// the id of a task.
	Subject string
	// Params are the unmodified params, valid only during the call. They may contain duplicate
	// names; such a request is later refused.
	Params json.RawMessage
}

// Forward are the settings with which a server owns sessions.
//
// The server that opens a session owns it: the requests that reach other servers are passed on to
// it over HTTP, with the streams and their cancellation. So what its operations keep between the
// calls of a session is found again. A server of which the store has not heard for 11 seconds ends
// what it owns, with the streams and running calls; 4 seconds later another one takes the session
// over at its next request, without what was kept. Until then its requests wait, at most 20
// seconds, and get 503 with Retry-After after that.
//
// A call of a tool is begun at most once, as without Forward: if the connection to the owner breaks
// before there is a response, the server claims the call in the store. If nobody has, it runs when
// there is an owner again; otherwise it gets 409, because its outcome is unknown.
//
// A request that is passed on has a header that says who sends it, sealed with the secret of the
// store for the server that is meant, and is accepted once. The addresses are sealed, too. The
// credentials of the client are not passed on, unless Values returns them. Nor is their end, see
// [Caller].Credentials: a request ends with them at the server that it has reached, but a session
// only with those of a request that reached its owner itself, and opened it or was the first there.
type Forward struct {
	// URL is the address at which the other servers reach this one, of http or https, without a
	// path, such as http://10.0.0.5:8081; an address of IPv6 is in brackets. What they send is not
	// encrypted with http. An invalid one is logged, and sessions have no owners then.
	URL string
	// Values returns what the context of Authorize has for handlers, and WithValues adds it to a
	// context on another server, so that they know the same of the caller. nil: they know only the
	// principal there. An error refuses the request.
	Values     func(context.Context) ([]byte, error)
	WithValues func(context.Context, []byte) (context.Context, error)
	// TLS is the configuration of connections to other servers. nil: the default one.
	TLS *tls.Config

	dial func(ctx context.Context, network, address string) (net.Conn, error) // for tests; nil: net
}

// Check returns an error if the URL cannot be used.
func (f *Forward) Check() error {
	u, err := url.Parse(f.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || strings.Trim(u.Path, "/") != "" || strings.ContainsAny(f.URL, "?#") {
		return errors.New("streamable: the URL at which other servers reach this one must be one of " +
			"http or https with a host and nothing after it, such as http://10.0.0.5:8081")
	}
	host := u.Hostname()
	if strings.Contains(host, ":") && !strings.HasPrefix(u.Host, "[") {
		return errors.New("streamable: in the URL at which other servers reach this one, an address of " +
			"IPv6 must be in brackets, such as http://[fd00::5]:8081")
	}
	if address, err := netip.ParseAddr(host); err == nil && address.Unmap().IsUnspecified() {
		return fmt.Errorf("streamable: %s is where this server listens, and not an address at which "+
			"other servers reach it; name that of this machine, such as http://10.0.0.5:8081", host)
	}
	return nil
}

// checkPublicURL returns an error for an invalid Options.PublicURL.
func checkPublicURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return err
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.User != nil:
		return errors.New("it has a query, a fragment or a user")
	case u.Host != "" && (u.Scheme == "http" || u.Scheme == "https"):
		return nil
	case u.Host != "" || u.Scheme != "" || !strings.HasPrefix(u.Path, "/"):
		return errors.New("it is neither a URL of http or https nor a path that begins with /")
	}
	return nil
}
