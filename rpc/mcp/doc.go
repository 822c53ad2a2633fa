// Package mcp is the vocabulary of the Model Context Protocol: its revisions, method names, error codes, _meta keys, and a Go
// type for every message and content block of every revision from 2024-11-05 to 2026-07-28. It knows no transport and sends
// nothing.
//
// # Two eras
//
// MCP has been spoken in two ways, and this package has words for both.
//
// The legacy era (2024-11-05 to 2025-11-25) begins with a handshake. The client sends initialize ([InitializeParams]), the
// server answers with the revision it chose ([Negotiate], [InitializeResult]), the client says notifications/initialized, and
// what was agreed holds until the connection ends. Either side may then send requests: the client tools/call, the server
// sampling/createMessage, elicitation/create and roots/list.
//
// The modern era (2026-07-28) has no handshake and no session. Every request carries its revision and the client's
// capabilities in params._meta ([Meta.ProtocolVersion], [Meta.ClientCapabilities]); server/discover ([DiscoverResult]) is an
// ordinary request. Only the client sends requests. A server that needs something from the client ends the call with an
// [InputRequiredResult], whose [InputRequests] are the very elicitation/create, sampling/createMessage and roots/list of old;
// the client sends its request again with the answers ([InputAnswers]). Change notifications flow only on a stream that the
// client opened with subscriptions/listen ([ListenParams]). Every result says what it is (resultType) and some say how long
// they may be kept ([CacheHints]).
//
// [FeaturesOf] tells what a revision has, [MethodAt] which methods exist in it and who sends them.
//
// # One type for all revisions
//
// A message has one Go type. Fields that only some revisions know are left out of the JSON when they are zero, so a legacy
// message is that type with the younger fields unset. Each file holds one subject: lifecycle.go, tools.go, resources.go,
// prompts.go, completion.go, logging.go, progress.go, sampling.go, elicitation.go, roots.go, inputrequired.go,
// subscriptions.go, tasks.go; content.go has what tools and prompts are made of.
//
// # JSON
//
// [Unmarshal], [Marshal] and [Append] are how these types are read and written. Every type with a field Extra calls them from
// its UnmarshalJSON and MarshalJSON, so that encoding/json gives the same. They differ from plain encoding/json on purpose:
//
//   - Keys match exactly. encoding/json lets "NAME" fill the field name, so that two programs can read two different
//     messages out of the same bytes.
//   - A key that occurs twice in an object is refused, for the same reason ([ErrDuplicateKey]).
//   - Unknown fields of the types that have an Extra field survive decoding and encoding, and an unknown content block stays
//     whole ([UnknownContent]), so that a gateway can pass on what it does not understand.
//   - A required field is always written: [] for a nil slice, {} for a nil map; never null.
//
// JSON of which the protocol does not fix the shape (a schema, a tool's arguments, structured content) is a
// [encoding/json.RawMessage]: the bytes as they came.
//
// Values of this package may be shared between goroutines as long as nobody changes them; its functions may be called from
// any.
package mcp
