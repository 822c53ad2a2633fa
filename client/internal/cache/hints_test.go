package cache

import (
	"math"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestCacheHints(t *testing.T) {
	for _, tc := range []struct {
		text   string
		ttl    time.Duration
		public bool
	}{
		{`{}`, 0, false},
		{`{"ttlMs":-1,"cacheScope":"other"}`, 0, false},
		{`{"ttlMs":0,"cacheScope":"private"}`, 0, false},
		{`{"ttlMs":1500,"cacheScope":"public"}`, 1500 * time.Millisecond, true},
		{`{"ttlMs":9223372036854775807}`, math.MaxInt64 / time.Millisecond * time.Millisecond,
			false},
	} {
		lifetime, public := hints([]byte(tc.text))
		assert.Equal(t, lifetime, tc.ttl, tc.text)
		assert.Equal(t, public, tc.public, tc.text)
	}
}
