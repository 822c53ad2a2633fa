package itemname

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestOffered(t *testing.T) {
	long := strings.Repeat("x", 80)
	for _, tt := range []struct{ id, own, public, want string }{
		{"fs", "read", "fs__read", "read"},
		{"fs", "re ad", "fs__re_ad", "re ad"},
		{"fs", "read", "read", "read"}, // without prefix
		{"fs", "read", "fs__show", "show"},
		{"fs", "read", "show", "show"},
		{"fs", long, Public("fs", long, 64), long},
		{"fs", "read", Public("fs", "show_"+long, 64), Public("fs", "show_"+long, 64)[4:]},
	} {
		assert.Equal(t, Offered(tt.id, tt.own, tt.public), tt.want)
	}
}
