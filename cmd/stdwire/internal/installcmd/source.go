package installcmd

import (
	"errors"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/itemname"
)

// A source is the server to install, as the arguments give it.
type source struct {
	id        string
	from      target.ConfigFlags
	url       string
	words     []string
	builtin   target.BuiltinFlags
	name      string
	headers   map[string]string // of the requests to url
	variables map[string]string
	naming    string // the hint that says how to give the name
}

func (s *source) setName(name string) error {
	s.name = name
	return checkName(name)
}

// headerFlag is the flag --header.
func (s *source) headerFlag() command.Flag {
	return command.Flag{Name: "--header", Value: "NAME:VALUE", Many: true,
		Synonyms: []string{target.TokenFileFlag},
		Help:     "a header for the requests to the URL, such as 'Authorization: Bearer ${TOKEN}'",
		Set: func(text string) error {
			name, value, err := target.CutHeader(text)
			if err != nil {
				return err
			}
			if s.headers == nil {
				s.headers = make(map[string]string)
			}
			s.headers[name] = value
			return target.CheckHeaderValue(value)
		}}
}

// urlFlag is the flag --url.
func (s *source) urlFlag() command.Flag {
	return command.Flag{Name: "--url", Value: "URL", Help: "a server at a URL, over HTTP",
		Set: s.setURL}
}

func (s *source) setURL(url string) error {
	switch {
	case url == "":
		return errors.New("the value is empty")
	case s.url != "":
		return command.Usagef("two URLs are given")
	}
	s.url = url
	return nil
}

// address takes an argument that is a URL.
func (s *source) address(word string) (bool, error) {
	if !target.IsURL(word) {
		return false, nil
	}
	if err := s.setURL(word); err != nil {
		return false, err
	}
	return true, target.CheckURL(word)
}

func (s *source) setVariable(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if name == "" {
		return errors.New("the name of the variable is empty")
	}
	if !ok {
		value = "${env:" + name + "}"
	}
	s.variables[name] = value
	return nil
}

// given reports whether any flag or argument describes a server.
func (s *source) given() bool {
	return s.id != "" || s.url != "" || s.words != nil || s.builtin.FirstFlag() != "" ||
		s.name != "" || len(s.variables) > 0 || s.headers != nil || s.from.Files != nil
}

// isOwn reports whether the server is stdwire's own, because no other is given.
func (s *source) isOwn() bool { return s.id == "" && s.url == "" && s.words == nil }

// check returns an error if several servers are given.
func (s *source) check() error {
	var all []string
	for _, source := range []struct {
		name  string
		given bool
	}{{"-s", s.id != ""}, {"--url", s.url != ""}, {"a command after --", s.words != nil},
		{s.builtin.FirstFlag(), s.builtin.FirstFlag() != ""}} {
		if source.given {
			all = append(all, source.name)
		}
	}
	switch {
	case len(all) > 1:
		return command.Usagef("%s and %s exclude each other", all[0], all[1])
	case s.from.Files != nil && s.id == "":
		return command.Usagef("--config is for a server of the configuration").
			WithHint("select one: -s ID")
	case s.url == "" && s.headers != nil:
		return command.Usagef("--header is for a server at a URL")
	case s.url != "" && len(s.variables) > 0:
		return command.Usagef("--env is for a server with a command")
	}
	return nil
}

// server returns the definition of the server.
func (s *source) server(std *term.Streams, env *config.Environment,
	workspace bool) (*config.Server, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	server := &config.Server{Workspace: env.Dir, URL: s.url, Headers: s.headers}
	var err error
	switch {
	case s.id != "":
		server, err = s.configured(std)
	case s.url != "":
		err = s.remote(server)
	case s.words != nil:
		err = s.command(server)
	default:
		server.ID = "stdwire"
		server.Args = s.builtin.ServeArgs()
		if !workspace {
			server.Args, err = s.builtin.ServeArgsFrom(env.Dir)
		}
	}
	if err != nil {
		return nil, err
	}
	switch {
	case server.URL != "":
	case workspace && server.Command == "":
		server.Command = "stdwire" // others may have the file, and this program elsewhere
	case !workspace && (server.Command == "" || isStdwire(server.Command)):
		if server.Command, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	if len(s.variables) > 0 {
		if server.URL != "" {
			return nil, command.Usagef("--env is for a server with a command")
		}
		merged := maps.Clone(server.Env)
		if merged == nil {
			merged = map[string]string{}
		}
		maps.Copy(merged, s.variables)
		server.Env = merged
	}
	if s.name != "" {
		server.ID = s.name
	}
	if server.ID == "" {
		return nil, command.Usagef("what is the server called?").WithHint(s.naming)
	}
	return server, nil
}

// isStdwire reports whether a command is this program by its name, which the PATH of an application
// may not have.
func isStdwire(command string) bool {
	return command == "stdwire" || strings.EqualFold(command, "stdwire.exe")
}

// configured returns a server of the configuration that may be started.
func (s *source) configured(std *term.Streams) (*config.Server, error) {
	c, env, err := s.from.Load()
	if err != nil {
		return nil, err
	}
	found, err := c.Server(s.id)
	if err != nil {
		return nil, target.ConfigFailure(err)
	}
	for _, d := range c.Diagnostics {
		if d.Server == found.ID && d.Severity == config.SeverityWarning {
			std.Err.Printf("warning: %v", d)
		}
	}
	if found.Disabled {
		return nil, &command.Failure{Code: "denied", Server: found.ID, Why: "it is disabled at " +
			found.Position.String(), Hint: "enable it there"}
	}
	if err := config.UserStore(env).Check(found); err != nil {
		return nil, target.ConfigFailure(err)
	}
	server := *found
	return &server, nil
}

func (s *source) remote(server *config.Server) error {
	u, err := url.Parse(s.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return command.Usagef("--url: the value is not an http or https URL").
			WithHint("it looks like this: --url https://example.com/mcp")
	}
	server.ID = itemname.SuggestID(u.Hostname())
	return nil
}

// launchers run a package, and interpreters a file, that their first argument names.
var (
	launchers    = []string{"npx", "bunx", "pnpx", "uvx", "pipx"}
	interpreters = []string{"node", "bun", "deno", "python", "python3", "ruby", "java", "sh", "bash"}
)

// command sets the command and its name.
func (s *source) command(server *config.Server) error {
	server.Command, server.Args = s.words[0], slices.Clone(s.words[1:])
	if server.Command == "" {
		return command.Usagef("the server command is empty")
	}
	base := func(path string) string {
		name := filepath.Base(path)
		return strings.TrimSuffix(name, filepath.Ext(name))
	}
	name := base(server.Command)
	runs := slices.IndexFunc(server.Args, func(arg string) bool {
		return !strings.HasPrefix(arg, "-") && arg != "run"
	})
	switch {
	case runs >= 0 && slices.Contains(launchers, name):
		name = server.Args[runs]
		if i := strings.LastIndexByte(name, '@'); i > 0 {
			name = name[:i] // its version
		}
		name = name[strings.LastIndexByte(name, '/')+1:]
	case runs >= 0 && slices.Contains(interpreters, name):
		name = base(server.Args[runs])
	}
	server.ID = itemname.SuggestID(name)
	return nil
}
