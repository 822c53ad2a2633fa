package config

import (
	"testing"

	"gotest.tools/v3/assert"
)

// drive begins the absolute paths of the tests.
const drive = "C:"

func TestUserDirectories(t *testing.T) {
	for _, tt := range []struct {
		variables     map[string]string
		config, state string
	}{
		{nil, `C:\home\ada\AppData\Roaming\stdwire\mcp.json`,
			`C:\home\ada\AppData\Local\stdwire\x`},
		{map[string]string{"APPDATA": `D:\r`, "LOCALAPPDATA": `D:\l`}, `D:\r\stdwire\mcp.json`,
			`D:\l\stdwire\x`},
		{map[string]string{"APPDATA": `r`, "LOCALAPPDATA": ``},
			`C:\home\ada\AppData\Roaming\stdwire\mcp.json`,
			`C:\home\ada\AppData\Local\stdwire\x`},
		{map[string]string{"APPDATA": `D:\r`, "XDG_CONFIG_HOME": `E:\c`, "XDG_STATE_HOME": `E:\s`},
			`E:\c\stdwire\mcp.json`, `E:\s\stdwire\x`},
	} {
		env := world(tt.variables, nil)
		assert.Equal(t, UserFile(env), tt.config)
		assert.Equal(t, StateFile(env, "x"), tt.state)
	}
}

// Names of variables that differ only in case are one variable on Windows.
func TestCaseOfVariables(t *testing.T) {
	t.Setenv("Stdwire_Case", `C:\bin`)
	env, err := System(t.TempDir())
	assert.NilError(t, err)
	env.ReadFile = func(string) ([]byte, error) { return []byte("Path=1\nPATH=2\nOther=3\n"), nil }
	s := one(t, `{"command": "~\\x", "envFile": ".env", "env": {"path": "${env:STDWIRE_CASE};${stdwire_case}"}}`)
	e, err := s.Resolve(env)
	assert.NilError(t, err)
	assert.DeepEqual(t, e.Command.Env, map[string]string{"path": `C:\bin;C:\bin`, "Other": "3"})
	assert.Equal(t, e.Command.Path, env.Home+`\x`)
}
