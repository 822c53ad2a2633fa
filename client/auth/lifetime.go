package auth

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// A lifetime is a number of seconds. Some write it as a string.
type expiresIn time.Duration

// UnmarshalJSON implements [json.Unmarshaler].
func (l *expiresIn) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	const most = 10 * 365 * 24 * time.Hour
	seconds, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if err != nil || !(seconds >= 0) { // not a number is neither
		return errors.New("want a number of seconds")
	}
	*l = expiresIn(min(seconds, most.Seconds()) * float64(time.Second))
	return nil
}
