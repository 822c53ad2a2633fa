package rpc

import (
	"bytes"
	"strconv"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// An ID identifies a request among those of its sender that have no response yet (JSON-RPC 2.0,
// section 4). It is comparable and keeps its JSON text: 9007199254740993, 1.5, "" and "\u0061" are
// sent back byte for byte. The zero ID is absent, which makes a message a notification.
type ID struct {
	// A canonical integer is kept in num, so that the usual id needs no allocation. Any other id is
	// kept in raw, as its JSON token.
	raw  string
	num  int64
	kind idKind
}

type idKind uint8

const (
	noID idKind = iota
	intID
	rawID // a string, or a number that is not a canonical int64
	nullID
)

// IntID returns the id n.
func IntID(n int64) ID { return ID{num: n, kind: intID} }

// ParseID parses the JSON text of an id: a string, a number or null. The error for anything else
// matches [ErrInvalidRequest].
func ParseID(text []byte) (ID, error) {
	text = bytes.Trim(text, " \t\r\n")
	if jsonscan.Valid(text) == nil {
		if id, ok := idFromToken(text); ok {
			return id, nil
		}
	}
	return ID{}, &Error{Code: CodeInvalidRequest, Message: "an id must be a string or a number"}
}

// idFromToken parses a token that has been validated.
func idFromToken(token []byte) (ID, bool) {
	switch c := token[0]; {
	case c == '"':
		return ID{raw: string(token), kind: rawID}, true
	case c == 'n':
		return ID{kind: nullID}, true
	case c == '-' || '0' <= c && c <= '9':
		if n, ok := canonicalInt(token); ok {
			return IntID(n), true
		}
		return ID{raw: string(token), kind: rawID}, true
	}
	return ID{}, false
}

// canonicalInt returns the int64 whose shortest decimal form is token.
func canonicalInt(token []byte) (int64, bool) {
	digits, sign := token, int64(1)
	if token[0] == '-' {
		digits, sign = token[1:], -1
	}
	if digits[0] == '0' && len(token) > 1 {
		return 0, false // -0, 0.5
	}
	if len(digits) > 18 { // may overflow below
		n, err := strconv.ParseInt(string(token), 10, 64)
		return n, err == nil
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return sign * n, true
}

// Integer returns the id as that of [IntID] if it is an integer in another notation: "1", 1.0 or
// 1e0 in place of 1. Some peers write the id of a response so. In a request these are different
// ids. The text of a string must be that of the integer exactly.
func (id ID) Integer() (integer ID, ok bool) {
	if id.kind != rawID {
		return id, id.kind == intID
	}
	if text, isText := jsonscan.Unquote([]byte(id.raw)); !isText {
		n, ok := jsonscan.Int([]byte(id.raw), 64)
		return IntID(n), ok
	} else if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return IntID(n), strconv.FormatInt(n, 10) == string(text)
	}
	return ID{}, false
}

// IsZero reports whether the id is absent: the message is a notification.
func (id ID) IsZero() bool { return id.kind == noID }

// IsNull reports whether the id is JSON null, as in an error about a message whose id could not be
// read.
func (id ID) IsNull() bool { return id.kind == nullID }

// AppendJSON appends the id as it was received, or null if it is absent.
func (id ID) AppendJSON(dst []byte) []byte {
	if id.kind == intID {
		return strconv.AppendInt(dst, id.num, 10)
	}
	return append(dst, id.String()...)
}

// String returns the id's JSON text.
func (id ID) String() string {
	switch id.kind {
	case intID:
		return strconv.FormatInt(id.num, 10)
	case rawID:
		return id.raw
	}
	return "null"
}

// MarshalJSON implements [json.Marshaler].
func (id ID) MarshalJSON() ([]byte, error) { return id.AppendJSON(nil), nil }

// UnmarshalJSON implements [json.Unmarshaler].
func (id *ID) UnmarshalJSON(text []byte) (err error) {
	*id, err = ParseID(text)
	return err
}
