package main

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
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A target is the server that a command talks to: one from the configuration, at a URL, the command that stands behind "--", or else stdwire's own server as a child
// process.
type target struct {
	selected     selected
	remote       remote
	words        []string // of the command
	builtin      builtin  // if there is none of these
	era          string
	startTimeout time.Duration
	listTimeout  time.Duration // for all of one list; 0: the command has no such flag
	maxMessage   int           // bytes; 0: it is up to the client, or to the configuration
	serverLogs   bool
	options      client.Options // what the command wants to hear of
}

func newTarget() *target { return &target{} }

func (t *target) flags() []flag {
	return append(append(append(t.selected.flags(), t.remote.flags()...), t.builtin.serverFlags()...),
		choice(&t.era, "--era", "how to speak to the server (default auto)", "auto", "modern", "legacy"),
		startTimeoutFlag(&t.startTimeout),
		maxMessageFlag(&t.maxMessage),
		toggle(&t.serverLogs, "--server-logs", "show what the server writes to stderr"),
	)
}

// startTimeoutFlag is the flag --start-timeout. Unless it is given, the target is 0: it is up to the client, or to the configuration.
func startTimeoutFlag(target *time.Duration) flag {
	*target = 60 * time.Second
	start := duration(target, "--start-timeout", "how long the server may take to start and answer")
	*target = 0
	return start
}

func (t *target) command(words []string) { t.words = words }

// name is what messages call the server.
func (t *target) name() string {
	switch {
	case t.selected.id != "":
		return t.selected.id
	case t.remote.url != "":
		return t.remote.host()
	case t.words != nil:
		return filepath.Base(t.words[0])
	}
	return "built-in"
}

// check reports what was given of which only one can be.
func (t *target) check() error {
	own := t.builtin.given()
	switch extra := t.selected.given(); {
	case t.selected.id == "" && extra != "":
		return usagef("%s is for a server of the configuration", extra).withHint("say which: -s ID")
	case t.selected.id != "" && (t.remote.url != "" || t.words != nil):
		return usagef("there is a server's id, -s %s, and another server: which of them is it?", t.selected.id)
	case t.selected.id != "" && own != "":
		return usagef("%s is for stdwire's own server", own)
	case t.remote.url == "" && t.remote.header != nil:
		return usagef("--header is for a server at a --url")
	case t.remote.url != "" && t.words != nil:
		return usagef("there is a --url, and a command behind --: which of them is the server?")
	case t.remote.url != "" && own != "":
		return usagef("%s is for stdwire's own server", own)
	case t.words != nil && own != "":
		return usagef("%s is for stdwire's own server", own).withHint("give the server behind -- its own arguments")
	}
	return nil
}

// launched is how who asks is called: the name, and what a launcher launches. Not all arguments, among which may be secrets.
func (t *target) launched() string {
	name := t.name()
	if t.words == nil || !slices.Contains([]string{"npx", "bunx", "uvx"}, name) {
		return name
	}
	for _, word := range t.words[1:] {
		if !strings.HasPrefix(word, "-") && !strings.ContainsAny(word, "=:") {
			return name + " " + word
		}
	}
	return name
}

// start returns what to run.
func (t *target) start() (client.Command, error) {
	if t.words != nil {
		return client.Command{Path: t.words[0], Args: t.words[1:]}, nil
	}
	if t.selected.endpoint != nil {
		return t.selected.endpoint.Command, nil
	}
	self, err := os.Executable()
	return client.Command{Path: self, Args: t.builtin.serveArgs()}, err
}

// use connects to the server, lets f talk to it, and sees that nothing is left of it. An error of f becomes a [*failure] that names the server.
func (t *target) use(ctx context.Context, std *streams, f func(*client.Client) error) error {
	return t.useAs(ctx, std, nil, f)
}

// useAs is use with the last word on the client's options.
func (t *target) useAs(ctx context.Context, std *streams, adjust func(*client.Options), f func(*client.Client) error) error {
	c, err := t.connect(ctx, std, adjust)
	if err != nil {
		return err
	}
	err = f(c)
	if flushed := std.out.flush(); err == nil {
		err = flushed // now, not when the server has taken its time to end
	}
	if closed := t.disconnect(std, c); err == nil {
		err = closed
	}
	if err != nil {
		return t.diagnose(err, c.StderrTail())
	}
	return nil
}

// connect connects to the server. Adjust, if not nil, has the last word on the client's options. The error is a [*failure] that names the server.
func (t *target) connect(ctx context.Context, std *streams, adjust func(*client.Options)) (*client.Client, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := t.selected.find(ctx, std); err != nil {
		return nil, err
	}
	if t.serverLogs && t.dial() != nil {
		return nil, usagef("--server-logs is for servers that are started here")
	}
	log := &serverLog{console: std.err}
	c, err := t.open(ctx, std, log, adjust)
	if err != nil {
		log.flush()
		return nil, t.diagnose(err, "")
	}
	return c, nil
}

// disconnect ends the connection, and the server if it was started here.
func (t *target) disconnect(std *streams, c *client.Client) error {
	stop := std.err.during(time.Second, func(elapsed time.Duration) string {
		return t.name() + ": still stopping " + elapsed.Round(time.Second).String()
	})
	err := c.Close()
	stop()
	if err == nil {
		_ = c.Wait() // for the last of what it tells on stderr
	}
	if p := c.Process(); p != nil {
		if log, ok := p.Command.Stderr.(*serverLog); ok {
			log.flush()
		}
	}
	return err
}

func (t *target) open(ctx context.Context, std *streams, log *serverLog, adjust func(*client.Options)) (*client.Client, error) {
	o := t.options
	o.Name = t.name()
	o.Info = mcp.Implementation{Name: "stdwire", Version: version()}
	if t.selected.server != nil {
		o = t.selected.server.Options(o)
	}
	if t.era != "" {
		o.Era = eras[t.era]
	}
	o.StartTimeout = cmp.Or(t.startTimeout, o.StartTimeout)
	o.Limits.MaxFrame = cmp.Or(t.maxMessage, o.Limits.MaxFrame)
	o.Logger = slog.New(slog.NewTextHandler(std.err, nil))
	if std.answers() {
		newAsker(t.launched(), std.err, std.prompter()).answer(&o)
	}
	if adjust != nil {
		adjust(&o)
	}
	const patience = 3 * time.Second
	if dial := t.dial(); dial != nil {
		stop := std.err.during(patience, func(elapsed time.Duration) string {
			return t.name() + ": no answer yet " + elapsed.Round(time.Second).String()
		})
		defer stop()
		return o.Connect(ctx, dial)
	}
	cmd, err := t.start()
	if err != nil {
		return nil, err
	}
	if t.serverLogs {
		cmd.Stderr = log
	}
	stop := std.err.during(patience, func(elapsed time.Duration) string {
		return t.name() + ": still starting" + downloads(cmd.Path) + " " + elapsed.Round(time.Second).String()
	})
	defer stop()
	return o.Spawn(ctx, cmd)
}

// eras are the values of --era; the zero value finds out.
var eras = map[string]mcp.Era{"modern": mcp.Modern, "legacy": mcp.Legacy}

// dial is the way to a server with a URL; nil if it has none.
func (t *target) dial() client.Transport {
	switch {
	case t.remote.url != "":
		return t.remote.dial()
	case t.selected.endpoint != nil && t.selected.endpoint.URL != "":
		return t.selected.dial()
	}
	return nil
}

// downloads guesses what a launcher is busy with.
func downloads(path string) string {
	launchers := []string{"npx", "npm", "pnpm", "yarn", "bunx", "bun", "deno", "uvx", "uv", "pipx", "docker", "podman"}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if slices.Contains(launchers, name) {
		return " (" + name + " may be downloading it)"
	}
	return ""
}

// diagnose says what an error means to who ran the command. tail is what the server last wrote to stderr.
func (t *target) diagnose(err error, tail string) error {
	f := explain(err)
	if f == nil {
		return err
	}
	f.server, f.logged = cmp.Or(f.server, t.name()), t.serverLogs
	if f.code == "server_died" || f.code == "call_timeout" {
		f.stderr = tail
	}
	if f.code == "auth_required" {
		f.hint = t.wayIn(err)
	}
	return f
}

// config is how the server is reached, as it would stand in a configuration. Headers are no part of it: they are given on the command line because they are kept nowhere.
func (t *target) config() scan.Config {
	if t.selected.server != nil {
		return configOf(t.selected.server)
	}
	c := scan.Config{URL: t.remote.url}
	if len(t.words) > 1 {
		c.Args = t.words[1:]
	}
	return c
}

// configOf is how a server is reached, as it stands in its configuration: variables are not replaced.
func configOf(s *config.Server) scan.Config {
	c := scan.Config{Args: s.Args, Env: s.Env, URL: s.URL}
	for name, value := range s.Headers {
		if c.Header == nil {
			c.Header = map[string][]string{}
		}
		c.Header[name] = []string{value}
	}
	return c
}
