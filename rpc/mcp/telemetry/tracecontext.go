package telemetry

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
)

// A TraceID identifies a trace. The zero TraceID is invalid.
type TraceID [16]byte

// String returns 32 hexadecimal digits.
func (id TraceID) String() string { return hex.EncodeToString(id[:]) }

// A SpanID identifies a span within its trace. The zero SpanID is invalid.
type SpanID [8]byte

// String returns 16 hexadecimal digits.
func (id SpanID) String() string { return hex.EncodeToString(id[:]) }

// newTraceID returns a random ID. The generator is the runtime's ChaCha8, which is seeded by the
// operating system and needs no lock.
func newTraceID() (id TraceID) {
	for id == (TraceID{}) {
		binary.BigEndian.PutUint64(id[:8], rand.Uint64())
		binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id
}

func newSpanID() (id SpanID) {
	for id == (SpanID{}) {
		binary.BigEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}

// A SpanContext is the identity of a span, as messages carry it (W3C Trace Context).
type SpanContext struct {
	Trace   TraceID
	Span    SpanID
	Sampled bool
	// Remote says that the span belongs to another process.
	Remote bool
	// State is the tracestate, or "".
	State string
}

// IsValid reports whether both IDs are valid.
func (c SpanContext) IsValid() bool { return c.Trace != TraceID{} && c.Span != SpanID{} }

// Traceparent returns the value of the traceparent header, of version 00.
func (c SpanContext) Traceparent() string { return string(c.appendTraceparent(nil)) }

func (c SpanContext) appendTraceparent(dst []byte) []byte {
	dst = hex.AppendEncode(append(dst, "00-"...), c.Trace[:])
	dst = hex.AppendEncode(append(dst, '-'), c.Span[:])
	if c.Sampled {
		return append(dst, "-01"...)
	}
	return append(dst, "-00"...)
}

var errTraceparent = errors.New(
	"telemetry: the traceparent is not of the form 00-<32 hex>-<16 hex>-<2 hex> with IDs other than zero")

// traceparentLen is the length of a traceparent of version 00.
const traceparentLen = 2 + 1 + 32 + 1 + 16 + 1 + 2

// ParseSpanContext parses a traceparent of any version (W3C Trace Context, section 3.2); those of
// later versions may be longer. The result is remote. Its State is the tracestate without white
// space around its members and without empty ones (section 3.3), or "" if there is not exactly one
// tracestate, or it is invalid, or has more than 32 members or more than 512 bytes.
func ParseSpanContext(traceparent string, tracestate ...string) (SpanContext, error) {
	c, err := parseTraceparent([]byte(traceparent))
	if err == nil && len(tracestate) == 1 {
		c.State, _ = parseTracestate(tracestate[0])
	}
	return c, err
}

func parseTraceparent(text []byte) (c SpanContext, err error) {
	if len(text) < traceparentLen || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return c, errTraceparent
	}
	var version, flags [1]byte
	if !decodeHex(version[:], text[:2]) || !decodeHex(c.Trace[:], text[3:35]) ||
		!decodeHex(c.Span[:], text[36:52]) || !decodeHex(flags[:], text[53:55]) ||
		version[0] == 0xff || !c.IsValid() {
		return SpanContext{}, errTraceparent
	}
	if len(text) > traceparentLen && (version[0] == 0 || text[traceparentLen] != '-') {
		return SpanContext{}, errTraceparent
	}
	c.Sampled, c.Remote = flags[0]&1 != 0, true
	return c, nil
}

// decodeHex decodes lower-case digits, the only ones that the specification allows.
func decodeHex(dst, text []byte) bool {
	valid := byte(isHexDigit)
	for i := range dst {
		high, low := hexDigits[text[2*i]], hexDigits[text[2*i+1]]
		valid &= high & low
		dst[i] = high<<4 | low&15
	}
	return valid != 0
}

const isHexDigit = 0x10

// hexDigits are the values of the digits, with the bit isHexDigit.
var hexDigits = [256]byte{'0': 0x10, '1': 0x11, '2': 0x12, '3': 0x13, '4': 0x14, '5': 0x15,
	'6': 0x16, '7': 0x17, '8': 0x18, '9': 0x19, 'a': 0x1a, 'b': 0x1b, 'c': 0x1c, 'd': 0x1d,
	'e': 0x1e, 'f': 0x1f}

const (
	maxTracestate        = 512 // bytes; the least that must be forwarded
	maxTracestateMembers = 32
)

// parseTracestate returns the State of a tracestate. It returns false if text is invalid; the
// traceparent is valid nevertheless.
func parseTracestate(text string) (state string, ok bool) {
	if len(text) > maxTracestate {
		return "", false
	}
	var members []string
	for member := range strings.SplitSeq(text, ",") {
		member = strings.Trim(member, " \t")
		if member == "" {
			continue
		}
		key, value, found := strings.Cut(member, "=")
		if !found || !isStateKey(key) || !isStateValue(value) ||
			len(members) == maxTracestateMembers {
			return "", false
		}
		for _, earlier := range members {
			if strings.HasPrefix(earlier, key+"=") {
				return "", false
			}
		}
		members = append(members, member)
	}
	return strings.Join(members, ","), true
}

// isStateKey reports whether key is a simple key, or a tenant and a system joined by an @.
func isStateKey(key string) bool {
	tenant, system, multi := strings.Cut(key, "@")
	if multi {
		return isStateName(tenant, 241, true) && isStateName(system, 14, false)
	}
	return isStateName(key, 256, false)
}

func isStateName(name string, limit int, digitFirst bool) bool {
	if name == "" || len(name) > limit || strings.IndexByte("_-*/", name[0]) >= 0 ||
		!digitFirst && name[0] <= '9' {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("_-*/", c) >= 0) {
			return false
		}
	}
	return true
}

func isStateValue(value string) bool {
	if value == "" || len(value) > 256 || value[len(value)-1] == ' ' {
		return false
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' || c == ',' || c == '=' {
			return false
		}
	}
	return true
}

// A spanContext is a context with a span, at the cost of one allocation.
type spanContext struct {
	context.Context
	span SpanContext
}

type spanKey struct{}

func (c *spanContext) Value(key any) any {
	if _, ok := key.(spanKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// SpanContextFrom returns the span that ctx belongs to; an invalid one if it belongs to none.
func SpanContextFrom(ctx context.Context) SpanContext {
	if c, ok := ctx.Value(spanKey{}).(*spanContext); ok {
		return c.span
	}
	return SpanContext{}
}

// ContextWithParent returns a context in which the next span is a child of parent, or has a link to
// it if its message names another parent. It is for transports with a trace context of their own,
// which they read with [ParseSpanContext]. An invalid parent is ignored.
func ContextWithParent(ctx context.Context, parent SpanContext) context.Context {
	if !parent.IsValid() {
		return ctx
	}
	return &spanContext{ctx, parent}
}
