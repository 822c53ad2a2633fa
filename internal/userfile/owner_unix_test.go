//go:build unix

package userfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/userfile"
)

// The group may read a secret that a system passes to a service.
func TestReadSecretOfAnotherUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	assert.NilError(t, os.WriteFile(path, []byte("secret"), 0o600))
	if os.Chown(path, 65534, -1) != nil {
		t.Skip("only root changes the owner of a file")
	}
	for mode, allowed := range map[os.FileMode]bool{0o640: true, 0o440: true, 0o660: false,
		0o644: false, 0o650: false} {
		assert.NilError(t, os.Chmod(path, mode))
		info, err := os.Stat(path)
		assert.NilError(t, err)
		assert.Assert(t, !userfile.IsOwn(info))
		_, err = userfile.ReadSecret(path, 6)
		assert.Equal(t, err == nil, allowed, "%v: %v", mode, err)
	}
}
