package processgroup

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	for _, file := range []string{
		`first\tool.cmd`, `second\tool.exe`, `second\both.exe`, `second\both.cmd`, `second\a.b.exe`,
		`here.exe`, `second\bare`,
	} {
		file = filepath.Join(dir, file)
		assert.NilError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		assert.NilError(t, os.WriteFile(file, nil, 0o666))
	}
	assert.NilError(t, os.Mkdir(filepath.Join(dir, "folder.exe"), 0o777))
	t.Chdir(dir)
	path := func(dirs string) []string { return []string{"Path=" + dirs} }
	for _, c := range []struct {
		name, dir string
		env       []string
		want      string
		is        error
	}{
		{"tool", "", path(first + ";" + second), `first\tool.cmd`, nil},
		{"tool", "", path(second + ";" + first), `second\tool.exe`, nil},
		{"TOOL.CMD", "", path(second + ";" + first), `first\tool.cmd`, nil},
		{"tool.cmd. ", "", path(first), `first\tool.cmd`, nil},
		{"tool", "", path(`"` + first + `"`), `first\tool.cmd`, nil},
		{"both", "", path(second), `second\both.exe`, nil},
		{"both", "", append(path(second), "PathExt=.CMD;.EXE"), `second\both.cmd`, nil},
		{"a.b", "", path(second), `second\a.b.exe`, nil},
		{"bare", "", path(second), "", exec.ErrNotFound},
		{"here", "", path(first), "", exec.ErrNotFound},
		{"here", "", path(first + ";.;"), "", exec.ErrNotFound},
		{"here", "", path("."), "", exec.ErrDot},
		{"here", dir, path("first"), "", exec.ErrNotFound},
		{"tool", "", nil, "", exec.ErrNotFound},
		{`.\tool`, first, nil, `first\tool.cmd`, nil},
		{`.\here`, "", nil, `here.exe`, nil},
		{`..\here.exe`, first, nil, `here.exe`, nil},
		{`second/tool`, dir, nil, `second\tool.exe`, nil},
		{filepath.Join(first, "tool"), second, nil, `first\tool.cmd`, nil},
		{`.\missing`, first, nil, "", fs.ErrNotExist},
		{`.\folder.exe`, "", nil, "", fs.ErrPermission},
	} {
		got, err := LookPath(c.name, c.dir, c.env)
		if c.is != nil {
			assert.ErrorIs(t, err, c.is, "%s in %v", c.name, c.env)
			continue
		}
		assert.NilError(t, err, "%s in %v", c.name, c.env)
		assert.Assert(t, filepath.IsAbs(got), got)
		gotInfo, err := os.Stat(got)
		assert.NilError(t, err)
		wantInfo, err := os.Stat(filepath.Join(dir, c.want))
		assert.NilError(t, err)
		assert.Assert(t, os.SameFile(gotInfo, wantInfo), "%s: %s", c.name, got)
	}
}
