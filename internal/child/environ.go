package child

import (
	"fmt"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
)

// inherited lists patterns for the variables that every child inherits, without the credentials in
// them.
var inherited = []string{
	"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER",
	"LANG", "LC_*", "TMPDIR", "TZ",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"npm_config_*", "NPM_CONFIG_*", "UV_*", "XDG_*",
}

// inheritedWindows lists the variables that Windows programs need as well.
var inheritedWindows = []string{
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT",
	"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT",
	"TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// EnvNames returns the names of the variables that a child started now would have, sorted, on
// Windows regardless of case. The values may be secrets. EnvNames fails as Start does: on a
// malformed pattern, or a name or value that cannot be set.
func (c Config) EnvNames() ([]string, error) {
	env, err := c.environ(os.Environ(), runtime.GOOS)
	for i, kv := range env {
		env[i], _, _ = strings.Cut(kv, "=")
	}
	return env, err
}

// Environ returns the environment that a child started now would have, as NAME=value, sorted by
// name and never nil. It fails as EnvNames does. The values may be secrets: use them to start a
// process, and do not show them.
func (c Config) Environ() ([]string, error) { return c.environ(os.Environ(), runtime.GOOS) }

// environ builds the child's environment from the parent's, sorted and never nil.
func (c Config) environ(parent []string, goos string) ([]string, error) {
	fold := func(name string) string { return name }
	patterns := inherited
	if goos == "windows" { // names are case-insensitive
		fold = strings.ToUpper
		patterns = slices.Concat(patterns, inheritedWindows)
	}
	for _, pattern := range c.InheritEnv {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("pattern %q of environment variables to inherit: %w", pattern,
				err)
		}
	}

	env := make(map[string]string)
	for _, kv := range parent {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" || strings.HasPrefix(value, "()") {
			continue
		}
		kept := matchAny(c.InheritEnv, name, fold)
		if !kept && matchAny(patterns, name, fold) {
			kv, kept = withoutCredentials(kv)
		}
		if kept {
			env[fold(name)] = kv
		}
	}
	set := make(map[string]string) // the names in c.Env, by their folded form
	for name, value := range c.Env {
		if other, ok := set[fold(name)]; ok {
			return nil, fmt.Errorf(
				"environment variables %q and %q: they are one for this system; "+
					"set only one", min(name, other), max(name, other))
		}
		set[fold(name)] = name
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fmt.Errorf("environment variable %q: not a name", name)
		}
		if strings.Contains(value, "\x00") {
			return nil, fmt.Errorf("environment variable %s: its value contains a NUL byte", name)
		}
		env[fold(name)] = name + "=" + value
	}
	sorted := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		sorted = append(sorted, env[name])
	}
	return sorted, nil
}

func matchAny(patterns []string, name string, fold func(string) string) bool {
	// npm uses names with slashes, which * in path.Match does not match.
	noSlash := func(s string) string { return strings.ReplaceAll(fold(s), "/", "\x01") }
	name = noSlash(name)
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(noSlash(pattern), name)
		return ok
	})
}
