package auth

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// A tokenResponse is the successful response of a token endpoint (RFC 6749, section 5.1; RFC 8693,
// section 2.2.1).
type tokenResponse struct {
	AccessToken     string    `json:"access_token"`
	TokenType       string    `json:"token_type"`
	ExpiresIn       expiresIn `json:"expires_in"`
	RefreshToken    string    `json:"refresh_token"`
	Scope           string    `json:"scope"`
	IssuedTokenType string    `json:"issued_token_type"`
}

// expiresIn is a duration in seconds. Some servers encode it as a string.
type expiresIn time.Duration

// UnmarshalJSON implements [json.Unmarshaler].
func (l *expiresIn) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	const maximum = 10 * 365 * 24 * time.Hour
	seconds, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if err != nil || !(seconds >= 0) { // also true for NaN
		return errors.New("want a number of seconds")
	}
	*l = expiresIn(min(seconds, maximum.Seconds()) * float64(time.Second))
	return nil
}

// isPrintable reports whether text, which may be empty, consists of visible ASCII and spaces, the
// VSCHAR of RFC 6749, appendix A, of which codes, client IDs, secrets and refresh tokens consist.
func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// isVisible reports whether text is not empty and consists of visible ASCII, as what is sent in an
// Authorization header must.
func isVisible(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return text != ""
}
