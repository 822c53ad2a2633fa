package retryafter

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestParse(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, "-1": 0, "1.5": 0, "soon": 0, " 1": 0, "1e3": 0,
		"2147483647": 2147483647 * time.Second, "2147483648": 0,
		"Thu, 01 Jan 2026 00:00:30 GMT": 30 * time.Second,
		"Wed, 31 Dec 2025 23:59:59 GMT": 0,
	} {
		assert.Equal(t, Parse(value, now), want, value)
	}
}
