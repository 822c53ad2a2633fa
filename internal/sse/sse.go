// Package sse reads and writes event streams, the text/event-stream format of Server-Sent Events
// (WHATWG HTML, section 9.2 "Server-sent events"). It works on bytes and knows neither HTTP nor JSON.
//
// A stream is lines; a line is a field, a comment or blank, and a blank line ends an event:
//
//	: a comment, of no meaning        keeps a quiet connection open
//	retry: 2000                       wait 2 s before connecting again
//	id: 7                             where to resume from: the Last-Event-ID header
//	event: message                    the type; message if there is none
//	data: {"jsonrpc":"2.0",           any number of lines, joined by LF
//	data: "id":1,"result":{}}
//	                                  here the event is dispatched
//
// A [Reader] turns a stream into events; [Append], [AppendComment] and [AppendRetry] make a stream in a byte
// slice, for the caller to write out in one Write, so that no event is torn apart.
//
// # In MCP
//
// Streamable HTTP (2025-03-26 and later) and the older HTTP+SSE (2024-11-05) send each JSON-RPC message as the
// data of one event of type "message". What else comes up:
//
//   - An event with an id and empty data opens a resumable stream (2025-11-25, "Sending Messages to the Server").
//     It is an event like others, with no Data; its receiver has nothing to do but to know the id.
//   - A server that closes a connection early sends retry first, which the client must honour; the client resumes with
//     [Reader.LastEventID] in the Last-Event-ID header, and reads on with [Reader.Reset].
//   - Comments keep long streams alive (2026-07-28, "Receiving Messages"). A Reader passes over them, so who wants to
//     notice a silent peer must watch the bytes below it. 2026-07-28 has no resumption, hence no ids.
//   - HTTP+SSE sends the address for the client's messages as data of the type "endpoint".
//
// # Bounds
//
// A Reader holds one event's data and one other field, within [Limits], and a read buffer of 4 to 64 KiB. Memory follows the
// bytes that arrived. Comments and unknown fields cost none, however long. Too large an event is a [*LimitError], and the
// stream goes on behind it, as the next blank line is found without keeping what is before it.
package sse

// Defaults of [Limits].
const (
	DefaultMaxData  = 64 << 20 // 64 MiB
	DefaultMaxField = 4 << 10  // 4 KiB
)

// DefaultType is the type of an event that names none.
const DefaultType = "message"

// An Event is one event of a stream.
type Event struct {
	// ID is, in an event that was read, the last event id as of this event: its own, or that of an event before it. In one to
	// be written it is the event's own, or empty for none.
	ID string
	// Type is never empty in an event that was read. In one to be written, empty leaves it out, which means DefaultType.
	Type string
	// Data is the lines of data joined by LF. It may be empty. In an event that was read it is valid UTF-8, and belongs
	// to the Reader: it is valid until the next call of Next or Reset.
	Data []byte
}

// Limits bounds what a Reader accepts. A field that is not positive means its default.
type Limits struct {
	// MaxData is the most bytes of data in one event, as received, with the LFs that join its lines. Data that is not valid
	// UTF-8 can come out up to three times as long.
	MaxData int
	// MaxField is the most bytes in the value of any other field of meaning: id, event, retry.
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
