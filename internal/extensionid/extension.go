// Package extensionid checks what identifies extensions of MCP, and encodes how they are declared.
package extensionid

import (
	"encoding/json"
	"fmt"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// Settings returns the settings of an extension as they are declared in the capabilities of a
// client or server (SEP-2133, Negotiation; MCP 2026-07-28, Versioning, "Extension Negotiation").
// Nil settings become an empty object. It fails if id is not a key as for [CheckMetaKey] with a
// prefix, or if the settings do not encode as a JSON object.
func Settings(id string, settings any) (json.RawMessage, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	if settings == nil {
		return json.RawMessage(`{}`), nil
	}
	raw, err := mcp.Marshal(settings)
	if err == nil && (len(raw) == 0 || raw[0] != '{') {
		err = fmt.Errorf("want a JSON object, not %.40s", raw)
	}
	if err != nil {
		return nil, fmt.Errorf("the settings of the extension %s: %w", id, err)
	}
	return raw, nil
}

// IsMethod reports whether any revision of MCP, or an extension that it specifies, has a method
// with this name, so that no other extension can have it.
func IsMethod(name string) bool {
	for _, revision := range revisions {
		if _, has := mcp.MethodAt(name, revision); has {
			return true
		}
	}
	return false
}

var revisions = mcp.Supported()
