package configfile

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/appfile"
)

// A file that another program changes meanwhile keeps that change.
func TestChangedMeanwhile(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	assert.NilError(t, err)
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	env, err := config.System(dir)
	assert.NilError(t, err)
	path := filepath.Join(dir, "mcp.json")
	app := appfile.Applications()[2]
	server := &config.Server{ID: "new", Command: "x", Workspace: dir}
	for _, meanwhile := range []string{"{ }", ""} {
		assert.NilError(t, os.WriteFile(path, []byte("{}"), 0o600))
		_, err = File{env, path, true}.Edit(t.Context(),
			func(data, _ []byte) (*appfile.Change, error) {
				assert.NilError(t, os.Remove(path))
				if meanwhile != "" {
					assert.NilError(t, os.WriteFile(path, []byte(meanwhile), 0o600))
				}
				return app.Install(env, path, data,
					appfile.Installation{Server: server, Workspace: true})
			})
		assert.ErrorContains(t, err, "was changed by another program meanwhile; nothing is written")
		data, _ := os.ReadFile(path)
		assert.Equal(t, string(data), meanwhile)
	}
}
