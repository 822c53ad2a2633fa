package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
)

// bracePattern matches a variable in the form of opencode.
var bracePattern = regexp.MustCompile(`\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)

// variablePattern is what is replaced. Whatever else has a dollar sign in it is text, as a shell's
// ${x%.c} is.
var variablePattern = regexp.MustCompile(
	`\$\{(?:(env:)?([A-Za-z_][A-Za-z0-9_]*)(?:(:-)([^}]*))?|(input|file|command|config):([^}]*))\}`)

// A Missing is a variable without a value.
type Missing struct {
	Field    string // where it stands: env.TOKEN, args[2]
	Variable string // without a default: ${TOKEN}
	Reason   string
}

// A ResolveError reports why a definition cannot be resolved to an [Endpoint].
type ResolveError struct {
	Server   string
	Position Position
	Missing  []Missing // variables without a value
	Err      error     // any other error
}

func (e *ResolveError) Error() string {
	return fmt.Sprintf("%s: server %q: %s", e.Position, e.Server, e.Reason())
}

// Reason returns the error without the position and the server.
func (e *ResolveError) Reason() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	var parts []string
	for _, m := range e.Missing {
		parts = append(parts, fmt.Sprintf("%s: %s %s", m.Field, m.Variable, m.Reason))
	}
	return strings.Join(parts, "; ")
}

func (e *ResolveError) Unwrap() error { return e.Err }

// Resolve expands the variables in a definition. It does not expand the values of variables:
//
//	${NAME}, ${env:NAME}              an environment variable, which must be set; its case does not
//	                                  matter on Windows
//	${NAME:-text}, ${env:NAME:-text}  the same, or the text if it is not set or empty
//	${workspaceFolder}, ${userHome}   the server's Workspace, and the home directory; also ~/ at the
//	                                  start of a path, on Windows ~\ too
//	${input:ID}                       see [Environment]
//
// in the command, args, env, cwd, envFile, url, headers and oauth. A variable of env replaces one
// of EnvFile, on Windows also one whose name differs in case only. It asks for inputs, if env has
// an Ask, and so may block; and it reads EnvFile.
//
// The error is a [*ResolveError] or Err of the server. Neither has a value of a variable in it.
// Whoever is going to start the server has asked [Store.Check] before.
func (s *Server) Resolve(env *Environment) (*Endpoint, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	r := &resolver{server: s, env: env, answers: map[string]string{}}
	e := r.endpoint()
	switch {
	case len(r.missing) > 0:
		return nil, &ResolveError{Server: s.ID, Position: s.Position, Missing: r.missing}
	case r.err != nil:
		return nil, &ResolveError{Server: s.ID, Position: s.Position, Err: r.err}
	}
	return e, nil
}

// A resolver resolves one definition.
type resolver struct {
	server  *Server
	env     *Environment
	answers map[string]string // of inputs
	missing []Missing
	err     error // the first error
}

func (r *resolver) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *resolver) endpoint() *Endpoint {
	s := r.server
	if s.URL != "" {
		e := &Endpoint{URL: r.expand("url", s.URL), Headers: r.pairs("headers", s.Headers),
			OAuth: r.oauth(s.OAuth)}
		if problem := urlProblem(e.URL); problem != "" && r.missing == nil {
			r.fail("%s", problem)
		}
		for name, value := range e.Headers {
			if strings.ContainsFunc(value,
				func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
				r.fail("headers.%s: the value has control characters in it, perhaps a line end",
					name)
			}
		}
		return e
	}
	cmd := client.Command{Path: r.path("command", s.Command), InheritEnv: s.InheritEnv,
		Dir: s.Workspace}
	for i, arg := range s.Args {
		cmd.Args = append(cmd.Args, r.path(fmt.Sprintf("args[%d]", i), arg))
	}
	if s.Dir != "" {
		cmd.Dir = r.absolute(r.path("cwd", s.Dir))
	} else if filepath.Base(cmd.Path) != cmd.Path { // no name to be found on the PATH
		cmd.Path = r.absolute(cmd.Path)
	}
	e := &Endpoint{}
	e.EnvFile, cmd.Env = r.envFile()
	pairs := r.pairs("env", s.Env)
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		setVariable(cmd.Env, name, pairs[name])
	}
	e.Command = cmd
	return e
}

// absolute returns a path that does not depend on the working directory of this process.
func (r *resolver) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(cmp.Or(r.server.base, r.server.Workspace), path)
}

// pairs expands values in the order of their names, so that inputs are asked for in a fixed order.
func (r *resolver) pairs(field string, values map[string]string) map[string]string {
	out := make(map[string]string, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if field == "env" {
			out[name] = r.path(field+"."+name, values[name])
		} else {
			out[name] = r.expand(field+"."+name, values[name])
		}
	}
	return out
}

// path expands text that may be a path.
func (r *resolver) path(field, text string) string {
	if rest, ok := cutHome(text); ok {
		return r.env.Home + string(filepath.Separator) + r.expand(field, rest)
	}
	return r.expand(field, text)
}

// cutHome returns the rest of a path after ~/, on Windows also after ~\.
func cutHome(path string) (rest string, ok bool) {
	if len(path) < 2 || path[0] != '~' || !os.IsPathSeparator(path[1]) {
		return path, false
	}
	return path[2:], true
}

func (r *resolver) expand(field, text string) string {
	var b strings.Builder
	end := 0
	for _, m := range variablePattern.FindAllStringSubmatchIndex(text, -1) {
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		b.WriteString(text[end:m[0]])
		end = m[1]
		var value, problem string
		written := part(0)
		if part(3) != "" {
			written = "${" + part(1) + part(2) + "}" // the default may be a secret
		}
		if kind := part(5); kind != "" {
			value, problem = r.lookupInput(kind, part(6))
		} else {
			value, problem = r.lookupVariable(part(1) != "", part(2), part(3) != "", part(4))
		}
		if problem != "" {
			r.missing = append(r.missing, Missing{field, written, problem})
		}
		b.WriteString(value)
	}
	b.WriteString(text[end:])
	return b.String()
}

// lookupVariable returns the value of a variable, or why it has none.
func (r *resolver) lookupVariable(env bool, name string, hasDefault bool, def string) (value,
	problem string) {
	switch {
	case strings.Contains(def, "${"):
		return "", "has a default with a variable in it, which does not work"
	case !env && name == "workspaceFolder":
		return r.server.Workspace, ""
	case !env && name == "userHome":
		return r.env.Home, ""
	}
	value, ok := r.env.LookupEnv(name)
	switch {
	case hasDefault && (!ok || value == ""):
		return def, ""
	case !ok:
		return "", "is not set: set it, or write a default, as in ${" + name + ":-text}"
	}
	return value, ""
}

func (r *resolver) lookupInput(kind, id string) (value, problem string) {
	if kind != "input" {
		return "", "works in other applications only"
	}
	if value, ok := r.answers[id]; ok {
		return value, ""
	}
	value, ok := r.env.Inputs[id]
	if name := inputVariable(id); !ok {
		value, ok = r.env.LookupEnv(name)
	}
	if !ok && r.env.Ask != nil {
		input, described := r.server.Inputs[id]
		if !described {
			input.ID = id
		}
		var err error
		if value, err = r.env.Ask(input); err != nil {
			return "", "was asked for in vain: " + err.Error()
		}
		ok = true
	}
	if !ok {
		return "", "has no value: give --input " + id + "=… or set " + inputVariable(id)
	}
	r.answers[id] = value
	return value, ""
}

// inputVariable returns the environment variable of an input.
func inputVariable(id string) string {
	return "STDWIRE_INPUT_" + strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			return c
		}
		return '_'
	}, strings.ToUpper(id))
}

// urlProblem returns what is wrong with a URL without quoting it, or "" if nothing is, or if it
// depends on variables.
func urlProblem(text string) string {
	if strings.Contains(text, "${") {
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "its URL is none"
	case u.Scheme == "unix" || u.Scheme == "pipe":
		return "its URL is that of a socket, which does not work here; it wants http: or https:"
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "its URL wants to be one of http: or https:"
	}
	return ""
}
