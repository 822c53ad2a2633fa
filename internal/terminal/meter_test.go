package terminal

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestMeter(t *testing.T) {
	now := time.Unix(1e9, 0)
	var m Meter
	for _, c := range []struct {
		after       time.Duration
		done, total float64
		columns     int
		want        string
	}{
		{0, 10, 100, 40, "[#---------] 10% a b"},
		{time.Second / 2, 20, 100, 40, "[##--------] 20% a b"},
		{2 * time.Second, 30, 100, 40, "[###-------] 30% 10/s 0:07 left a b"},
		{2 * time.Second, 30, 0, 40, "30 10/s a b"},
		{2 * time.Second, 30, 90_000, 40, "[----------] 0% 10/s 2:29:57 left a b"},
		{2 * time.Second, 30, 1e12, 40, "[----------] 0% 10/s a b"},
		{3 * time.Second, 200, 100, 40, "[##########] 200% 63.3/s a b"},
		{3 * time.Second, -5, 100, 40, "[----------] -5% a b"},
		{4 * time.Second, 10, 20, 400, "[" + strings.Repeat("#", 20) + strings.Repeat("-", 20) +
			"] 50% a b"},
	} {
		assert.Equal(t, m.Text(c.done, c.total, "a\nb", now.Add(c.after), c.columns), c.want)
	}
}
