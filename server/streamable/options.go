package streamable

import (
	"cmp"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/server"
)

// Options are the settings of a [Handler]. The zero value is ready for use.
type Options struct {
	// Principal tells who sends a request; everybody is served, as "", if it is nil. It is called for every request, before the body is read, by any
	// number of goroutines at a time. A [*Refusal] says how a request is refused; any other error is a 401, whose text goes to the log only.
	Principal func(*http.Request) (string, error)
	// Authorize stands in for Principal where more than a name is to be known of who sends a request, such as what they may do; [Caller] has it. It is called like
	// Principal, which is not called then.
	Authorize func(*http.Request) (Caller, error)

	// AllowedHosts are the only names and addresses that a request's Host header may have, without port; case does not count. None: where
	// a request comes to a loopback address, localhost, 127.0.0.1 and ::1, and elsewhere any, unless a browser sends it: a page may only call a host
	// that is an address or is named here. Behind a proxy on the same machine, name those that it passes on.
	AllowedHosts []string
	// AllowedOrigins are the web sites, such as https://example.com, whose pages may call this from a browser, beside those of the host itself; "*" for all.
	AllowedOrigins []string

	MaxBody int64 // bytes of a request's body; 0: 4 MiB

	// What there may be at a time. A principal has at most half of what the others leave, see
	// package quota; those that Authorize knows as "" count as one. Where there is no Authorize,
	// everybody is the same one, who may have all.
	MaxRequests int // requests that are being answered; 0: 1024
	MaxStreams  int // streams that are open without a request to answer, and subscriptions; 0: 4096
	// MaxSessions is how many legacy sessions there may be; 0: 10,000. Over it, a session that has
	// been idle for a minute at least makes room: of the principal who has its share, or of the one
	// who has most. Of those, it is the one that was idle the longest.
	MaxSessions int

	SessionIdle time.Duration // how long a legacy session may be without a request or stream; 0: 30 minutes
	Heartbeat   time.Duration // after how long a silence a comment is sent, so that nobody in between takes a stream for dead; 0: 15 s

	// What is kept of streams, for legacy clients that come back: events and bytes of each session,
	// and bytes of all together; 0: 256, 1 MiB and 64 MiB. Whoever comes back for what is no longer
	// kept is told so, with status 400. Over MaxStored, the oldest events go of the principal for
	// whom the most is kept.
	MaxEvents     int
	MaxEventBytes int
	MaxStored     int

	// Replicas says that this is one of several servers behind one address, which share a StateKey and nothing else, and that any of them may get a client's next
	// request. Modern clients see no difference. A legacy client carries its session, which any of the servers takes up; it is asked nothing, can neither subscribe to
	// resources nor set a log level, and cannot come back to a stream that was cut unless it reaches the same server. Its session ends after a day.
	Replicas bool

	// HTTPSSE serves the transport of 2024-11-05 too: a GET that names no session opens a stream, whose first event says where to send messages.
	HTTPSSE bool

	// Logger hears of refused principals, once a second for each address, of a Principal that
	// panics, and of what could not be answered, never of headers or bodies; nil: slog.Default().
	// Handlers that panic are in the log of the server.
	Logger *slog.Logger
}

// New returns a handler with default options, like Options{}.New(s).
func New(s *server.Server) *Handler { return Options{}.New(s) }

// New returns a handler that serves s with these options.
func (o Options) New(s *server.Server) *Handler {
	o.MaxBody = cmp.Or(o.MaxBody, 4<<20)
	o.MaxRequests = cmp.Or(o.MaxRequests, 1024)
	o.MaxStreams = cmp.Or(o.MaxStreams, 4096)
	o.MaxSessions = cmp.Or(o.MaxSessions, 10_000)
	o.SessionIdle = cmp.Or(o.SessionIdle, 30*time.Minute)
	o.Heartbeat = cmp.Or(o.Heartbeat, 15*time.Second)
	o.MaxEvents = cmp.Or(o.MaxEvents, 256)
	o.MaxEventBytes = cmp.Or(o.MaxEventBytes, 1<<20)
	o.MaxStored = cmp.Or(o.MaxStored, 64<<20)
	o.Logger = contain.Logger(o.Logger)
	if principal := o.Principal; principal != nil && o.Authorize == nil {
		o.Authorize = func(r *http.Request) (c Caller, err error) {
			c.Principal, err = principal(r)
			return c, err
		}
	}
	o.AllowedHosts = slices.Clone(o.AllowedHosts)
	for i, host := range o.AllowedHosts {
		o.AllowedHosts[i] = hostname(host)
	}
	o.AllowedOrigins = slices.Clone(o.AllowedOrigins)
	for i, origin := range o.AllowedOrigins {
		o.AllowedOrigins[i] = strings.ToLower(origin)
	}
	return newHandler(o, s)
}
