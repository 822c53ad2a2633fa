package mcp

import (
	"errors"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A ProgressToken relates progress notifications to a request: a JSON string or number, kept as it
// was received so that it is sent back byte for byte. It is comparable; the zero value is no token.
type ProgressToken struct{ text string }

var errNotToken = errors.New("want a string or a number")

// IsZero reports whether t is the zero token.
func (t ProgressToken) IsZero() bool { return t.text == "" }

// String returns the token's JSON text; "" for the zero token.
func (t ProgressToken) String() string { return t.text }

// MarshalJSON fails for the zero token.
func (t ProgressToken) MarshalJSON() ([]byte, error) {
	if t.text == "" {
		return nil, jsonexact.ErrMissing
	}
	return []byte(t.text), nil
}

// UnmarshalJSON accepts one JSON string or number. Null leaves t unchanged.
func (t *ProgressToken) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	i := jsonscan.Space(text, 0)
	if i == len(text) || text[i] != '"' && text[i] != '-' && (text[i] < '0' || text[i] > '9') {
		return errNotToken
	}
	end, err := jsonscan.Value(text, i)
	if err != nil || jsonscan.Space(text, end) != len(text) {
		return errNotToken
	}
	t.text = string(text[i:end])
	return nil
}

// ProgressParams are the params of notifications/progress (MCP 2026-07-28, Progress). Progress
// increases with every notification.
type ProgressParams struct {
	Params
	ProgressToken ProgressToken `json:"progressToken,omitzero"` // that of the request; required
	Progress      float64       `json:"progress"`
	Total         *float64      `json:"total,omitempty"`   // nil if unknown
	Message       string        `json:"message,omitempty"` // since 2025-03-26
}
