package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/mcpjson"
)

// A MissingVariable is a variable without a value.
type MissingVariable struct {
	Field    string // the member that contains it, such as env.TOKEN or args[2]
	Variable string // without its default, such as ${TOKEN}
	Reason   string // why it has no value
}

// A ResolveError reports why a definition cannot be resolved to an [Endpoint].
type ResolveError struct {
	Server   string
	Position Position
	Missing  []MissingVariable // variables without a value
	Err      error             // any other error
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
// in the command, args, env, cwd, envFile, url, headers, oauth and credentials. A variable of env
// replaces one of EnvFile, on Windows also one whose name differs in case only. Resolve reads
// EnvFile, and blocks while env.Ask asks for inputs.
//
// The error is a [*ResolveError] or s.Err. Neither contains the value of a variable. Resolve does
// not check trust: call [Store.Check] before starting the server.
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
	answers map[string]string // values of inputs by id
	missing []MissingVariable
	err     error // the first error
}

// fail records an error unless there is one already.
func (r *resolver) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *resolver) endpoint() *Endpoint {
	s := r.server
	if s.URL != "" {
		e := &Endpoint{URL: r.expand("url", s.URL), Headers: r.pairs("headers", s.Headers),
			OAuth: r.oauth(s.OAuth), Credentials: r.credentials(s.Credentials),
			TLS: TLS{CA: r.file("tlsCA", s.TLS.CA),
				ClientCert: r.file("tlsClientCert", s.TLS.ClientCert),
				ClientKey:  r.file("tlsClientKey", s.TLS.ClientKey)}}
		if problem := urlProblem(e.URL); problem != "" && r.missing == nil {
			r.fail("%s", problem)
		}
		for name, value := range e.Headers {
			if strings.ContainsFunc(value,
				func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
				r.fail("headers.%s: the value contains control characters, perhaps a line end",
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
	} else if filepath.Base(cmd.Path) != cmd.Path { // not a name to look up in PATH
		cmd.Path = r.absolute(cmd.Path)
	}
	e := &Endpoint{Credentials: r.credentials(s.Credentials)}
	e.EnvFile, cmd.Env = r.envFile()
	pairs := r.pairs("env", s.Env)
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		setVariable(cmd.Env, name, pairs[name])
	}
	e.Command = cmd
	return e
}

// file returns the absolute path of a file that may be absent from the definition.
func (r *resolver) file(field, path string) string {
	if path == "" {
		return ""
	}
	return r.absolute(r.path(field, path))
}

// absolute returns an absolute path, with relative paths starting at the base of the server.
func (r *resolver) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(cmp.Or(r.server.Base, r.server.Workspace), path)
}

// pairs expands values in the order of their names, so that Ask is called in a fixed order.
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
	if rest, ok := mcpjson.CutHome(text); ok {
		return r.env.Home + string(filepath.Separator) + r.expand(field, rest)
	}
	return r.expand(field, text)
}

// expand replaces the variables in text.
func (r *resolver) expand(field, text string) string {
	return mcpjson.Replace(text, func(v mcpjson.Variable) string {
		var value, problem string
		switch v.Namespace {
		case "", "env":
			value, problem = r.lookupVariable(v)
		case "input":
			value, problem = r.lookupInput(v.Name)
		default:
			problem = "is supported by other applications only"
		}
		if problem != "" {
			written := v.Text
			if v.HasDefault { // which may be a secret
				written, _, _ = strings.Cut(v.Text, ":-")
				written += "}"
			}
			r.missing = append(r.missing, MissingVariable{field, written, problem})
		}
		return value
	})
}

// lookupVariable returns the value of a variable, or the reason why it has none.
func (r *resolver) lookupVariable(v mcpjson.Variable) (value, problem string) {
	switch {
	case strings.Contains(v.Default, "${"):
		return "", "has a default that contains a variable, which is not supported"
	case v.Namespace == "" && v.Name == "workspaceFolder":
		return r.server.Workspace, ""
	case v.Namespace == "": // userHome
		return r.env.Home, ""
	}
	value, ok := r.env.LookupEnv(v.Name)
	switch {
	case v.HasDefault && (!ok || value == ""):
		return v.Default, ""
	case !ok:
		return "", "is not set: set it, or write a default, as in ${" + v.Name + ":-text}"
	}
	return value, ""
}

func (r *resolver) lookupInput(id string) (value, problem string) {
	if value, ok := r.answers[id]; ok {
		return value, ""
	}
	value, ok := r.env.Inputs[id]
	if !ok {
		value, ok = r.env.LookupEnv(inputVariable(id))
	}
	if !ok && r.env.Ask != nil {
		input, described := r.server.Inputs[id]
		if !described {
			input.ID = id
		}
		var err error
		if value, err = r.env.Ask(input); err != nil {
			return "", "cannot be asked for: " + err.Error()
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

// urlProblem returns an error message for an invalid URL, which does not quote it. It returns ""
// for a valid URL and for a URL that contains variables.
func urlProblem(text string) string {
	if strings.Contains(text, "${") {
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "its URL is invalid"
	case u.Scheme == "unix" || u.Scheme == "pipe":
		return "its URL is for a socket, which is not supported; use http: or https:"
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "its URL must be an http: or https: URL"
	}
	return ""
}

// oauth expands the variables of o.
func (r *resolver) oauth(o *OAuth) *OAuth {
	if o == nil {
		return nil
	}
	e := &OAuth{
		Disabled: o.Disabled, AllowPrivate: o.AllowPrivate, ClientCredentials: o.ClientCredentials,
		ClientID:     r.expand("oauth.clientId", o.ClientID),
		ClientSecret: r.expand("oauth.clientSecret", o.ClientSecret),
		Issuer:       r.expand("oauth.issuer", o.Issuer), Scope: r.expand("oauth.scope", o.Scope),
		RedirectURI: r.expand("oauth.redirectUri", o.RedirectURI),
	}
	if u, err := url.Parse(e.RedirectURI); r.missing == nil && e.RedirectURI != "" &&
		(err != nil || !httpurl.IsLoopback(u)) {
		r.fail("oauth.redirectUri: want an http: URL of this machine, such as http://127.0.0.1:8123/callback")
	}
	if r.missing == nil && !e.Disabled && (e.Issuer != "" || e.ClientSecret != "") &&
		!isIssuer(e.Issuer) {
		r.fail("oauth.issuer: want the https: URL of the authorization server")
	}
	return e
}

// credentials expands the variables of c.
func (r *resolver) credentials(c *Credentials) *Credentials {
	if c == nil {
		return nil
	}
	e := *c
	for _, f := range []struct {
		name string
		at   *string
	}{{"tokenEndpoint", &e.TokenEndpoint}, {"clientId", &e.ClientID},
		{"clientSecret", &e.ClientSecret}, {"assertionAudience", &e.AssertionAudience},
		{"clientKeyId", &e.ClientKeyID}, {"scope", &e.Scope}, {"actorToken", &e.ActorToken}} {
		*f.at = r.expand("credentials."+f.name, *f.at)
	}
	e.ClientKey = r.file("credentials.clientKey", e.ClientKey)
	u, err := url.Parse(e.TokenEndpoint)
	if e.TokenEndpoint != "" && r.missing == nil &&
		(err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || !httpurl.IsSecure(u)) {
		r.fail("credentials.tokenEndpoint: want the https: URL of a token endpoint")
	}
	return &e
}

// isIssuer reports whether text is a valid URL of an authorization server: https:, or http: on this
// machine.
func isIssuer(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && u.User == nil && u.Fragment == "" &&
		httpurl.IsSecure(u)
}

// envFile returns the path of the server's EnvFile, or "", and its variables, never nil.
func (r *resolver) envFile() (path string, env map[string]string) {
	env = map[string]string{}
	if r.server.EnvFile == "" {
		return "", env
	}
	path = r.path("envFile", r.server.EnvFile)
	if len(r.missing) > 0 {
		return "", env
	}
	path = r.absolute(path)
	data, err := r.env.ReadFile(path)
	if err != nil {
		r.fail("envFile: %w", err)
		return path, env
	}
	env, err = parseEnv(string(data))
	if err != nil {
		r.fail("envFile: %s:%w", path, err)
	}
	return path, env
}
