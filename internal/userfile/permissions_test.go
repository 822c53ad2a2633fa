package userfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/userfile"
)

func TestReadSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	assert.NilError(t, os.WriteFile(path, []byte("secret"), 0o600))
	for _, mode := range []os.FileMode{0o600, 0o400, 0o640, 0o620, 0o604, 0o602, 0o644, 0o666} {
		assert.NilError(t, os.Chmod(path, mode))
		info, err := os.Stat(path)
		assert.NilError(t, err)
		private := !atomicfile.Permissions || mode&0o077 == 0
		assert.Equal(t, userfile.OthersMay(info) == 0, private, "%v", mode)
		assert.Assert(t, userfile.IsOwn(info))
		content, err := userfile.ReadSecret(path, 6)
		if private {
			assert.NilError(t, err, "%v", mode)
			assert.Equal(t, string(content), "secret")
		} else {
			assert.ErrorContains(t, err, "can be read or changed by others: chmod 600 "+path)
		}
	}
	assert.NilError(t, os.Chmod(path, 0o600))
	_, err := userfile.ReadSecret(path, 5)
	assert.ErrorContains(t, err, "more than 5 bytes")
}
