package eventually

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// A failing is a test that panics where others end.
type failing struct{ testing.TB }

func (failing) Helper() {}

func (failing) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func TestTrue(t *testing.T) {
	for _, tc := range []struct {
		after time.Duration // when it holds
		calls int
		want  string
	}{
		{0, 1, ""},
		{limit, int(limit/interval) + 1, ""},
		{limit + time.Second, int(limit/interval) + 2, "not within 1m0s: it holds"},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin, calls := time.Now(), 0
			defer func() {
				failure := recover()
				assert.Equal(t, failure != nil, tc.want != "")
				if failure != nil {
					assert.Equal(t, failure, tc.want)
				}
				assert.Equal(t, calls, tc.calls)
			}()
			True(failing{t}, "it holds", func() bool {
				calls++
				return time.Since(begin) >= tc.after
			})
		})
	}
}
