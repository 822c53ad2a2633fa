package mcp

import (
	"errors"
	"strconv"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A ProgressToken relates progress notifications to a request: a JSON string or number, kept as it
// was received so that it is sent back byte for byte. It is comparable; the zero value is no token.
type ProgressToken struct{ text string }

// A RequestID is the id of a JSON-RPC request inside another message: a JSON string or number, kept
// as it was received. It is comparable; the zero value is no id.
type RequestID struct{ text string }

var errNotToken = errors.New("want a string or a number")

// StringToken returns the token with the text s.
func StringToken(s string) ProgressToken {
	return ProgressToken{string(jsonscan.AppendString(nil, s))}
}

// IntToken returns the token with the number n.
func IntToken(n int64) ProgressToken { return ProgressToken{strconv.FormatInt(n, 10)} }

// ParseProgressToken parses the JSON text of a token. It fails if that is neither a string nor a
// number.
func ParseProgressToken(text []byte) (ProgressToken, error) {
	s, err := scalar(text)
	return ProgressToken{s}, err
}

// ParseRequestID parses the JSON text of an id. It fails if that is neither a string nor a number.
func ParseRequestID(text []byte) (RequestID, error) {
	s, err := scalar(text)
	return RequestID{s}, err
}

// scalar returns text without surrounding white space if it is one JSON string or number.
func scalar(text []byte) (string, error) {
	i := jsonscan.Space(text, 0)
	if i == len(text) || text[i] != '"' && text[i] != '-' && (text[i] < '0' || text[i] > '9') {
		return "", errNotToken
	}
	end, err := jsonscan.Value(text, i)
	if err != nil || jsonscan.Space(text, end) != len(text) {
		return "", errNotToken
	}
	return string(text[i:end]), nil
}

// JSON returns the token's JSON text; "" for the zero token.
func (t ProgressToken) JSON() string { return t.text }

// IsZero reports whether t is the zero token.
func (t ProgressToken) IsZero() bool { return t.text == "" }

// String returns the token's JSON text.
func (t ProgressToken) String() string { return t.text }

// MarshalJSON fails for the zero token.
func (t ProgressToken) MarshalJSON() ([]byte, error) { return marshalScalar(t.text) }

// UnmarshalJSON accepts what [ParseProgressToken] does. Null leaves t unchanged.
func (t *ProgressToken) UnmarshalJSON(text []byte) error { return unmarshalScalar(text, &t.text) }

// JSON returns the id's JSON text; "" for the zero id.
func (id RequestID) JSON() string { return id.text }

// IsZero reports whether id is the zero id.
func (id RequestID) IsZero() bool { return id.text == "" }

// String returns the id's JSON text.
func (id RequestID) String() string { return id.text }

// MarshalJSON fails for the zero id.
func (id RequestID) MarshalJSON() ([]byte, error) { return marshalScalar(id.text) }

// UnmarshalJSON accepts what [ParseRequestID] does. Null leaves id unchanged.
func (id *RequestID) UnmarshalJSON(text []byte) error { return unmarshalScalar(text, &id.text) }

func marshalScalar(text string) ([]byte, error) {
	if text == "" {
		return nil, jsonexact.ErrMissing
	}
	return []byte(text), nil
}

func unmarshalScalar(text []byte, to *string) error {
	if string(text) == "null" {
		return nil
	}
	s, err := scalar(text)
	if err == nil {
		*to = s
	}
	return err
}
