package proc

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
)

// An allowList lists the names or paths of commands that may be started; nil allows any.
type allowList []string

func newAllowList(entries []string) (allowList, error) {
	if entries == nil {
		return nil, nil
	}
	list := allowList{}
	for _, entry := range entries {
		if entry == "" || !filepath.IsAbs(entry) && filepath.Base(entry) != entry {
			return nil, fmt.Errorf(
				"allowed command %q: want a name on the PATH, or an absolute path", entry)
		}
		list = append(list, entry)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// check refuses a command that is not on the list, and an environment that could make an allowed
// command run another.
func (l allowList) check(command string, env map[string]string) error {
	if l == nil {
		return nil
	}
	if !slices.ContainsFunc(l, func(entry string) bool { return allows(entry, command) }) {
		return dispatch.Errorf(dispatch.PermissionDenied,
			"the command %.100q is not among those that may be started", command).
			With(map[string]any{"allowed": []string(l)})
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if isUnsafeVariable(name) {
			return dispatch.Errorf(dispatch.Blocked,
				"the environment variable %.100q may not be set: it can decide which program runs, and only some may",
				name).
				With(map[string]any{"path": "/env", "name": name})
		}
	}
	return nil
}

// unsafeVariables are patterns, in upper case, of environment variables that can make a program run
// other code: they set where programs, libraries, modules and start-up files are found, or which
// programs or code to run first.
var unsafeVariables = []string{
	"PATH", "LD_*", "DYLD_*", "GCONV_PATH", "LOCPATH", "HOME", "XDG_*", "SHELL",
	"ENV", "BASH_*", "BASHOPTS", "SHELLOPTS", "ZDOTDIR", "IFS", "PS[0-4]", "PROMPT_COMMAND",
	"CDPATH",
	"PYTHON*", "NODE_*", "NPM_*", "DENO_*", "BUN_*", "PERL*", "RUBY*", "GEM_*", "BUNDLE_*", "LUA_*",
	"PHP*", "R_*", "JULIA_*", "TCL*", "GUILE_*",
	"JAVA_*", "_JAVA_*", "JDK_*", "CLASSPATH", "MAVEN_*", "GRADLE_*", "DOTNET_*", "COMPLUS_*",
	"CORECLR_*",
	"GO*", "CC", "CXX", "CPP", "LD", "AR", "CARGO*", "RUST*", "MAKE*", "GNUMAKEFLAGS", "CMAKE_*",
	"PKG_CONFIG*", "UV_*", "PIP_*",
	"GIT_*", "SSH_*", "EDITOR", "VISUAL", "*PAGER", "LESS*", "BROWSER", "VIM*", "EXINIT", "EMACS*",
	"DOCKER_*", "KUBECONFIG", "ANSIBLE_*", "PS*MODULEPATH", "PATHEXT", "COMSPEC",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA",
	"LOCALAPPDATA", "PROGRAMDATA", "ALLUSERSPROFILE", "PROGRAMFILES*", "COMMONPROGRAMFILES*",
	"COR_*", "__COMPAT_LAYER",
}

func isUnsafeVariable(name string) bool {
	name = strings.ReplaceAll(strings.ToUpper(name), "/", "_") // * does not match a slash
	return slices.ContainsFunc(unsafeVariables, func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}
