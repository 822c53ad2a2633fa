package hook

import (
	"log/slog"
	"net/url"
	"os/exec"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/processgroup"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// A Config has the flags of hooks.
type Config struct {
	before, after []Program
	secret        secret
}

// A Program is the value of a flag: what is asked about calls.
type Program struct {
	words      []string // its command line; nil if it has a URL
	persistent bool     // one process is asked about all calls
	url        *url.URL // of an HTTP hook
}

// persistentPrefix begins the value of a flag for one process.
const persistentPrefix = "persistent:"

// Flags returns the flags.
func (c *Config) Flags() []command.Flag {
	return append([]command.Flag{
		{Name: "--before", Value: "COMMAND", Many: true, Set: set(&c.before),
			Help: "run this command before each call of a tool of these servers, to see, change or refuse it; persistent:COMMAND starts it once for all calls, and a URL gets a POST for each"},
		{Name: "--after", Value: "COMMAND", Many: true, Set: set(&c.after),
			Help: "run this command after each call of a tool of these servers, to see, change or refuse the result; or persistent:COMMAND or a URL"},
	}, c.secret.flags()...)
}

// set returns the function that adds the value of a flag.
func set(programs *[]Program) func(string) error {
	return func(value string) error {
		p, err := parse(value)
		*programs = append(*programs, p)
		return err
	}
}

// parse reads a URL or a command line (see [shellwords.CommandLine]), after persistentPrefix if one
// process is to be asked about all calls.
func parse(value string) (p Program, err error) {
	if scheme, _, ok := strings.Cut(value, "://"); ok &&
		(strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http")) {
		p.url, err = parseURL(value)
		return p, err
	}
	value, p.persistent = strings.CutPrefix(value, persistentPrefix)
	p.words, err = shellwords.CommandLine(value)
	return p, err
}

func parseURL(value string) (*url.URL, error) {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "":
		return nil, command.Usagef("it is not a URL")
	case !httpurl.IsSecure(u):
		return nil, command.Usagef("%s is not encrypted", httpurl.Public(u)).WithHint(
			"use https, or http with localhost")
	case u.User != nil || u.Fragment != "":
		return nil, command.Usagef("%s: a user or fragment has no effect", httpurl.Public(u)).WithHint(
			"leave it out; requests are signed")
	}
	return u, nil
}

// Words returns the command line of the program, or nil if it has a URL.
func (p Program) Words() []string { return p.words }

// Programs returns the programs of all flags.
func (c *Config) Programs() []Program { return slices.Concat(c.before, c.after) }

// SecretFile returns the path of the file with the secret, or "".
func (c *Config) SecretFile() string { return c.secret.file }

// usesHTTP reports whether a hook has a URL.
func (c *Config) usesHTTP() bool {
	return slices.ContainsFunc(c.Programs(), func(p Program) bool { return p.url != nil })
}

// Check returns an error for flags that have no effect with the others.
func (c *Config) Check() error {
	if flag := c.secret.given(); flag != "" && !c.usesHTTP() {
		return command.Usagef("%s is for hooks with a URL", flag).WithHint(
			"add --before URL or --after URL, or leave out " + flag)
	}
	if c.secret.env != "" && c.secret.file != "" {
		return command.Usagef("%s and %s exclude each other", secretEnvFlag, secretFileFlag)
	}
	return nil
}

// CheckPrograms returns an error if a command of a flag cannot be found: each call would fail.
func (c *Config) CheckPrograms() error {
	for _, f := range []struct {
		flag     string
		programs []Program
	}{{"--before", c.before}, {"--after", c.after}} {
		for _, p := range f.programs {
			if p.url != nil {
				continue
			}
			if _, err := exec.LookPath(p.words[0]); err != nil {
				return command.Usagef("%s: %q cannot be run: %v", f.flag, p.words[0],
					processgroup.Cause(err)).WithHint("write the path of the program")
			}
		}
	}
	return nil
}

// Start starts the hooks that are persistent and returns all of them. The error is about the secret
// of HTTP hooks.
func (c *Config) Start(log *slog.Logger) (*Hooks, error) {
	var key func() []byte
	if c.usesHTTP() {
		var err error
		if key, err = c.secret.open(log); err != nil {
			return nil, err
		}
	}
	return start(c.before, c.after, key, log), nil
}
