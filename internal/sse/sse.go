// Package sse reads and writes event streams, the text/event-stream format of Server-Sent Events
// (WHATWG HTML, section 9.2 "Server-sent events"). It processes bytes and does not depend on HTTP
// or JSON.
//
// A stream consists of lines. A line is a field, a comment or blank, and a blank line ends an
// event:
//
//	: a comment, ignored              keeps a quiet connection open
//	retry: 2000                       wait 2 s before connecting again
//	id: 7                             where to resume: the Last-Event-ID header
//	event: message                    the type; message if absent
//	data: {"jsonrpc":"2.0",           any number of lines, joined by LF
//	data: "id":1,"result":{}}
//	                                  the event is dispatched here
//
// A [Reader] parses a stream into events. [Append], [AppendComment] and [AppendRetry] append to a
// byte slice, which the caller writes with one Write, so that no other writer can split an event.
//
// # In MCP
//
// Streamable HTTP (2025-03-26 and later) and the older HTTP+SSE (2024-11-05) send each JSON-RPC
// message as the data of one event of type "message". Other uses:
//
//   - An event with an id and empty data opens a resumable stream (2025-11-25, "Sending Messages to
//     the Server"). A Reader returns it like any event, without Data; its receiver only has to note
//     the id.
//   - A server that closes a connection early first sends retry, which the client must honour. The
//     client resumes with [Reader.LastEventID] in the Last-Event-ID header and reads on with
//     [Reader.Reset].
//   - Comments keep long streams alive (2026-07-28, "Receiving Messages"). A Reader skips them, so
//     a client that wants to detect a silent server must watch the bytes it reads. 2026-07-28 has
//     no resumption and so no ids.
//   - HTTP+SSE sends the address for the client's messages as the data of an event of type
//     "endpoint".
//
// # Bounds
//
// A Reader holds the data of one event and one other field, within [Limits], and a read buffer of 4
// to 64 KiB. Its memory grows with the bytes that arrived. Comments and unknown fields need no
// memory, however long they are. Too large an event is a [*LimitError]; the Reader skips it without
// keeping it.
package sse

// Defaults of [Limits].
const (
	DefaultMaxData  = 64 << 20 // 64 MiB
	DefaultMaxField = 4 << 10  // 4 KiB
)

// DefaultType is the type of an event without one.
const DefaultType = "message"

// An Event is one event of a stream.
type Event struct {
	// ID is, in an event that was read, the last event id: that of the event or of an earlier one.
	// In an event to write it is the id of the event; empty for none.
	ID string
	// Type is never empty in an event that was read. In an event to write, empty omits it, which
	// means DefaultType.
	Type string
	// Data is the lines of data joined by LF. It may be empty. In an event that was read it is
	// valid UTF-8 and valid until the next call of Next or Reset.
	Data []byte
}

// Limits bounds what a Reader accepts. A field that is not positive means its default.
type Limits struct {
	// MaxData is the maximal size of the data of an event as received, in bytes, including the LFs
	// that join its lines. Decoding invalid UTF-8 can make it up to three times as long.
	MaxData int
	// MaxField is the maximal size of the value of id, event or retry, in bytes.
	MaxField int
}

func (l Limits) withDefaults() Limits {
	if l.MaxData <= 0 {
		l.MaxData = DefaultMaxData
	}
	if l.MaxField <= 0 {
		l.MaxField = DefaultMaxField
	}
	return l
}
