package mcp

import (
	"encoding/json"
	"fmt"
)

// The keys of _meta that the specification reserves (MCP 2026-07-28, Base Protocol, "_meta").
const (
	MetaProgressToken = "progressToken" // requests: asks for progress notifications

	// modern requests, required
	MetaProtocolVersion = "io.modelcontextprotocol/protocolVersion"
	// modern requests, required
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo" // modern requests
	// modern requests: asks for log messages
	MetaLogLevel   = "io.modelcontextprotocol/logLevel"
	MetaServerInfo = "io.modelcontextprotocol/serverInfo" // modern results
	// messages on a subscriptions/listen stream
	MetaSubscriptionID = "io.modelcontextprotocol/subscriptionId"

	// 2025-11-25: the task that a message belongs to
	MetaRelatedTask = "io.modelcontextprotocol/related-task"
	// a result for the model until the task ends
	MetaModelImmediateResponse = "io.modelcontextprotocol/model-immediate-response"

	// MetaPartial is the key of a list that a gateway returns before it knows all items; its value
	// is an array of the IDs of the servers whose items are missing. It is not part of MCP.
	MetaPartial = "io.github.stdwire/partial"

	// MetaTags is in the _meta of definitions: an array of words that an operator has chosen.
	MetaTags = "io.github.stdwire/tags"

	MetaTraceparent = "traceparent" // W3C Trace Context
	MetaTracestate  = "tracestate"  // W3C Trace Context
	MetaBaggage     = "baggage"     // W3C Baggage
)

// Meta is a _meta object: metadata of a message or an object.
type Meta map[string]json.RawMessage

// Get decodes the value of key into v, as [Unmarshal] does, and reports whether the key is present.
// The error names the key.
func (m Meta) Get(key string, v any) (bool, error) {
	raw, ok := m[key]
	if !ok {
		return false, nil
	}
	if err := Unmarshal(raw, v); err != nil {
		return true, fmt.Errorf("_meta[%q]: %w", key, err)
	}
	return true, nil
}

// Set sets the value of key to v. If the map is nil, Set makes it.
func (m *Meta) Set(key string, v any) error {
	raw, err := Marshal(v)
	if err != nil {
		return fmt.Errorf("_meta[%q]: %w", key, err)
	}
	if *m == nil {
		*m = Meta{}
	}
	(*m)[key] = raw
	return nil
}
