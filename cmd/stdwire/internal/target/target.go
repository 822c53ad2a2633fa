package target

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/elicit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Target is the server that a command talks to: one from the configuration, at a URL, the command that stands behind "--", or else stdwire's own server as a child
// process.
type Target struct {
	Selected     Selected
	Remote       Remote
	Words        []string // of the command
	Builtin      Builtin  // if there is none of these
	Era          string
	StartTimeout time.Duration
	ListTimeout  time.Duration // for all of one list; 0: the command has no such flag
	maxMessage   int           // bytes; 0: it is up to the client, or to the configuration
	ServerLogs   bool
	Options      client.Options // what the command wants to hear of
}

func NewTarget() *Target { return &Target{} }

func (t *Target) Flags() []command.Flag {
	return append(append(append(t.Selected.flags(), t.Remote.Flags()...), t.Builtin.ServerFlags()...),
		command.ChoiceFlag(&t.Era, "--era", "how to speak to the server (default auto)", "auto", "modern", "legacy"),
		StartTimeoutFlag(&t.StartTimeout),
		maxMessageFlag(&t.maxMessage),
		command.SwitchFlag(&t.ServerLogs, "--server-logs", "show what the server writes to stderr"),
	)
}

// StartTimeoutFlag is the flag --start-timeout. Unless it is given, the target is 0: it is up to the client, or to the configuration.
func StartTimeoutFlag(target *time.Duration) command.Flag {
	*target = 60 * time.Second
	start := command.DurationFlag(target, "--start-timeout", "how long the server may take to start and answer")
	*target = 0
	return start
}

func (t *Target) Command(words []string) { t.Words = words }

// Name is what messages call the server.
func (t *Target) Name() string {
	switch {
	case t.Selected.ID != "":
		return t.Selected.ID
	case t.Remote.URL != "":
		return t.Remote.Host()
	case t.Words != nil:
		return filepath.Base(t.Words[0])
	}
	return "built-in"
}

// check reports what was given of which only one can be.
func (t *Target) check() error {
	own := t.Builtin.Given()
	switch extra := t.Selected.Given(); {
	case t.Selected.ID == "" && extra != "":
		return command.Usagef("%s is for a server of the configuration", extra).WithHint("say which: -s ID")
	case t.Selected.ID != "" && (t.Remote.URL != "" || t.Words != nil):
		return command.Usagef("there is a server's id, -s %s, and another server: which of them is it?", t.Selected.ID)
	case t.Selected.ID != "" && own != "":
		return command.Usagef("%s is for stdwire's own server", own)
	case t.Remote.URL == "" && t.Remote.Header != nil:
		return command.Usagef("--header is for a server at a --url")
	case t.Remote.URL != "" && t.Words != nil:
		return command.Usagef("there is a --url, and a command behind --: which of them is the server?")
	case t.Remote.URL != "" && own != "":
		return command.Usagef("%s is for stdwire's own server", own)
	case t.Words != nil && own != "":
		return command.Usagef("%s is for stdwire's own server", own).WithHint("give the server behind -- its own arguments")
	}
	return nil
}

// Launched is how who asks is called: the name, and what a launcher launches. Not all arguments, among which may be secrets.
func (t *Target) Launched() string {
	name := t.Name()
	if t.Words == nil || !slices.Contains([]string{"npx", "bunx", "uvx"}, name) {
		return name
	}
	for _, word := range t.Words[1:] {
		if !strings.HasPrefix(word, "-") && !strings.ContainsAny(word, "=:") {
			return name + " " + word
		}
	}
	return name
}

// start returns what to run.
func (t *Target) start() (client.Command, error) {
	if t.Words != nil {
		return client.Command{Path: t.Words[0], Args: t.Words[1:]}, nil
	}
	if t.Selected.Endpoint != nil {
		return t.Selected.Endpoint.Command, nil
	}
	self, err := os.Executable()
	return client.Command{Path: self, Args: t.Builtin.serveArgs()}, err
}

// Use connects to the server, lets f talk to it, and sees that nothing is left of it. An error of f becomes a [*failure] that names the server.
func (t *Target) Use(ctx context.Context, std *term.Streams, f func(*client.Client) error) error {
	return t.UseAs(ctx, std, nil, f)
}

// UseAs is use with the last word on the client's options.
func (t *Target) UseAs(ctx context.Context, std *term.Streams, adjust func(*client.Options), f func(*client.Client) error) error {
	c, err := t.Connect(ctx, std, adjust)
	if err != nil {
		return err
	}
	err = f(c)
	if flushed := std.Out.Flush(); err == nil {
		err = flushed // now, not when the server has taken its time to end
	}
	if closed := t.Disconnect(std, c); err == nil {
		err = closed
	}
	if err != nil {
		return t.Diagnose(err, c.StderrTail())
	}
	return nil
}

// Connect connects to the server. Adjust, if not nil, has the last word on the client's options. The error is a [*failure] that names the server.
func (t *Target) Connect(ctx context.Context, std *term.Streams, adjust func(*client.Options)) (*client.Client, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := t.Selected.Find(ctx, std); err != nil {
		return nil, err
	}
	if t.ServerLogs && t.dial() != nil {
		return nil, command.Usagef("--server-logs is for servers that are started here")
	}
	log := &ServerLog{Console: std.Err}
	c, err := t.open(ctx, std, log, adjust)
	if err != nil {
		log.flush()
		return nil, t.Diagnose(err, "")
	}
	return c, nil
}

// Disconnect ends the connection, and the server if it was started here.
func (t *Target) Disconnect(std *term.Streams, c *client.Client) error {
	stop := std.Err.StatusAfter(time.Second, func(elapsed time.Duration) string {
		return t.Name() + ": still stopping " + elapsed.Round(time.Second).String()
	})
	err := c.Close()
	stop()
	if err == nil {
		_ = c.Wait() // for the last of what it tells on stderr
	}
	if p := c.Process(); p != nil {
		if log, ok := p.Command.Stderr.(*ServerLog); ok {
			log.flush()
		}
	}
	return err
}

func (t *Target) open(ctx context.Context, std *term.Streams, log *ServerLog, adjust func(*client.Options)) (*client.Client, error) {
	o := t.Options
	o.Name = t.Name()
	o.Info = mcp.Implementation{Name: "stdwire", Version: command.Version()}
	if t.Selected.server != nil {
		o = t.Selected.server.Options(o)
	}
	if t.Era != "" {
		o.Era = Eras[t.Era]
	}
	o.StartTimeout = cmp.Or(t.StartTimeout, o.StartTimeout)
	o.Limits.MaxFrame = cmp.Or(t.maxMessage, o.Limits.MaxFrame)
	o.Logger = slog.New(slog.NewTextHandler(std.Err, nil))
	if std.CanAsk() {
		elicit.NewAsker(t.Launched(), std.Err, std.Prompter()).Answer(&o)
	}
	if adjust != nil {
		adjust(&o)
	}
	const patience = 3 * time.Second
	if dial := t.dial(); dial != nil {
		stop := std.Err.StatusAfter(patience, func(elapsed time.Duration) string {
			return t.Name() + ": no answer yet " + elapsed.Round(time.Second).String()
		})
		defer stop()
		return o.Connect(ctx, dial)
	}
	cmd, err := t.start()
	if err != nil {
		return nil, err
	}
	if t.ServerLogs {
		cmd.Stderr = log
	}
	stop := std.Err.StatusAfter(patience, func(elapsed time.Duration) string {
		return t.Name() + ": still starting" + Downloads(cmd.Path) + " " + elapsed.Round(time.Second).String()
	})
	defer stop()
	return o.Spawn(ctx, cmd)
}

// Eras are the values of --era; the zero value finds out.
var Eras = map[string]mcp.Era{"modern": mcp.Modern, "legacy": mcp.Legacy}

// dial is the way to a server with a URL; nil if it has none.
func (t *Target) dial() client.Transport {
	switch {
	case t.Remote.URL != "":
		return t.Remote.Dial()
	case t.Selected.Endpoint != nil && t.Selected.Endpoint.URL != "":
		return t.Selected.dial()
	}
	return nil
}

// Downloads guesses what a launcher is busy with.
func Downloads(path string) string {
	launchers := []string{"npx", "npm", "pnpm", "yarn", "bunx", "bun", "deno", "uvx", "uv", "pipx", "docker", "podman"}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if slices.Contains(launchers, name) {
		return " (" + name + " may be downloading it)"
	}
	return ""
}

// Diagnose says what an error means to who ran the command. tail is what the server last wrote to stderr.
func (t *Target) Diagnose(err error, tail string) error {
	f := Explain(err)
	if f == nil {
		return err
	}
	f.Server, f.Logged = cmp.Or(f.Server, t.Name()), t.ServerLogs
	if f.Code == "server_died" || f.Code == "call_timeout" {
		f.Stderr = tail
	}
	if f.Code == "auth_required" {
		f.Hint = t.wayIn(err)
	}
	return f
}

// Config is how the server is reached, as it would stand in a configuration. Headers are no part of it: they are given on the command line because they are kept nowhere.
func (t *Target) Config() scan.Config {
	if t.Selected.server != nil {
		return ConfigOf(t.Selected.server)
	}
	c := scan.Config{URL: t.Remote.URL}
	if len(t.Words) > 1 {
		c.Args = t.Words[1:]
	}
	return c
}

// ConfigOf is how a server is reached, as it stands in its configuration: variables are not replaced.
func ConfigOf(s *config.Server) scan.Config {
	c := scan.Config{Args: s.Args, Env: s.Env, URL: s.URL}
	for name, value := range s.Headers {
		if c.Header == nil {
			c.Header = map[string][]string{}
		}
		c.Header[name] = []string{value}
	}
	return c
}
