package target

import (
	"errors"
	"maps"
	"os"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/child"
)

// environmentFlag is the flag --env, which sets a variable of the server.
func (t *Target) environmentFlag() command.Flag {
	return command.Flag{Name: "--env", Value: "NAME[=VALUE]", Many: true,
		Help: "an environment variable of a server that is started here; without a value, the value in your environment",
		Set: func(text string) error {
			name, value, hasValue := strings.Cut(text, "=")
			if name == "" {
				return errors.New("the name of the variable is missing")
			}
			if !hasValue {
				if value, hasValue = os.LookupEnv(name); !hasValue {
					return command.Usagef("--env: the environment variable %s is not set", name).
						WithHint("set it, or give a value: --env " + name + "=VALUE")
				}
			}
			if t.env == nil {
				t.env = map[string]string{}
			}
			t.env[name] = value
			return nil
		}}
}

// withEnvironment returns cmd with the variables of --env. A command that the user has typed also
// inherits all variables, as it does from a shell.
func (t *Target) withEnvironment(cmd client.Command) client.Command {
	if t.Words != nil {
		cmd.InheritEnv = []string{"*"}
	}
	if t.env != nil {
		env := maps.Clone(cmd.Env)
		if env == nil {
			env = map[string]string{}
		}
		maps.Copy(env, t.env)
		cmd.Env = env
	}
	return cmd
}

// Withheld says how many variables of the environment the server cmd did not inherit, or returns ""
// if it inherited all. It does not name them, as names may tell what the user works on.
func Withheld(cmd client.Command) string {
	config := child.Config{Env: cmd.Env, InheritEnv: cmd.InheritEnv}
	passed, err := config.EnvNames()
	if err != nil {
		return ""
	}
	config.InheritEnv = []string{"*"}
	all, err := config.EnvNames()
	if n := len(all) - len(passed); err == nil && n > 0 {
		return command.Plural(n, "variable") + " of your environment did not reach it"
	}
	return ""
}

// addWithheld adds the number of withheld variables to the failure of a start.
func (t *Target) addWithheld(f *command.Failure) {
	if f.Code != "start_exit" && f.Code != "start_timeout" || t.Configured.Endpoint == nil ||
		!t.isStarted() {
		return
	}
	cmd, err := t.serverCommand()
	if text := Withheld(cmd); err == nil && text != "" {
		f.Hint = command.JoinNonEmpty("; ", f.Hint, text+
			": --env NAME passes one on, as does \"inheritEnv\" in its configuration")
	}
}
