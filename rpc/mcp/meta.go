package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The keys of _meta that the specification reserves (MCP 2026-07-28, Base Protocol, "_meta").
const (
	MetaProgressToken = "progressToken" // requests: asks for progress notifications

	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"    // modern requests, required
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities" // modern requests, required
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"         // modern requests
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"           // modern requests: asks for log messages
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"         // modern results
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"     // what flows on a subscriptions/listen stream

	MetaRelatedTask            = "io.modelcontextprotocol/related-task"             // 2025-11-25: the task a message belongs to
	MetaModelImmediateResponse = "io.modelcontextprotocol/model-immediate-response" // 2025-11-25: what to tell the model meanwhile

	MetaTraceparent = "traceparent" // W3C Trace Context
	MetaTracestate  = "tracestate"  // W3C Trace Context
	MetaBaggage     = "baggage"     // W3C Baggage
)

// Meta is a _meta object: what a message or object carries beside its own fields. The accessors return the zero value for a
// key that is absent, and an error that names the key if its value has another shape.
type Meta map[string]json.RawMessage

// Get decodes the value of key into v, which is as for [Unmarshal], and reports whether the key is there.
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

// Set gives key the value v, and makes the map if there is none yet.
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

// ProtocolVersion returns the revision in which a modern request is written.
func (m Meta) ProtocolVersion() (Revision, error) { return metaValue[Revision](m, MetaProtocolVersion) }

// ClientCapabilities returns what the client can do, for this request only; nil if it does not say.
func (m Meta) ClientCapabilities() (*ClientCapabilities, error) {
	return metaValue[*ClientCapabilities](m, MetaClientCapabilities)
}

// ClientInfo returns the client's name and version; nil if it does not say. Nobody has verified it.
func (m Meta) ClientInfo() (*Implementation, error) {
	return metaValue[*Implementation](m, MetaClientInfo)
}

// ServerInfo returns the server's name and version; nil if it does not say. Nobody has verified it.
func (m Meta) ServerInfo() (*Implementation, error) {
	return metaValue[*Implementation](m, MetaServerInfo)
}

// LogLevel returns the level from which on a modern request asks for log messages; zero if it asks for none.
func (m Meta) LogLevel() (LoggingLevel, error) { return metaValue[LoggingLevel](m, MetaLogLevel) }

// ProgressToken returns the token with which a request asks for progress; zero if it does not.
func (m Meta) ProgressToken() (ProgressToken, error) {
	return metaValue[ProgressToken](m, MetaProgressToken)
}

// SubscriptionID returns the id of the subscriptions/listen request on whose stream a message flows; zero outside of one.
func (m Meta) SubscriptionID() (RequestID, error) { return metaValue[RequestID](m, MetaSubscriptionID) }

// RelatedTask returns the id of the 2025-11-25 task to which a message belongs; "" if it belongs to none.
func (m Meta) RelatedTask() (string, error) {
	v, err := metaValue[RelatedTask](m, MetaRelatedTask)
	return v.TaskID, err
}

func metaValue[T any](m Meta, key string) (v T, err error) {
	_, err = m.Get(key, &v)
	return v, err
}

// CheckMetaKey reports, as nil or an error that says what is wrong, whether key is a well-formed key of _meta: an optional
// prefix of labels with dots between and a slash behind, then a name (MCP 2026-07-28, Base Protocol, "_meta").
func CheckMetaKey(key string) error {
	prefix, name, hasPrefix := cutPrefix(key)
	if hasPrefix {
		for label := range strings.SplitSeq(prefix, ".") {
			if label == "" || !isLetter(label[0]) || !isAlnum(label[len(label)-1]) || !consistsOf(label, "-") {
				return fmt.Errorf("the _meta key %.64q has a bad label %.64q: a label starts with a letter, ends with a letter or digit, and has only these and '-'", key, label)
			}
		}
	}
	if name != "" && (!isAlnum(name[0]) || !isAlnum(name[len(name)-1]) || !consistsOf(name, "-_.")) {
		return fmt.Errorf("the _meta key %.64q has a bad name %.64q: a name starts and ends with a letter or digit, and has only these, '-', '_' and '.'", key, name)
	}
	return nil
}

// CheckExtensionID reports, as nil or an error, whether id can name an extension: a key as for [CheckMetaKey], with a prefix
// (MCP 2026-07-28, Versioning, "Extension Negotiation").
func CheckExtensionID(id string) error {
	if _, _, ok := cutPrefix(id); !ok {
		return fmt.Errorf("the extension id %.64q has no prefix: write com.example/name", id)
	}
	return CheckMetaKey(id)
}

// IsReservedMetaKey reports whether key belongs to MCP: the second label of its prefix is modelcontextprotocol or mcp, or it
// is one of the bare keys that the specification names.
func IsReservedMetaKey(key string) bool {
	prefix, _, ok := cutPrefix(key)
	if !ok {
		return key == MetaProgressToken || key == MetaTraceparent || key == MetaTracestate || key == MetaBaggage
	}
	_, rest, _ := strings.Cut(prefix, ".")
	second, _, _ := strings.Cut(rest, ".")
	return second == "modelcontextprotocol" || second == "mcp"
}

func cutPrefix(key string) (prefix, name string, ok bool) {
	if i := strings.IndexByte(key, '/'); i >= 0 {
		return key[:i], key[i+1:], true
	}
	return "", key, false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isAlnum(c byte) bool  { return isLetter(c) || '0' <= c && c <= '9' }

// consistsOf reports whether s has only letters, digits and the bytes of others.
func consistsOf(s, others string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte(others, s[i]) < 0 {
			return false
		}
	}
	return true
}
