package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/printable"
)

// A configuration is which files the command line takes servers from, and what it says of them.
type configuration struct {
	files  []string // none: those that are searched for
	inputs map[string]string
}

func (c *configuration) flags() []flag {
	return []flag{
		{name: "--config", value: "FILE", many: true, help: "a file with servers, in place of those that are searched for; of several the later one wins", set: func(value string) error {
			if value == "" {
				return errors.New("the name of the file is empty")
			}
			c.files = append(c.files, value)
			return nil
		}},
		{name: "--input", value: "ID=VALUE", many: true, help: "a value for ${input:ID}; with ID=@FILE it is the content of a file", set: c.setInput},
	}
}

func (c *configuration) setInput(value string) error {
	id, value, ok := strings.Cut(value, "=")
	if !ok || id == "" {
		return usagef("--input: that is none").withHint("it looks like this: --input key=VALUE, or --input key=@FILE")
	}
	if file, ok := strings.CutPrefix(value, "@"); ok {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		value = strings.TrimSpace(string(content))
	}
	if c.inputs == nil {
		c.inputs = map[string]string{}
	}
	c.inputs[id] = value
	return nil
}

// given names a flag that was given; "" if none was.
func (c *configuration) given() string {
	switch {
	case c.files != nil:
		return "--config"
	case c.inputs != nil:
		return "--input"
	}
	return ""
}

// load finds out what is configured.
func (c *configuration) load() (*config.Config, *config.Environment, error) {
	env, err := config.System("")
	if err != nil {
		return nil, nil, err
	}
	env.Inputs = c.inputs
	return config.Load(env, c.files...), env, nil
}

// A selected is a server from the configuration.
type selected struct {
	configuration
	id       string // "" if none is
	server   *config.Server
	endpoint *config.Endpoint
}

func (s *selected) flags() []flag {
	return append([]flag{{name: "-s", value: "ID", help: "a server from the configuration, see stdwire config", set: func(value string) error {
		if value == "" {
			return errors.New("the id is empty")
		}
		s.id = value
		return nil
	}}}, s.configuration.flags()...)
}

// find looks the server up, and sees that it may be started. It does nothing if none is selected, or it was found already.
func (s *selected) find(ctx context.Context, std *streams) error {
	if s.id == "" || s.endpoint != nil {
		return nil
	}
	c, env, err := s.load()
	if err != nil {
		return err
	}
	server, err := c.Server(s.id)
	if err != nil {
		return misconfigured(err)
	}
	for _, d := range c.Diagnostics {
		if d.Server == s.id && d.Severity == config.Warning {
			std.err.printf("warning: %v", d)
		}
	}
	if server.Disabled {
		return &failure{code: "denied", server: s.id, why: "it is disabled at " + server.Position.String(), hint: "enable it there"}
	}
	if err := config.UserStore(env).Check(server); err != nil {
		return misconfigured(err)
	}
	if std.answers() {
		env.Ask = askInput(ctx, std.prompter(), s.id)
	}
	endpoint, err := server.Resolve(env)
	if err != nil {
		return misconfigured(err)
	}
	s.server, s.endpoint = server, endpoint
	return nil
}

// askInput asks whoever sits at the terminal for the inputs of a server.
func askInput(ctx context.Context, p prompter, server string) func(config.Input) (string, error) {
	return func(input config.Input) (string, error) {
		if input.Password {
			return "", errors.New("it would be seen while it is typed: give it with --input " + input.ID + "=@FILE")
		}
		end, err := p.begin(ctx)
		if err != nil {
			return "", err
		}
		defer end()
		prompt := fmt.Sprintf("%s wants %s: ", server, printable.Line(cmp.Or(input.Description, input.ID)))
		return p.line(ctx, prompt)
	}
}

// dial is for a server with a URL.
func (s *selected) dial() client.Transport {
	header := make(http.Header)
	for name, value := range s.endpoint.Headers {
		header.Set(name, value)
	}
	return dialAuthorized(s.endpoint.URL, header, s.endpoint.OAuth)
}

// misconfigured makes a failure of an error of the configuration.
func misconfigured(err error) error {
	f := &failure{code: "config", why: err.Error()}
	if e, ok := errors.AsType[*config.UntrustedError](err); ok {
		f.code = "untrusted"
		f.hint = fmt.Sprintf("look at what it runs, and agree to it: stdwire trust %s", e.Server)
		if e.Profile != "" {
			f.hint = fmt.Sprintf("look at what it has, and agree to it: stdwire trust %s", e.Profile)
		}
	}
	if e, ok := errors.AsType[*config.UnknownError](err); ok {
		f.code, f.hint = "usage", e.Hint
		if f.hint == "" {
			f.hint = "stdwire config where shows which files are searched"
		}
	}
	return f
}
