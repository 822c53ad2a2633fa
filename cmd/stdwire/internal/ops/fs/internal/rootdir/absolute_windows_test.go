package rootdir

import (
	"testing"

	"gotest.tools/v3/assert"
)

// A link target with a drive or root is absolute.
func TestAbsolute(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"f": false, "..": false, `d\f`: false, "": false,
		"/f": true, `\f`: true, `C:\f`: true, "C:f": true, `\\host\share\f`: true,
		`\\?\C:\f`: true, `\??\C:\f`: true,
	} {
		assert.Equal(t, absolute(name), want, name)
	}
}
