// Package mcp is the vocabulary of the Model Context Protocol: its revisions, method names, error
// codes, _meta keys, and Go types for the messages and content blocks of every revision from
// 2024-11-05 to 2026-07-28. It has no transport and sends nothing. Its import path is
// github.com/stdwire/stdwire/rpc/mcp.
//
// # Two eras
//
// MCP has two forms, and this package describes both.
//
// The legacy era (2024-11-05 to 2025-11-25) begins with a handshake. The client sends initialize
// ([InitializeParams]), the server responds with the revision it chose ([InitializeResult]), and
// the client sends notifications/initialized. The negotiated revision and capabilities are valid
// until the connection ends. After the handshake either side may send requests: the client
// tools/call, the server sampling/createMessage, elicitation/create and roots/list.
//
// The modern era (2026-07-28) has no handshake and no session. Every request carries its revision
// and the client's capabilities in params._meta ([MetaProtocolVersion],
// [MetaClientCapabilities]); server/discover ([DiscoverResult]) is an ordinary request. Only the
// client sends requests. A server that needs something from the client ends the call with an
// [InputRequiredResult]. Its [InputRequests] are the same elicitation/create,
// sampling/createMessage and roots/list. The client sends its request again with their results
// ([InputAnswers]). Change notifications are sent only on a stream that the client opened with
// subscriptions/listen ([ListenParams]). Every result has a type (resultType), and some say how
// long they may be cached ([CacheHints]).
//
// [FeaturesOf] returns the features of a revision, and [MethodAt] returns a method of a revision
// and its senders.
//
// # One type for all revisions
//
// A message has one Go type. Fields that only some revisions know are left out of the JSON when
// they are zero, so a legacy message is that type with the newer fields unset. Each file covers one
// subject: lifecycle.go, tools.go, resources.go, prompts.go, completion.go, logging.go,
// progress.go, sampling.go, elicitation.go, roots.go, inputrequired.go, subscriptions.go, tasks.go;
// content.go has the content blocks.
//
// # JSON
//
// [Unmarshal] and [Marshal] decode and encode these types. The types of which
// applications hold values of their own, such as [Tool], [Content] and [CallToolResult], call them
// from UnmarshalJSON and MarshalJSON, so that encoding/json gives the same result. The others are
// parts of these, or messages that packages client and server decode and encode: for them,
// encoding/json loses the members in Extra and writes null for a nil slice.
// The two functions differ from plain encoding/json on purpose:
//
//   - Keys match exactly. encoding/json lets "NAME" set the field name, so that two programs can
//     read two different messages from the same bytes.
//   - A key that occurs twice in an object is refused, for the same reason ([ErrDuplicateKey]).
//   - Unknown fields of the types that have an Extra field survive decoding and encoding, and so
//     does an unknown content block ([UnknownContent]), so that a gateway can forward them.
//   - A required field is always written: [] for a nil slice, {} for a nil map; never null.
//
// JSON whose structure the protocol does not define (a schema, a tool's arguments, structured
// content) is an [encoding/json.RawMessage], which holds the received bytes.
//
// Values of this package may be shared between goroutines as long as none changes them. The
// functions may be called concurrently.
package mcp
