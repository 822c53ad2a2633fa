package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
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

// CheckMetaKey returns an error unless key is a valid key of _meta: an optional prefix of labels
// separated by dots and followed by a slash, then a name (MCP 2026-07-28, Base Protocol, "_meta").
func CheckMetaKey(key string) error {
	prefix, name, hasPrefix := cutPrefix(key)
	if hasPrefix {
		for label := range strings.SplitSeq(prefix, ".") {
			if label == "" || !isLetter(label[0]) || !isAlnum(label[len(label)-1]) ||
				!consistsOf(label, "-") {
				return fmt.Errorf(
					"the _meta key %.64q has a bad label %.64q: a label starts with a letter, ends with a letter or digit, and has only these and '-'",
					key, label)
			}
		}
	}
	if name != "" &&
		(!isAlnum(name[0]) || !isAlnum(name[len(name)-1]) || !consistsOf(name, "-_.")) {
		return fmt.Errorf(
			"the _meta key %.64q has a bad name %.64q: a name starts and ends with a letter or digit, and has only these, '-', '_' and '.'",
			key, name)
	}
	return nil
}

// checkExtensionID returns an error unless id is a valid extension id: a key as for [CheckMetaKey],
// with a prefix (MCP 2026-07-28, Versioning, "Extension Negotiation").
func checkExtensionID(id string) error {
	if _, _, ok := cutPrefix(id); !ok {
		return fmt.Errorf("the extension id %.64q has no prefix: write com.example/name", id)
	}
	return CheckMetaKey(id)
}

func cutPrefix(key string) (prefix, name string, ok bool) {
	if i := strings.IndexByte(key, '/'); i >= 0 {
		return key[:i], key[i+1:], true
	}
	return "", key, false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isAlnum(c byte) bool  { return isLetter(c) || '0' <= c && c <= '9' }

// consistsOf reports whether s has only letters, digits and bytes of others.
func consistsOf(s, others string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte(others, s[i]) < 0 {
			return false
		}
	}
	return true
}
