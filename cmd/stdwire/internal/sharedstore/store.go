package sharedstore

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// A Store is an open store, with the parts of the program that use it.
type Store struct {
	*store.Redis
	// Forwarded returns how many requests were passed on to other servers. It may be nil.
	Forwarded func() int64

	log     *slog.Logger
	parts   []Part
	changed chan struct{} // has an element after a change
	cancel  context.CancelFunc
	ended   chan struct{}

	mu     sync.Mutex
	why    error // why it cannot be reached; nil if it can
	since  time.Time
	server store.Server
}

// A Part is what uses a store.
type Part struct {
	Name    string // in /readyz, metrics and logs
	Without string // what happens while it does without the store
	// DoesWithout reports whether it does without the store although that can be reached, for
	// instance because it is too slow.
	DoesWithout func() bool
	// IsUsed reports whether there is anything that uses the part. nil: there always is.
	IsUsed func() bool
}

// errConnecting is why a store cannot be reached at first.
var errConnecting = errors.New("no attempt to reach it has ended yet")

// newStore returns a store that is not open yet.
func newStore(log *slog.Logger) *Store {
	return &Store{log: lograte.Logger(log), changed: make(chan struct{}, 1),
		ended: make(chan struct{}), why: errConnecting, since: time.Now()}
}

// Use adds a part. All are added before anything else is done with the store.
func (s *Store) Use(p Part) { s.parts = append(s.parts, p) }

// used returns the parts that are used.
func (s *Store) used() iter.Seq[Part] {
	return func(yield func(Part) bool) {
		for _, p := range s.parts {
			if (p.IsUsed == nil || p.IsUsed()) && !yield(p) {
				return
			}
		}
	}
}

// Start begins to follow the store, and counts its parts in t, which may be nil. It does nothing
// for a nil *Store.
func (s *Store) Start(t *telemetry.Telemetry) {
	if s == nil {
		return
	}
	t.Gauge(telemetry.Instrument{Name: "stdwire.store.used", Unit: "{part}",
		Description: "Parts of the program that use the store: 1, or 0 while one does without it because it cannot be reached or is too slow.",
		Labels:      []string{"part"}},
		func(set func(value float64, labels ...string)) {
			without := s.Status().Affected
			for p := range s.used() {
				used := 1.0
				if _, ok := without[p.Name]; ok {
					used = 0
				}
				set(used, p.Name)
			}
		})
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go s.follow(ctx)
}

// Close closes the store. It does nothing for a nil *Store.
func (s *Store) Close() {
	if s == nil {
		return
	}
	s.Redis.Close()
	if s.cancel != nil {
		s.cancel()
		<-s.ended
	}
}

// change notes whether the store can be reached.
func (s *Store) change(why error) {
	s.mu.Lock()
	if (why == nil) != (s.why == nil) {
		s.since = time.Now()
	}
	s.why = why
	s.mu.Unlock()
	wake.Up(s.changed)
}

// A Status says whether a store can be reached, and what the server is.
type Status struct {
	URL      string // without users and passwords
	Why      error  // why it cannot be reached; nil if it can
	Since    time.Time
	Server   store.Server      // zero before it has been reached
	Affected map[string]string // the parts that do without it, and what happens then
}

// Status returns the status now.
func (s *Store) Status() Status {
	s.mu.Lock()
	status := Status{URL: s.URL(), Why: s.why, Since: s.since, Server: s.server,
		Affected: map[string]string{}}
	s.mu.Unlock()
	for p := range s.used() {
		if status.Why != nil || p.DoesWithout() {
			status.Affected[p.Name] = p.Without
		}
	}
	return status
}

const (
	// aboutTimeout is how long the server has to say something about itself, and aboutPause the
	// time until it is asked again if it has not.
	aboutTimeout = 10 * time.Second
	aboutPause   = time.Second
)

// follow logs changes until ctx ends.
func (s *Store) follow(ctx context.Context) {
	defer close(s.ended)
	down, warned := false, ""
	var again <-chan time.Time // nil, unless the server has not said what it is
	for first := true; ; {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
		case <-again:
		}
		again = nil
		status := s.Status()
		if status.Why != nil {
			if !down {
				s.log.Warn("the store cannot be reached", slog.String("store", status.URL),
					slog.Any("error", status.Why), slog.Any("affected", status.Affected))
			}
			down = true
			continue
		}
		about, err := s.about(ctx)
		if err != nil {
			again = time.After(aboutPause) // it may be slow, or it is lost again
			continue
		}
		if down || first {
			s.log.Info("the store can be reached", slog.String("store", status.URL),
				slog.String("server", about.Name+" "+about.Version),
				slog.String("eviction", evictionText(about)))
		}
		if about.Evicts() && about.Eviction != warned {
			s.log.Warn("the store removes keys when it is full, and then forgets what was used, sessions, "+
				"which calls were begun, logins of users and what operators have decided: set maxmemory-policy to noeviction", slog.String("store", status.URL),
				slog.String("maxmemory-policy", about.Eviction))
			warned = about.Eviction
		}
		down, first = false, false
	}
}

func evictionText(about store.Server) string {
	if about.Eviction == "" {
		return "unknown, as the server does not say"
	}
	return about.Eviction
}

// about asks the server about itself.
func (s *Store) about(ctx context.Context) (store.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, aboutTimeout)
	defer cancel()
	about, err := s.Server(ctx)
	if err == nil {
		s.mu.Lock()
		s.server = about
		s.mu.Unlock()
	}
	return about, err
}
