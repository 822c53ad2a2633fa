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
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A target is the server that a command talks to: the command that stands behind "--", or else stdwire's own server as a child process.
type target struct {
	words        []string // of the command
	builtin      builtin  // if there is none
	era          string
	startTimeout time.Duration
	serverLogs   bool
}

func newTarget() *target {
	return &target{startTimeout: 60 * time.Second}
}

func (t *target) flags() []flag {
	return append(t.builtin.serverFlags(),
		choice(&t.era, "--era", "how to speak to the server (default auto)", "auto", "modern", "legacy"),
		duration(&t.startTimeout, "--start-timeout", "how long the server may take to start and answer"),
		toggle(&t.serverLogs, "--server-logs", "show what the server writes to stderr"),
	)
}

func (t *target) command(words []string) { t.words = words }

// name is what messages call the server.
func (t *target) name() string {
	if t.words == nil {
		return "built-in"
	}
	return filepath.Base(t.words[0])
}

// start returns what to run.
func (t *target) start() (client.Command, error) {
	if t.words != nil {
		if t.builtin.given() != "" {
			return client.Command{}, usagef("%s is for stdwire's own server", t.builtin.given()).withHint("give the server behind -- its own arguments")
		}
		return client.Command{Path: t.words[0], Args: t.words[1:]}, nil
	}
	self, err := os.Executable()
	return client.Command{Path: self, Args: t.builtin.serveArgs()}, err
}

// use connects to the server, lets f talk to it, and sees that nothing is left of it. An error of f becomes a [*failure] that names the server.
func (t *target) use(ctx context.Context, std *streams, f func(*client.Client) error) error {
	cmd, err := t.start()
	if err != nil {
		return err
	}
	if t.serverLogs {
		log := &serverLog{console: std.err}
		defer log.flush()
		cmd.Stderr = log
	}
	c, err := t.spawn(ctx, std, cmd)
	if err != nil {
		return t.diagnose(err, "")
	}
	err = f(c)
	if flushed := std.out.flush(); err == nil {
		err = flushed // now, not when the server has taken its time to end
	}
	stop := std.err.during(time.Second, func(elapsed time.Duration) string {
		return t.name() + ": still stopping " + elapsed.Round(time.Second).String()
	})
	closed := c.Close()
	stop()
	if err == nil {
		err = closed
	}
	if err != nil {
		return t.diagnose(err, c.StderrTail())
	}
	return nil
}

func (t *target) spawn(ctx context.Context, std *streams, cmd client.Command) (*client.Client, error) {
	const patience = 3 * time.Second
	stop := std.err.during(patience, func(elapsed time.Duration) string {
		return t.name() + ": still starting" + downloads(cmd.Path) + " " + elapsed.Round(time.Second).String()
	})
	defer stop()
	return client.Options{
		Name:         t.name(),
		Info:         mcp.Implementation{Name: "stdwire", Version: version()},
		Era:          map[string]mcp.Era{"modern": mcp.Modern, "legacy": mcp.Legacy}[t.era],
		StartTimeout: t.startTimeout,
		Logger:       slog.New(slog.NewTextHandler(std.err, nil)),
	}.Spawn(ctx, cmd)
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
	return f
}
