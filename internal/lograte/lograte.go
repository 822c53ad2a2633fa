// Package lograte limits how often a line about a remote address is logged, so that refused
// requests cannot fill a log.
package lograte

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"
)

const (
	interval     = time.Second // between two lines about one address
	maxAddresses = 1000        // remembered at a time
)

// A Limiter allows one line per address and second. The zero value is ready for use, and methods
// may be called concurrently. It remembers 1,000 addresses. If more occur within a second, the
// lines about the others are suppressed. An IPv6 network of 64 bits, which is what one host has,
// counts as one address.
type Limiter struct {
	mu                  sync.Mutex
	last                map[netip.Addr]line
	swept               time.Time // time of the last sweep
	forgottenSuppressed int       // lines suppressed for addresses that are not remembered
}

// A line is the last line logged about an address.
type line struct {
	time       time.Time
	suppressed int // lines suppressed since then
}

// Allow reports whether a line about a remote address, as in [net/http.Request], may be logged now.
// Suppressed is how many lines were suppressed since the last one: for this address, and for those
// that are not remembered.
func (l *Limiter) Allow(remote string) (suppressed int, ok bool) {
	key := Network(remote)
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last = make(map[netip.Addr]line)
	}
	before, known := l.last[key]
	switch {
	case known && now.Sub(before.time) < interval:
		before.suppressed++
		l.last[key] = before
		return 0, false
	case !known && len(l.last) >= maxAddresses && !l.sweep(now):
		l.forgottenSuppressed++
		return 0, false
	}
	l.last[key] = line{time: now}
	suppressed, l.forgottenSuppressed = before.suppressed+l.forgottenSuppressed, 0
	return suppressed, true
}

// sweep removes addresses without a line in the last interval, and reports whether there is room
// for another. It runs at most once per interval, because it visits all addresses. The caller holds
// mu.
func (l *Limiter) sweep(now time.Time) bool {
	if now.Sub(l.swept) < interval {
		return false
	}
	l.swept = now
	for key, old := range l.last {
		if now.Sub(old.time) >= interval {
			l.forgottenSuppressed += old.suppressed
			delete(l.last, key)
		}
	}
	return len(l.last) < maxAddresses
}

// Log logs a line about a remote address, with the address and the number of suppressed lines, if
// [Limiter.Allow] allows it.
func (l *Limiter) Log(log func(msg string, args ...any), remote, msg string, args ...any) {
	suppressed, ok := l.Allow(remote)
	if !ok {
		return
	}
	args = append(args, slog.String("remote", remote))
	if suppressed > 0 {
		args = append(args, slog.Int("suppressed", suppressed))
	}
	log(msg, args...)
}

// Network returns the key under which [Limiter] counts a remote address, as in [net/http.Request]:
// the IPv4 address without its port, or the IPv6 network of 64 bits, which one host usually has.
// The port may be missing. It returns the zero value for text that is not an address.
func Network(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	addr := at.Addr()
	if err != nil {
		if addr, err = netip.ParseAddr(remote); err != nil {
			return netip.Addr{}
		}
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		prefix, _ := addr.Prefix(64) // no error for an IPv6 address
		addr = prefix.Addr()
	}
	return addr
}
