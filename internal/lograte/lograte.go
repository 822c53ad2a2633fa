// Package lograte limits how often a line about somebody on the network is logged, so that nobody
// can fill a log by being refused.
package lograte

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"
)

const (
	interval     = time.Second
	maxAddresses = 1000 // that are remembered
)

// A Limiter lets one line pass for each address in a second. Its zero value is ready for use, by
// any number of goroutines at a time. It remembers 1,000 addresses; when there are more within a
// second, the lines about the others are left out. The addresses of an IPv6 network of 64 bits,
// which is what one host has, are one.
type Limiter struct {
	mu     sync.Mutex
	last   map[netip.Addr]line
	swept  time.Time
	untold int // lines that were left out about addresses that are no longer remembered, or never were
}

// A line is the last one about an address.
type line struct {
	at      time.Time
	leftOut int // since then
}

// Allow says whether a line about a remote address, as [net/http.Request] has it, may be logged
// now. Suppressed is how many were left out since the last one: of this address, and of those that
// are no longer remembered.
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
	case known && now.Sub(before.at) < interval:
		before.leftOut++
		l.last[key] = before
		return 0, false
	case !known && len(l.last) >= maxAddresses && !l.sweep(now):
		l.untold++
		return 0, false
	}
	l.last[key] = line{at: now}
	suppressed, l.untold = before.leftOut+l.untold, 0
	return suppressed, true
}

// sweep forgets addresses about which nothing was logged for a while, and reports whether that has
// made room. It looks once in a while only, as it looks at all of them. Under mu.
func (l *Limiter) sweep(now time.Time) bool {
	if now.Sub(l.swept) < interval {
		return false
	}
	l.swept = now
	for key, old := range l.last {
		if now.Sub(old.at) >= interval {
			l.untold += old.leftOut
			delete(l.last, key)
		}
	}
	return len(l.last) < maxAddresses
}

// Log logs a line about a remote address, with that and how many were left out, if [Limiter.Allow]
// lets it pass.
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

// Network returns what a remote address, as [net/http.Request] has it, counts as: the address
// without its port, or the IPv6 network of 64 bits that it is in. It is the zero value for what is
// no address.
func Network(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	addr := at.Addr().Unmap().WithZone("")
	if addr.Is6() {
		prefix, _ := addr.Prefix(64) // which an address of 128 bits has
		addr = prefix.Addr()
	}
	return addr
}
