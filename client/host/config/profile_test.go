package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

const (
	ownProfiles     = `{"servers": {"files": {"command": "f"}, "danger": {"command": "d"}}, "profiles": {"safe": ["files"]}}`
	projectProfiles = `{"servers": {"db": {"command": "x"}}, "profiles": {"safe": ["files", "danger"], "data": ["db"], "mixed": ["db", "danger"], "odd": ["dbb"]}}`
)

// A profile of a project that affects servers or profiles of the user has no effect until it is
// trusted.
func TestProjectProfiles(t *testing.T) {
	st := &Store{filepath.Join(t.TempDir(), "trust.json")}
	load := func(project string) *Config {
		env := world(nil,
			map[string]string{"/project/mcp.json": project, userDir + "/mcp.json": ownProfiles})
		env.Trusts = func(p *Profile) bool { return st.Check(p) == nil }
		return Load(env)
	}
	c := load(projectProfiles)
	assert.Equal(t, fmt.Sprint(c.Profiles), "map[data:[db] odd:[dbb] safe:[files]]")
	assert.Equal(t, len(c.ProfilesRequiringTrust), 2)
	mixed, safe := c.ProfilesRequiringTrust[0], c.ProfilesRequiringTrust[1]
	assert.Equal(t, mixed.Name+" "+mixed.OtherServers[0].ID, "mixed danger")
	assert.Equal(t, slashed(safe.Overrides.String()), userDir+"/mcp.json:1:83")
	assert.Equal(t, len(safe.OtherServers), 2)
	_, err := c.Select("mixed")
	var untrusted *UntrustedError
	assert.Assert(t, errors.As(err, &untrusted), "%v", err)
	assert.Equal(t, slashed(err.Error()), `/project/mcp.json:1:97: profile "mixed" is not trusted`)
	some, err := c.Select("safe")
	assert.NilError(t, err)
	assert.Equal(t, len(some), 1)

	assert.NilError(t, st.Trust(safe))
	assert.Equal(t, fmt.Sprint(load(projectProfiles).Profiles),
		"map[data:[db] odd:[dbb] safe:[files danger]]")
	assert.Equal(t, len(load(projectProfiles).ProfilesRequiringTrust), 2)
	c = load(`{"servers": {}, "profiles": {"safe": ["danger"]}}`)
	assert.Equal(t, fmt.Sprint(c.Profiles), "map[safe:[files]]")
	err = st.Check(c.ProfilesRequiringTrust[0])
	assert.Assert(t, errors.As(err, &untrusted), "%v", err)
	assert.Equal(t, slashed(err.Error()),
		`/project/mcp.json:1:30: profile "safe" has changed since it was trusted`)

	n, err := st.Revoke(safe, mixed)
	assert.NilError(t, err)
	assert.Equal(t, n, 1)
	assert.Equal(t, fmt.Sprint(load(projectProfiles).Profiles),
		"map[data:[db] odd:[dbb] safe:[files]]")
	assert.NilError(t, st.Trust(projectServer(t, native("/project"), "safe", `{"command": "x"}`)))
	assert.ErrorContains(t, st.Check(safe), "is not trusted",
		"a server of that name is another thing")
}

// A project's server has the position of the user's server that it replaces.
func TestProjectServerOverrides(t *testing.T) {
	c := Load(world(nil,
		map[string]string{"/project/mcp.json": `{"servers": {"files": {"command": "x"}}}`, userDir +
			"/mcp.json": ownProfiles}))
	s, err := c.Server("files")
	assert.NilError(t, err)
	assert.Equal(t, slashed(s.Overrides.String()), userDir+"/mcp.json:1:14")
}
