package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/userfile"
)

// ConfigFlags are the flags that select configuration files and set inputs.
type ConfigFlags struct {
	Files  []string // none: the files that are searched for
	Inputs map[string]string
}

func (c *ConfigFlags) Flags() []command.Flag {
	return []command.Flag{c.FileFlag(), {Name: "--input", Value: "ID=VALUE", Many: true,
		Help: "a value for ${input:ID}; with ID=@FILE it is the content of a file",
		Set:  c.setInput}}
}

// FileFlag is --config alone, for commands that need no values of inputs.
func (c *ConfigFlags) FileFlag() command.Flag {
	return command.Flag{Name: "--config", Value: "FILE", Many: true,
		Help: "a configuration file, in place of those that are searched for; of several, the last takes precedence",
		Set: func(value string) error {
			if value == "" {
				return errors.New("the name of the file is empty")
			}
			c.Files = append(c.Files, value)
			return nil
		}}
}

func (c *ConfigFlags) setInput(value string) error {
	id, value, ok := strings.Cut(value, "=")
	if !ok || id == "" {
		return command.Usagef("--input: the value is not ID=VALUE").WithHint(
			"it looks like this: --input key=VALUE, or --input key=@FILE")
	}
	value, err := FlagValue(value)
	if err != nil {
		return err
	}
	if c.Inputs == nil {
		c.Inputs = map[string]string{}
	}
	c.Inputs[id] = value
	return nil
}

// Given returns the name of a given flag, or "".
func (c *ConfigFlags) Given() string {
	switch {
	case c.Files != nil:
		return "--config"
	case c.Inputs != nil:
		return "--input"
	}
	return ""
}

// Load loads the configuration.
func (c *ConfigFlags) Load() (*config.Config, *config.Environment, error) {
	env, err := config.System("")
	if err != nil {
		return nil, nil, err
	}
	env.Inputs = c.Inputs
	return config.Load(env, c.Files...), env, nil
}

// A ConfiguredServer is a server of the configuration, given by -s.
type ConfiguredServer struct {
	ConfigFlags
	ID       string // "" if not given
	server   *config.Server
	Endpoint *config.Endpoint
}

func (s *ConfiguredServer) flags() []command.Flag {
	selected := command.TextFlag(&s.ID, "-s", "ID",
		"a server from the configuration, see stdwire config; or a URL, or the path of a bundle, such as ./x.mcpb")
	selected.Synonyms = []string{"--server", "--server-id", "--id", "--name"}
	return append([]command.Flag{selected}, s.ConfigFlags.Flags()...)
}

// Has reports whether the configuration has a server of that id. An error of the configuration
// counts as none.
func (s *ConfiguredServer) Has(id string) bool { return s.Source(id) != "" }

// Source returns the path of the file that defines the server of that id, or "" if the
// configuration has none. An error of the configuration counts as none.
func (s *ConfiguredServer) Source(id string) string {
	c, _, err := s.Load()
	if err != nil {
		return ""
	}
	server, err := c.Server(id)
	if err != nil {
		return ""
	}
	return server.File
}

// Resolve finds the server in the configuration and checks that it may be started. It does nothing
// if no server is given, or the second time.
func (s *ConfiguredServer) Resolve(ctx context.Context, std *term.Streams) error {
	if s.ID == "" || s.Endpoint != nil {
		return nil
	}
	c, env, err := s.Load()
	if err != nil {
		return err
	}
	server, err := c.Server(s.ID)
	if err != nil && isBundle(s.ID) {
		return ConfigFailure(err).WithHint("a bundle has its directory before it: -s ./" + s.ID)
	}
	if err != nil {
		for _, d := range c.Diagnostics {
			if d.Server == "" { // of a file, which may be why the server is not found
				PrintDiagnostics(std, []config.Diagnostic{d})
			}
		}
		return ConfigFailure(err)
	}
	for _, d := range c.Diagnostics {
		if d.Server == s.ID && d.Severity == config.SeverityWarning {
			std.Err.Printf("warning: %v", d)
		}
	}
	if server.Disabled {
		return &command.Failure{Code: "denied", Server: s.ID, Why: "it is disabled at " +
			server.Position.String(), Hint: "enable it there"}
	}
	if err := config.UserStore(env).Check(server); err != nil {
		return ConfigFailure(err)
	}
	if std.CanAsk() {
		env.Ask = AskInput(ctx, std.Prompter(), s.ID)
	}
	endpoint, err := server.Resolve(env)
	if err != nil {
		return ConfigFailure(err)
	}
	s.server, s.Endpoint, s.ID = server, endpoint, server.ID
	return nil
}

// AskInput returns a function that asks for the inputs of a server at the terminal.
func AskInput(ctx context.Context, p term.Prompter, server string) func(config.Input) (string,
	error) {
	return func(input config.Input) (string, error) {
		if input.Password {
			return "", errors.New("it would be visible while typed: give it with --input " +
				input.ID + "=@FILE")
		}
		end, err := p.Begin(ctx)
		if err != nil {
			return "", err
		}
		defer end()
		prompt := fmt.Sprintf("%s wants %s: ", server,
			printable.Line(cmp.Or(input.Description, input.ID)))
		return p.Line(ctx, prompt)
	}
}

// dial returns the transport of a server at a URL. It reads the files of TLS, which may have been
// renewed since the last time. observe is that of [Target].
func (s *ConfiguredServer) dial(
	observe func(http.RoundTripper) http.RoundTripper) (client.Transport, error) {
	secure, ca, err := loadTLS(s.Endpoint.TLS, userfile.Read, "tlsCA", "tlsClientCert")
	if err != nil {
		return nil, &command.Failure{Code: "config", Server: s.ID, Why: err.Error()}
	}
	header := make(http.Header)
	for name, value := range s.Endpoint.Headers {
		header.Set(name, value)
	}
	return dialAuthorized(s.Endpoint, header, secure, ca, observe), nil
}

// ConfigFailure returns an error of the configuration as a failure.
func ConfigFailure(err error) *command.Failure {
	f := &command.Failure{Code: "config", Why: err.Error()}
	if e, ok := errors.AsType[*config.UntrustedError](err); ok {
		f.Code = "untrusted"
		f.Hint = fmt.Sprintf("review its definition, and trust it: stdwire trust %s", e.Server)
		if e.Profile != "" {
			f.Hint = fmt.Sprintf("review its servers, and trust it: stdwire trust %s",
				e.Profile)
		}
	}
	if e, ok := errors.AsType[*config.UnknownError](err); ok {
		f.Code, f.Hint = "usage", e.Hint
		f.Hint = cmp.Or(f.Hint, "stdwire config where shows which files are searched")
	}
	return f
}

// ProfileFlag is the flag --profile.
func ProfileFlag(profile *string) command.Flag {
	return command.TextFlag(profile, "--profile", "NAME",
		"only the servers of this profile of the configuration")
}
