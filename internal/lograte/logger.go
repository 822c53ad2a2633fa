package lograte

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
)

const (
	burst    = 100  // lines of one kind that may follow each other at once
	maxKinds = 1000 // remembered at a time; further kinds share one allowance
)

// Logger returns a logger that passes on 100 lines of a kind at once and then one a second, so that
// a peer that can cause a line cannot fill a log. Lines are of one kind if they have the same
// message and the same attribute "server". The first line after suppressed ones has their number.
// Logger recovers panics of the handler, as [contain.Logger] does, and returns l if it has the
// limit already.
func Logger(l *slog.Logger) *slog.Logger {
	if l != nil {
		if _, ok := l.Handler().(handler); ok {
			return l
		}
	}
	return slog.New(handler{next: contain.Logger(l).Handler(), kinds: new(kinds)})
}

// A handler passes on the records that kinds allows.
type handler struct {
	next   slog.Handler
	kinds  *kinds
	server string // the attribute of WithAttrs
}

func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	k := kind{r.Message, h.server}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "server" {
			k.server = a.Value.String()
		}
		return a.Key != "server"
	})
	suppressed, ok := h.kinds.allow(k, time.Now())
	if !ok {
		return nil
	}
	if suppressed > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("suppressed", suppressed))
	}
	return h.next.Handle(ctx, r)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		if a.Key == "server" {
			h.server = a.Value.String()
		}
	}
	h.next = h.next.WithAttrs(attrs)
	return h
}

func (h handler) WithGroup(name string) slog.Handler {
	h.next = h.next.WithGroup(name)
	return h
}

// A kind is what lines have in common that share an allowance.
type kind struct{ message, server string }

// An allowance is what is left of a kind.
type allowance struct {
	lines      int       // that may follow at once
	since      time.Time // up to which time lines were added
	suppressed int
}

type kinds struct {
	mu   sync.Mutex
	left map[kind]*allowance
}

// allow takes a line from the allowance of a kind.
func (s *kinds) allow(k kind, now time.Time) (suppressed int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == nil {
		s.left = make(map[kind]*allowance)
	}
	a := s.left[k]
	if a == nil {
		if len(s.left) >= maxKinds {
			k = kind{}
		}
		if a = s.left[k]; a == nil {
			a = &allowance{lines: burst, since: now}
			s.left[k] = a
		}
	}
	if passed := int(now.Sub(a.since) / interval); passed > 0 {
		a.lines = min(burst, a.lines+min(passed, burst))
		a.since = a.since.Add(time.Duration(passed) * interval)
	}
	if a.lines == 0 {
		a.suppressed++
		return 0, false
	}
	a.lines--
	suppressed, a.suppressed = a.suppressed, 0
	return suppressed, true
}
