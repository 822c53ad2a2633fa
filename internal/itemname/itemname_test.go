package itemname

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func TestPublicName(t *testing.T) {
	for _, tt := range []struct {
		id, name string
		most     int
		want     string
	}{
		{"files", "read", 64, "files__read"},
		{"files", "read/all öl", 64, "files__read_all__l"},
		{"f", strings.Repeat("x", 61), 64, "f__" + strings.Repeat("x", 61)},
		{"f", strings.Repeat("x", 62), 64, "f__" + strings.Repeat("x", 54) + "_14ac7f"},
		{"f", strings.Repeat("x", 62) + "y", 64, "f__" + strings.Repeat("x", 54) + "_6764ed"},
		{"f", strings.Repeat("x", 62) + "y", 128, "f__" + strings.Repeat("x", 62) + "y"},
	} {
		assert.Equal(t, Public(tt.id, tt.name, tt.most), tt.want)
	}
}

// Of names that are the same after invalid characters are replaced, the valid one stays, and the
// others get a digest, in any order.
func TestPublicNamesDiffer(t *testing.T) {
	long := strings.Repeat("x", 60)
	names := []string{"sp ace", "sp_ace", "sp/ace", "ünï", "önï", "plain", "a b", long + " y",
		long + "/y"}
	want := map[string]string{"sp_ace": "t__sp_ace", "sp ace": "t__sp_ace_40e9f1",
		"sp/ace": "t__sp_ace_e1f67f", "ünï": "t___n__f3fff2", "önï": "t___n__099ad2",
		"plain": "t__plain", "a b": "t__a_b"}
	for range 2 {
		got := Publics("t", names, 64)
		seen := map[string]bool{}
		for own, public := range got {
			assert.Assert(t, !seen[public] && len(public) <= 64, "%q: %q", own, public)
			seen[public] = true
			if w := want[own]; w != "" {
				assert.Check(t, cmp.Equal(public, w), own)
			}
		}
		assert.Equal(t, len(got), len(names))
		slices.Reverse(names)
	}
	operations := Operations("t", []string{"a_b", "a.b", "a b"})
	assert.Equal(t, len(operations), 3)
	assert.Equal(t, operations["a.b"], "t.a.b")
	assert.Assert(t, cmp.Regexp(`^t\.a_b_[0-9a-f]{6}$`, operations["a_b"]))
	assert.Assert(t, cmp.Regexp(`^t\.a_b_[0-9a-f]{6}$`, operations["a b"]))
}

func TestOperationName(t *testing.T) {
	for _, tt := range []struct{ id, name, want string }{
		{"files", "read", "files.read"},
		{"my.files", "read", "my_files.read"},
		{"files", "read/all öl", "files.read_all__l"},
		{"github", "issues.list", "github.issues.list"},
		{"github", "issues..list.", "github.issues__list_"},
		{"github", ".", "github._"},
		{"github", "", "github._"},
		{"f", strings.Repeat("x", 126), "f." + strings.Repeat("x", 126)},
		{"f", strings.Repeat("x", 127), "f." + strings.Repeat("x", 119) + "_a754df"},
	} {
		assert.Equal(t, Operation(tt.id, tt.name), tt.want)
		assert.Assert(t, strings.HasPrefix(tt.want, Service(tt.id)+"."))
	}
}

func TestIsToolName(t *testing.T) {
	long := strings.Repeat("a", 129)
	for name, valid := range map[string]bool{"a": true, "fs_read": true, "A-1.b": true, "": false,
		"a b": false, "a/b": false, "é": false, long[1:]: true, long: false} {
		assert.Equal(t, IsToolName(name), valid, "%q", name)
	}
}
