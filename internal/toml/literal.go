package toml

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

var (
	decimal = regexp.MustCompile(`^[+-]?(0|[1-9](_?[0-9])*)$`)
	radix   = regexp.MustCompile(`^0(x[0-9A-Fa-f](_?[0-9A-Fa-f])*|o[0-7](_?[0-7])*|b[01](_?[01])*)$`)
	float   = regexp.MustCompile(
		`^[+-]?(0|[1-9](_?[0-9])*)(\.[0-9](_?[0-9])*)?([eE][+-]?[0-9](_?[0-9])*)?$`)
	infOrNaN = regexp.MustCompile(`^[+-]?(inf|nan)$`)
	dateTime = regexp.MustCompile(
		`^(\d{4}-\d\d-\d\d)?([Tt ])?(\d\d:\d\d:\d\d(?:\.\d+)?)?([Zz]|[+-]\d\d:\d\d)?$`)
)

// literal reads a number, a boolean, or a date or time, as JSON.
func (p *parser) literal() ([]byte, error) {
	start := p.i
	for c := p.peek(); isBareKey(c) || c == '+' || c == '.' || c == ':'; c = p.peek() {
		p.i++
	}
	// A space may separate a date from a time.
	if date := p.data[start:p.i]; len(date) == 10 && date[4] == '-' && p.i+1 < len(p.data) &&
		p.data[p.i] == ' ' && isDigit(p.data[p.i+1]) {
		for p.i++; isDigit(p.peek()) ||
			p.i < len(p.data) && strings.IndexByte("+-:.Zz", p.peek()) >= 0; {
			p.i++
		}
	}
	const longest = 1000
	word := string(p.data[start:p.i])
	number := strings.ReplaceAll(word, "_", "")
	switch {
	case word == "":
		return nil, p.errorf(start, "a value is missing before %s", p.describeNext())
	case len(word) > longest:
	case word == "true" || word == "false":
		return []byte(word), nil
	case decimal.MatchString(word), radix.MatchString(word):
		base := 0
		if decimal.MatchString(word) {
			base = 10
		}
		n, err := strconv.ParseInt(number, base, 64)
		if err != nil {
			return nil, p.errorf(start, "the number does not fit in 64 bits; write it as a string")
		}
		return strconv.AppendInt(nil, n, 10), nil
	case float.MatchString(word):
		return []byte(strings.TrimPrefix(number, "+")), nil
	case infOrNaN.MatchString(word), isDateTime(word):
		return jsonscan.AppendString(nil, word), nil
	}
	return nil, p.errorf(start, "%.60q is not a value; text must be in quotation marks", word)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isDateTime reports whether a word is an offset date-time, a local date-time, date or time.
func isDateTime(word string) bool {
	m := dateTime.FindStringSubmatch(word)
	if m == nil {
		return false
	}
	date, separator, clock, zone := m[1], m[2], m[3], m[4]
	both := date != "" && clock != ""
	if (separator != "") != both || zone != "" && !both {
		return false
	}
	if date != "" {
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			return false
		}
	}
	if clock != "" {
		whole, _, _ := strings.Cut(clock, ".")
		// A leap second is valid by RFC 3339 but unknown to package time.
		if strings.HasSuffix(whole, ":60") {
			whole = whole[:len(whole)-2] + "59"
		}
		if _, err := time.Parse(time.TimeOnly, whole); err != nil {
			return false
		}
	}
	if len(zone) > 1 {
		_, err := time.Parse("15:04", zone[1:])
		return err == nil
	}
	return true
}
