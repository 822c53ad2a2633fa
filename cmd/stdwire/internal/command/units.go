package command

import (
	"fmt"
	"strings"
	"time"
)

// Size formats a number of bytes, as in 4.1 kB.
func Size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1000_000)
}

// ShortDuration formats a duration without zero minutes and seconds: 5m rather than 5m0s.
func ShortDuration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-len(zero)+1]
		}
	}
	return text
}

// Milliseconds returns a duration in milliseconds, with microseconds as decimals.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Plural returns "1 server" or "2 servers" for what = "server".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// JoinNonEmpty joins those parts that are not empty.
func JoinNonEmpty(between string, parts ...string) string {
	text := ""
	for _, part := range parts {
		if text != "" && part != "" {
			text += between
		}
		text += part
	}
	return text
}
