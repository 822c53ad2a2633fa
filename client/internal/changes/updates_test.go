package changes

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// A flood of updates uses limited memory, and no update is missed.
func TestUpdatesFlood(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for name, uris := range map[string]func(i int) string{
		"many": func(i int) string { return fmt.Sprint("a:", i) },
		"long": func(i int) string {
			return fmt.Sprint("a:", i%10, long[:200_000*min(1, max(0, 20-i))])
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := NewUpdates(func(func()) {}, nil)
			u.Put([]byte(`{"uri":7}`))
			u.Put([]byte(`{}`))
			for range 2 {
				u.Put([]byte(`{"uri":"a:\u0031"}`))
			}
			got, full := u.Take()
			assert.DeepEqual(t, got, []string{"a:1"})
			assert.Assert(t, !full)
			for i := range 5000 {
				u.Put([]byte(`{"uri":"` + uris(i) + `"}`))
				assert.Assert(t, len(u.uris) <= maxUpdates && u.bytes <= maxUpdateBytes)
			}
			got, full = u.Take()
			assert.Assert(t, full && len(got) == 0)
			u.Put([]byte(`{"uri":"a:2"}`))
			got, full = u.Take()
			assert.Assert(t, !full && len(got) == 1)
		})
	}
}
