package format

import (
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/lazyregexp"
)

// IsDateTime checks date-time of RFC 3339, section 5.6.
func IsDateTime(text string) bool {
	return len(text) > 10 && text[10]|0x20 == 't' && IsDate(text[:10]) && IsTime(text[11:])
}

// IsDate reports whether a text is a date.
func IsDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil && len(text) == len(time.DateOnly)
}

// IsTime checks full-time of the same section. The second 60 is valid only at the end of a day in
// UTC, where leap seconds are inserted.
func IsTime(text string) bool {
	if len(text) < len("15:04:05Z") || text[2] != ':' || text[5] != ':' {
		return false
	}
	hour, minute, second := twoDigits(text[0:2]), twoDigits(text[3:5]), twoDigits(text[6:8])
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60 {
		return false
	}
	zone := text[8:]
	if zone[0] == '.' {
		fraction := strings.TrimLeft(zone[1:], "0123456789")
		if len(fraction) == len(zone)-1 {
			return false
		}
		zone = fraction
	}
	offset := 0
	if zone != "Z" && zone != "z" {
		if len(zone) != len("+00:00") || zone[0] != '+' && zone[0] != '-' || zone[3] != ':' {
			return false
		}
		hours, minutes := twoDigits(zone[1:3]), twoDigits(zone[4:6])
		if hours < 0 || hours > 23 || minutes < 0 || minutes > 59 {
			return false
		}
		if offset = hours*60 + minutes; zone[0] == '-' {
			offset = -offset
		}
	}
	const day = 24 * 60
	return second < 60 || (hour*60+minute-offset+day)%day == day-1
}

// twoDigits returns the value of two digits, or -1 if they are not digits.
func twoDigits(text string) int {
	if text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9' {
		return -1
	}
	return int(text[0]-'0')*10 + int(text[1]-'0')
}

// The grammar of RFC 3339, appendix A, in which units may be omitted only at either end: P1Y1D is
// invalid.
const (
	durationTime = `T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)`
	durationDate = `(?:\d+D|\d+M(?:\d+D)?|\d+Y(?:\d+M(?:\d+D)?)?)`
)

var duration = lazyregexp.New(`^P(?:\d+W|` + durationDate + `(?:` + durationTime + `)?|` +
	durationTime + `)$`)

// IsDuration reports whether a text is a duration.
func IsDuration(text string) bool { return duration().MatchString(text) }
