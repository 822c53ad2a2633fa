package registry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/itemname"
)

// An Alternative is one way to use a server: a package or a remote.
type Alternative struct {
	ID      string // of the server in the configuration
	Type    string // the type of the package, or "remote"
	Server  Definition
	Inputs  []config.Input // what the user must give, as ${input:ID}
	Left    []string       // optional values that are not set
	Problem string         // why it cannot be used; "" if it can
	Note    string         // what the user has to do first, or ""
}

// A Definition is a server of a configuration file.
type Definition struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Type    string            `json:"type,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Alternatives returns the ways to use the server, in the order of the file, packages first. The id
// of the first is the name of the server; those of the others end with their kind.
func (s *Server) Alternatives() []Alternative {
	var all []Alternative
	for _, p := range s.Packages {
		all = append(all, p.alternative())
	}
	for _, r := range s.Remotes {
		all = append(all, r.alternative())
	}
	base := itemname.SuggestID(path.Base(s.Name))
	taken := map[string]bool{}
	for i := range all {
		id := base
		for n := 1; taken[id] || id == ""; n++ {
			suffix := "-" + itemname.SuggestID(all[i].Type)
			if n > 1 {
				suffix += fmt.Sprint("-", n)
			}
			id = itemname.SuggestID(base[:min(len(base), 32-len(suffix))] + suffix)
		}
		taken[id] = true
		all[i].ID = id
	}
	return all
}

// File returns a configuration file with these alternatives.
func File(all []Alternative) []byte {
	servers := map[string]Definition{}
	inputs := []json.RawMessage{}
	for _, a := range all {
		servers[a.ID] = a.Server
		for _, input := range a.Inputs {
			if text := input.JSON(); !slices.ContainsFunc(inputs,
				func(other json.RawMessage) bool { return string(other) == string(text) }) {
				inputs = append(inputs, text)
			}
		}
	}
	text, _ := json.Marshal(struct {
		Servers map[string]Definition `json:"mcpServers"`
		Inputs  []json.RawMessage     `json:"inputs,omitempty"`
	}{servers, inputs}) // strings and valid JSON always encode
	return text
}

func (r Remote) alternative() Alternative {
	v := values{variables: r.Variables}
	a := Alternative{Type: "remote", Server: Definition{Type: "http", URL: v.expand(r.URL, r.Variables)}}
	for _, h := range r.Headers {
		if text, ok := v.value(h, h.Name); ok {
			if a.Server.Headers == nil {
				a.Server.Headers = map[string]string{}
			}
			a.Server.Headers[h.Name] = text
		}
	}
	return a.with(v)
}

func (p Package) alternative() Alternative {
	v := values{}
	a := Alternative{Type: p.Type, Server: Definition{Env: v.env(p.Env)}}
	runArgs, args := v.args(p.RunArgs), v.args(p.Args)
	switch start, ok := startCommands[p.Type]; {
	case p.Transport.Type != "stdio":
		a.Problem = fmt.Sprintf("it serves %s itself: start it, and use its URL", p.Transport.Type)
	case !ok:
		a.Problem = fmt.Sprintf("packages of type %.30q are not known", p.Type)
	default:
		a.Server.Command, a.Server.Args, a.Problem = start(p, runArgs, args)
	}
	if p.Type == "mcpb" {
		a.Note = "download " + p.ID + " to the working directory first"
	}
	return a.with(v)
}

// with returns a copy with the inputs that v has collected. A reference to another variable is a
// problem, because the configuration would expand it: the file could send a secret of the user's
// environment to its own server.
func (a Alternative) with(v values) Alternative {
	a.Inputs, a.Left = v.inputs, v.left
	var known []string
	for _, input := range a.Inputs {
		known = append(known, "${input:"+input.ID+"}", "")
	}
	inputs := strings.NewReplacer(known...)
	for _, text := range slices.Concat([]string{a.Server.URL}, a.Server.Args,
		slices.Collect(maps.Values(a.Server.Env)), slices.Collect(maps.Values(a.Server.Headers))) {
		if strings.Contains(inputs.Replace(text), "${") {
			a.Problem = "a value has ${, which would read variables of your environment"
		}
	}
	return a
}

// startCommands has, by the type of a package, a function that returns the command that starts it,
// from the arguments of the runtime and of the package.
var startCommands = map[string]func(p Package, runtime, args []string) (command string,
	all []string, problem string){
	"npm": func(p Package, run, args []string) (string, []string, string) {
		if !slices.Contains(run, "-y") && !slices.Contains(run, "--yes") {
			run = append([]string{"-y"}, run...) // npx would ask on stdin
		}
		return p.runtime("npx", "bunx", "pnpx"), slices.Concat(run, []string{p.versioned("@")}, args), ""
	},
	"pypi": func(p Package, run, args []string) (string, []string, string) {
		return p.runtime("uvx", "pipx"), slices.Concat(run, []string{p.versioned("@")}, args), ""
	},
	"nuget": func(p Package, run, args []string) (string, []string, string) {
		if !slices.Contains(run, "--yes") && !slices.Contains(run, "-y") {
			run = append([]string{"--yes"}, run...)
		}
		all := append([]string{p.versioned("@")}, run...)
		if args != nil {
			all = append(append(all, "--"), args...)
		}
		return p.runtime("dnx"), all, ""
	},
	"oci": func(p Package, run, args []string) (string, []string, string) {
		if !slices.Contains(run, "run") {
			run = append([]string{"run", "-i", "--rm"}, run...)
		}
		for _, e := range p.Env { // docker passes a variable on by its name
			if !slices.ContainsFunc(run, func(arg string) bool {
				name, _, _ := strings.Cut(arg, "=")
				return name == e.Name
			}) {
				run = append(run, "-e", e.Name)
			}
		}
		image := p.ID
		if last := path.Base(image); p.Version != "" && !strings.ContainsAny(last, ":@") {
			image += ":" + p.Version
		}
		return p.runtime("docker", "podman"), slices.Concat(run, []string{image}, args), ""
	},
	"mcpb": func(p Package, run, args []string) (string, []string, string) {
		u, err := url.Parse(p.ID)
		if err != nil || path.Base(u.Path) == "." || path.Base(u.Path) == "/" {
			return "", nil, "its identifier is not the URL of a file"
		}
		if run != nil || args != nil {
			return "", nil, "a bundle takes no arguments; it asks for values by its own manifest"
		}
		return "stdwire", []string{"bundle", "run", path.Base(u.Path), "--sha256", p.SHA256}, ""
	},
}

// runtime returns the hint if it is one of the known runtimes, and otherwise the first of these.
// A hint of a stranger does not name any other program.
func (p Package) runtime(known ...string) string {
	if slices.Contains(known, p.Runtime) {
		return p.Runtime
	}
	return known[0]
}

func (p Package) versioned(separator string) string {
	if p.Version == "" {
		return p.ID
	}
	return p.ID + separator + p.Version
}

// values finds the values of inputs, and collects those that the user must give.
type values struct {
	variables map[string]Input // of a remote, for its headers, too
	inputs    []config.Input
	left      []string
}

func (v *values) env(all []Argument) map[string]string {
	env := map[string]string{}
	for _, e := range all {
		if text, ok := v.value(e, e.Name); ok {
			env[e.Name] = text
		}
	}
	if len(env) == 0 {
		return nil
	}
	return env
}

func (v *values) args(all []Argument) (args []string) {
	for _, a := range all {
		if a.Type == "named" && a.isSwitch() {
			args = append(args, a.Name)
			continue
		}
		name := a.Name
		if a.Type == "positional" {
			name = a.Hint
		}
		text, ok := v.value(a, name)
		switch {
		case !ok:
		case a.Type == "positional":
			args = append(args, text)
		case strings.HasPrefix(a.Name, "--"):
			args = append(args, a.Name+"="+text)
		default: // most programs do not take -x=value
			args = append(args, a.Name, text)
		}
	}
	return args
}

// isSwitch reports whether nothing says that the argument has a value.
func (a Argument) isSwitch() bool {
	in := a.Input
	return in.Value == "" && in.Default == "" && in.Placeholder == "" && in.Choices == nil &&
		!in.Required && !in.Secret && in.Format == "" && a.Hint == "" && a.Variables == nil
}

// value returns the value of an argument. It is false if the value is optional and not set.
func (v *values) value(a Argument, name string) (string, bool) {
	text := a.Value
	if text == "" {
		return v.input(a.Input, name)
	}
	for _, m := range bracePattern.FindAllStringSubmatch(text, -1) {
		if in, known := v.lookUp(m[1], a.Variables); known && in.Value == "" && in.Default == "" &&
			!in.Required {
			v.left = append(v.left, name+"."+m[1])
			return "", false
		}
	}
	return v.expand(text, a.Variables), true
}

var bracePattern = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_.-]*)\}`)

func (v *values) lookUp(name string, own map[string]Input) (Input, bool) {
	in, known := own[name]
	if !known {
		in, known = v.variables[name]
	}
	return in, known
}

// expand replaces {variables}. Unknown ones remain as they are.
func (v *values) expand(text string, own map[string]Input) string {
	return bracePattern.ReplaceAllStringFunc(text, func(m string) string {
		name := m[1 : len(m)-1]
		in, known := v.lookUp(name, own)
		if !known {
			return m
		}
		in.Required = true // the text needs it
		value, _ := v.input(in, name)
		return value
	})
}

// input returns the value of an input: what the file sets, its default, or what the user will give.
func (v *values) input(in Input, name string) (string, bool) {
	text := cmp.Or(in.Value, in.Default)
	switch {
	case text != "":
		return text, true
	case !in.Required:
		v.left = append(v.left, name)
		return "", false
	}
	id := cmp.Or(strings.Trim(idPattern.ReplaceAllString(name, "-"), "-"), "value")
	description := in.Description
	if in.Choices != nil {
		description += " (one of " + strings.Join(in.Choices, ", ") + ")"
	}
	input := config.Input{ID: id, Description: strings.TrimSpace(description), Password: in.Secret}
	if !slices.ContainsFunc(v.inputs, func(i config.Input) bool { return i.ID == id }) {
		v.inputs = append(v.inputs, input)
	}
	return "${input:" + id + "}", true
}

// idPattern matches characters that the id of an input must not have.
var idPattern = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)
