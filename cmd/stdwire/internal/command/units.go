package command

import (
	"fmt"
	"strings"
	"time"
)

// Size shows a number of bytes.
func Size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1000_000)
}

// ShortDuration is 5m for 5m0s.
func ShortDuration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-len(zero)+1]
		}
	}
	return text
}

func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Count is 1 server, 2 servers.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Joined joins what is not empty.
func Joined(between string, parts ...string) string {
	text := ""
	for _, part := range parts {
		if text != "" && part != "" {
			text += between
		}
		text += part
	}
	return text
}
