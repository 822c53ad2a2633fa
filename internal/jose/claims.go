package jose

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Claims are the claims of a JWT (RFC 7519, section 4.1). An absent claim has the zero value.
type Claims struct {
	Issuer    string      `json:"iss,omitempty"`
	Subject   string      `json:"sub,omitempty"`
	Audience  Audience    `json:"aud,omitempty"`
	Expires   NumericDate `json:"exp,omitzero"`
	NotBefore NumericDate `json:"nbf,omitzero"`
	IssuedAt  NumericDate `json:"iat,omitzero"`
	ID        string      `json:"jti,omitempty"`
	// the other claims, by name
	Others map[string]json.RawMessage `json:"-" unknown:"keep"`
}

// ParseClaims parses the payload of a verified token. A claim may occur once. The error matches
// [ErrMalformed].
func ParseClaims(payload []byte) (*Claims, error) {
	c := &Claims{}
	if err := codec.Unmarshal(payload, c); err != nil {
		if e, ok := errors.AsType[*jsonexact.DecodeError](err); ok && e.Path != "" {
			// the value may be secret
			return nil, malformed("claims", "%q has the wrong type or occurs twice", e.Path)
		}
		return nil, malformed("claims", "not the JSON that is wanted")
	}
	return c, nil
}

// Text returns a string claim of [Claims.Others], or "" if it is absent or null. The error matches
// [ErrMalformed].
func (c *Claims) Text(name string) (string, error) {
	raw := c.Others[name]
	if raw == nil || string(raw) == "null" {
		return "", nil
	}
	text, ok := jsonscan.Text(raw)
	if !ok {
		return "", malformed("claims", "%q is no string", name)
	}
	return text, nil
}

const maxAudience = 64 // resources that a token may be for

// An Audience is the audience of a token: in JSON a string or an array of strings.
type Audience []string

// UnmarshalJSON implements [json.Unmarshaler].
func (a *Audience) UnmarshalJSON(text []byte) error {
	one, ok := jsonscan.Text(text)
	if ok {
		*a = Audience{one}
		return nil
	}
	var all []string
	if err := jsonexact.Unmarshal(text, &all); err != nil || all == nil {
		return errors.New("want a string, or an array of them")
	}
	if len(all) > maxAudience {
		return errors.New("too many")
	}
	*a = all
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (a Audience) MarshalJSON() ([]byte, error) {
	if len(a) == 1 {
		return jsonscan.AppendString(nil, a[0]), nil
	}
	return jsonexact.Marshal([]string(a))
}

// A NumericDate is a time: in JSON a number of seconds since 1970. Fractions are dropped.
type NumericDate struct{ time.Time }

// UnmarshalJSON implements [json.Unmarshaler].
func (d *NumericDate) UnmarshalJSON(text []byte) error {
	const last = 1 << 38 // beyond the year 10000
	seconds, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(0 <= seconds && seconds < last) { // false for NaN
		return errors.New("want a number of seconds since 1970")
	}
	d.Time = time.Unix(int64(seconds), 0)
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (d NumericDate) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, d.Unix(), 10), nil
}
