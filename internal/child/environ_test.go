package child

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestEnviron(t *testing.T) {
	unix := []string{
		"PATH=/bin", "HOME=/home/me", "LC_ALL=C", "LCX=1", "AWS_KEY=k", "AWS_ID=i",
		"GITHUB_TOKEN=t",
		"https_proxy=p", "HTTPS_PROXY=P", "npm_config_a/b=n", "UV_INDEX=u",
		"SHELL=() { :; }", "EMPTY=", "TZ=", "home=lower", "malformed", "=C:=odd",
	}
	windows := []string{`Path=C:\bin`, `SystemRoot=C:\Windows`, `=C:=C:\dir`, "Secret=s", "Temp=t",
		"Home=h"}
	for _, c := range []struct {
		name, goos string
		parent     []string
		cfg        Config
		want       []string
	}{
		{
			"the base", "linux", unix, Config{},
			[]string{"HOME=/home/me", "HTTPS_PROXY=P", "LC_ALL=C", "PATH=/bin", "TZ=", "UV_INDEX=u",
				"https_proxy=p", "npm_config_a/b=n"},
		},
		{"nothing there", "linux", nil, Config{}, []string{}},
		{
			"set on top", "linux", []string{"PATH=/bin", "HOME=/h"},
			Config{Env: map[string]string{"PATH": "/mine", "NEW": "a=b", "F": "() ok"}},
			[]string{"F=() ok", "HOME=/h", "NEW=a=b", "PATH=/mine"},
		},
		{
			"widened by pattern", "linux", []string{"AWS_KEY=k", "AWS_ID=i", "A=1"},
			Config{InheritEnv: []string{"AWS_[K]*", "?"}},
			[]string{"A=1", "AWS_KEY=k"},
		},
		{
			"widened to all", "linux", []string{"AWS_KEY=k", "a/b=c", "FN=() { :; }"},
			Config{InheritEnv: []string{"*"}},
			[]string{"AWS_KEY=k", "a/b=c"},
		},
		{
			"windows: case is spelling", "windows", windows,
			Config{Env: map[string]string{"PATH": "mine"}, InheritEnv: []string{"seCRet"}},
			[]string{"Home=h", "PATH=mine", "Secret=s", `SystemRoot=C:\Windows`, "Temp=t"},
		},
		{"windows only", "linux", []string{"SYSTEMROOT=x", "TEMP=y"}, Config{}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.cfg.environ(c.parent, c.goos)
			assert.NilError(t, err)
			assert.DeepEqual(t, got, c.want)
		})
	}
}

func TestEnvironErrors(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{InheritEnv: []string{"[A"}}, `pattern "[A"`},
		{Config{Env: map[string]string{"": "x"}}, `environment variable ""`},
		{Config{Env: map[string]string{"A=B": "x"}}, `environment variable "A=B"`},
		{Config{Env: map[string]string{"TOKEN": "secret\x00"}},
			"environment variable TOKEN: its value contains a NUL byte"},
	} {
		_, err := c.cfg.EnvNames()
		assert.ErrorContains(t, err, c.want)
		assert.Assert(t, !strings.Contains(err.Error(), "secret"))
	}
}

// Two spellings of one name are an error on Windows.
func TestEnvironSpelledTwice(t *testing.T) {
	twice := Config{Env: map[string]string{"Path": "secret a", "OTHER": "x", "PATH": "secret b"}}
	env, err := twice.environ(nil, "linux")
	assert.NilError(t, err)
	assert.Equal(t, len(env), 3)
	_, err = twice.environ(nil, "windows")
	assert.Error(t, err,
		`environment variables "PATH" and "Path": they are one for this system; set only one`)
}

func TestEnvNames(t *testing.T) {
	t.Setenv("CHILD_TEST_SECRET", "hunter2")
	t.Setenv("TZ", "UTC")
	names, err := Config{Env: map[string]string{"ADDED": "v"}}.EnvNames()
	assert.NilError(t, err)
	assert.Assert(t, slices.IsSortedFunc(names, func(a, b string) int {
		if runtime.GOOS == "windows" {
			a, b = strings.ToUpper(a), strings.ToUpper(b)
		}
		return strings.Compare(a, b)
	}))
	assert.Assert(t, slices.Contains(names, "ADDED"))
	assert.Assert(t, slices.Contains(names, "TZ"))
	assert.Assert(t, !slices.Contains(names, "CHILD_TEST_SECRET"))
	names, err = Config{InheritEnv: []string{"CHILD_*"}}.EnvNames()
	assert.NilError(t, err)
	assert.Assert(t, slices.Contains(names, "CHILD_TEST_SECRET"))
}

// A child gets the environment that Environ returns.
func TestEnvironOfThisProgram(t *testing.T) {
	t.Setenv("CHILD_TEST_SECRET", "hunter2")
	t.Setenv("TZ", "UTC")
	cfg := Config{Env: map[string]string{"ADDED": "v"}}
	env, err := cfg.Environ()
	assert.NilError(t, err)
	assert.Assert(t, slices.Contains(env, "ADDED=v"))
	assert.Assert(t, slices.Contains(env, "TZ=UTC"))
	assert.Assert(t, !slices.Contains(env, "CHILD_TEST_SECRET=hunter2"))
	names, err := cfg.EnvNames()
	assert.NilError(t, err)
	assert.Equal(t, len(env), len(names))
	for i, name := range names {
		assert.Assert(t, strings.HasPrefix(env[i], name+"="))
	}
	_, err = Config{InheritEnv: []string{"[A"}}.Environ()
	assert.ErrorContains(t, err, `pattern "[A"`)
}
