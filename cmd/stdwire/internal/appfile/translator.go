package appfile

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/mcpjson"
)

// A translator writes a definition in the form of an application.
type translator struct {
	Application
	env       *config.Environment
	server    *config.Server
	workspace bool // for the file of a workspace, in which relative paths start there
	members   []jsonedit.Item
	notes     []string
	err       error // the first
}

// define returns the definition of a server as the application writes it, and notes on members that
// are written differently from s.
func (a Application) define(env *config.Environment, s *config.Server,
	workspace bool) (definition []byte, notes []string, err error) {
	if s.Err != nil {
		return nil, nil, s.Err
	}
	t := &translator{Application: a, env: env, server: s, workspace: workspace}
	if strings.Contains(s.ID, ".") && a.form.plainNames {
		t.fail("its name has a dot, which %s does not permit; give it another --name", a.Title)
	}
	t.transport()
	t.refuse()
	return jsonedit.Object(t.members), t.notes, t.err
}

// fail records an error unless there is one already.
func (t *translator) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf("server %q: %s", t.server.ID, fmt.Sprintf(format, args...))
	}
}

func (t *translator) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// add adds a member, unless its name is "".
func (t *translator) add(name string, value any) {
	if name != "" {
		t.members = append(t.members, jsonedit.Item{Name: name, JSON: jsonedit.Encode(value)})
	}
}

func (t *translator) transport() {
	s, f := t.server, t.form
	if s.URL != "" {
		if f.url == "" {
			token := ""
			if len(s.Headers) > 0 {
				token = " --header NAME:@/ABSOLUTE/FILE"
			}
			t.fail("%s starts commands only; install one that passes messages to the URL: "+
				"--name %s -- stdwire bridge URL%s", t.Title, s.ID, token)
			return
		}
		if f.http != "" {
			t.add("type", f.http)
		}
		t.add(f.url, t.text("url", s.URL))
		t.headers()
		return
	}
	if f.stdio != "" {
		t.add("type", f.stdio)
	}
	command := t.command()
	args := []string{}
	for i, arg := range s.Args {
		args = append(args, t.argument(fmt.Sprintf("args[%d]", i), arg))
	}
	if f.commandArray {
		t.add("command", append([]string{command}, args...))
	} else {
		t.add("command", command)
		t.add("args", args)
	}
	t.directory()
	t.variables()
}

// command returns the command, as an absolute path unless it is a name to look up in PATH.
func (t *translator) command() string {
	command := t.path("command", t.server.Command)
	if t.server.Dir != "" || filepath.Base(command) == command ||
		strings.HasPrefix(command, "${") {
		return command
	}
	return t.location("command", t.server.Command)
}

// location returns the path of a file or directory. In the file of a workspace, a path that starts
// there is relative.
func (t *translator) location(field, text string) string {
	path := t.path(field, text)
	if t.workspace && (t.base() == t.server.Workspace ||
		strings.HasPrefix(text, "${workspaceFolder}")) {
		return path
	}
	return t.absolute(field, path)
}

// base returns the directory in which relative paths start.
func (t *translator) base() string { return cmp.Or(t.server.Base, t.server.Workspace) }

// absolute returns an absolute path, because applications start servers in another directory.
func (t *translator) absolute(field, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	whole := filepath.Join(t.base(), path)
	t.note("%s: %s becomes %s, as %s starts servers in another directory", field, path, whole,
		t.Title)
	return whole
}

// argument returns an argument, or the value of a flag, as an absolute path if it is a relative
// one.
func (t *translator) argument(field, arg string) string {
	arg = t.path(field, arg)
	if t.workspace || t.server.Dir != "" {
		return arg
	}
	flag, value, ok := strings.Cut(arg, "=")
	if flag += "="; !ok {
		flag, value = "", arg
	}
	if !t.isRelativePath(value) {
		if filepath.Ext(value) != "" && strings.Contains(filepath.ToSlash(value), "/") &&
			!filepath.IsAbs(value) && !strings.ContainsAny(value, "@:$") {
			t.note("%s: %s stays relative, as %s has no such file", field, value, t.base())
		}
		return arg
	}
	return flag + t.absolute(field, value)
}

// isRelativePath reports whether a text begins like a relative path, or is the name of a file.
func (t *translator) isRelativePath(text string) bool {
	slashed := filepath.ToSlash(text)
	switch {
	case text == "." || text == ".." || strings.HasPrefix(slashed, "./") ||
		strings.HasPrefix(slashed, "../"):
		return true
	case text == "" || filepath.IsAbs(text) || strings.ContainsAny(text, "@:$"):
		return false
	}
	return (strings.Contains(slashed, "/") || filepath.Ext(text) != "") &&
		t.env.Exists(filepath.Join(t.base(), text))
}

func (t *translator) directory() {
	s := t.server
	switch {
	case s.Dir == "":
	case !t.form.cwd:
		t.fail("it has a cwd, which %s does not have; write absolute paths in its command and args",
			t.Title)
	default:
		t.add("cwd", t.location("cwd", s.Dir))
	}
	switch {
	case s.EnvFile == "":
	case !t.form.envFile:
		t.fail("it has an envFile, which %s does not have; write the variables in its env", t.Title)
	default:
		t.add("envFile", t.location("envFile", s.EnvFile))
	}
}

// variables writes the environment variables.
func (t *translator) variables() {
	written, names := map[string]string{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(t.server.Env)) {
		value := t.server.Env[name]
		if t.form.envNames != "" && (value == "${env:"+name+"}" || value == "${"+name+"}") {
			names = append(names, name)
			continue
		}
		written[name] = t.path("env."+name, value)
	}
	if t.form.envNames != "" {
		for _, name := range t.server.InheritEnv {
			if strings.ContainsAny(name, "*?[\\") {
				t.fail("inheritEnv has the pattern %q, which %s does not have; name the variables",
					name, t.Title)
			}
			names = append(names, name)
		}
	} else if t.server.InheritEnv != nil {
		t.note("inheritEnv is not written: %s decides which variables servers inherit", t.Title)
	}
	if len(written) > 0 {
		t.add(cmp.Or(t.form.env, "env"), written)
	}
	if len(names) > 0 {
		t.add(t.form.envNames, names)
	}
}

func (t *translator) headers() {
	written, names := map[string]string{}, map[string]string{}
	for _, header := range slices.Sorted(maps.Keys(t.server.Headers)) {
		value := t.server.Headers[header]
		rest, bearer := strings.CutPrefix(value, "Bearer ")
		name := wholeVariable(rest)
		switch {
		case t.form.codex && name != "" && bearer && strings.EqualFold(header, "Authorization"):
			t.add("bearer_token_env_var", name)
		case t.form.codex && name != "" && !bearer:
			names[header] = name
		default:
			written[header] = t.text("headers."+header, value)
		}
	}
	if len(written) > 0 {
		t.add(cmp.Or(t.form.headers, "headers"), written)
	}
	if len(names) > 0 {
		t.add("env_http_headers", names)
	}
}

// wholeVariable returns the name of the environment variable that a text consists of, or "".
func wholeVariable(text string) (name string) {
	mcpjson.Replace(text, func(v mcpjson.Variable) string {
		if v.Text == text && v.Namespace == "env" && !v.HasDefault {
			name = v.Name
		}
		return ""
	})
	return name
}

// path writes a text that may begin with ~/.
func (t *translator) path(field, text string) string {
	if rest, ok := mcpjson.CutHome(text); ok {
		return t.env.Home + string(filepath.Separator) + t.text(field, rest)
	}
	return t.text(field, text)
}

// text writes the variables of a text as the application does. It never writes their values.
func (t *translator) text(field, text string) string {
	if t.form.verbatim {
		return text
	}
	return mcpjson.Replace(text, func(v mcpjson.Variable) string {
		switch {
		case v.Namespace != "" && v.Namespace != "env":
			t.fail("%s has ${%s:%s}, which cannot be written for %s", field, v.Namespace, v.Name,
				t.Title)
		case v.Namespace == "" && v.Name == "userHome":
			return t.env.Home
		case v.Namespace == "" && t.workspace &&
			(t.server.Dir == "" || field == "cwd" || field == "envFile"):
			return "." // the file may be shared, and be elsewhere then
		case v.Namespace == "":
			return t.server.Workspace
		case t.form.variable == "":
			t.fail("%s has the variable %s, and %s does not expand variables there; give the value",
				field, v.Name, t.Title)
		case v.HasDefault && !t.form.defaults:
			t.fail("%s has the variable %s with a default, which %s does not have", field, v.Name,
				t.Title)
		case v.HasDefault:
			return "${" + v.Name + ":-" + v.Default + "}"
		}
		return strings.ReplaceAll(t.form.variable, "NAME", v.Name)
	})
}

// refuse fails if the definition would lose a restriction, and notes other members that are lost.
func (t *translator) refuse() {
	s := t.server
	if s.Filter.Allow != nil || s.Filter.Deny != nil {
		t.fail("it limits the tools, which %s would not; install the gateway: -- stdwire serve --servers",
			t.Title)
	}
	if s.OAuth != nil && !s.OAuth.Disabled {
		t.note("oauth is not written: log in with %s", t.Title)
	}
	for name := range s.Settings() {
		if name != "tools" {
			t.note("%s is not written: it is a setting of stdwire", name)
		}
	}
	for _, name := range s.UnknownMembers() {
		t.note("%s is not written: it is unknown", name)
	}
}
