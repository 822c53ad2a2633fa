//go:build !windows

package config

import (
	"testing"

	"gotest.tools/v3/assert"
)

// drive begins the absolute paths of the tests.
const drive = ""

func TestUserDirectories(t *testing.T) {
	env := world(map[string]string{"APPDATA": "/r", "LOCALAPPDATA": "/l"}, nil)
	assert.Equal(t, UserFile(env), "/home/ada/.config/stdwire/mcp.json")
	assert.Equal(t, StateFile(env, "x"), "/home/ada/.local/state/stdwire/x")
	env = world(map[string]string{"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"}, nil)
	assert.Equal(t, UserFile(env), "/c/stdwire/mcp.json")
	assert.Equal(t, StateFile(env, "x"), "/s/stdwire/x")
}

// Names of variables that differ in case are different variables, except on Windows.
func TestCaseOfVariables(t *testing.T) {
	s := one(t, `{"command": "x", "env": {"path": "1", "PATH": "2"}}`)
	e, err := s.Resolve(world(nil, nil))
	assert.NilError(t, err)
	assert.DeepEqual(t, e.Command.Env, map[string]string{"path": "1", "PATH": "2"})
}
