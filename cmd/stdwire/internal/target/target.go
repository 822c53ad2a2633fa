// Package target finds the server that a command talks to and connects to it. Selection is the same
// for all commands: @NAME, a connection that stdwire connect keeps, -s ID from the configuration, a
// URL, a bundle, the command after "--", all configured servers (see [Target.ByDefault]), or else
// stdwire's own server as a child process. The package also explains the errors of the client as
// failures of a command.
package target

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/elicit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/shellwords"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Target is the server that a command talks to.
type Target struct {
	Connection   string // the name of a connection that stdwire connect keeps; "" if not given
	Configured   ConfiguredServer
	Remote       Remote
	Words        []string     // the command after "--", or that of a bundle
	bundle       string       // the path of a bundle; "" if not given
	Builtin      BuiltinFlags // if no other server is given
	Servers      bool         // all configured servers
	orServers    bool         // it may be all configured servers
	unasked      bool         // Servers is set by default
	configArgs   []string     // the flags --config and --input, as given
	Era          string
	StartTimeout time.Duration
	ListTimeout  time.Duration // for each list; 0: the command has no such flag
	maxMessage   int           // in bytes; 0: the default of the client or the configuration
	ServerLogs   bool
	env          map[string]string // of --env
	sampler      *sampler          // of --sample; nil if not given
	servers      *guard.Servers    // set by Resolve
	Options      client.Options    // callbacks of the command

	// Observe, if not nil, wraps the transport of the HTTP requests of a server at a URL.
	Observe func(http.RoundTripper) http.RoundTripper
}

func NewTarget() *Target { return &Target{} }

func (t *Target) Flags() []command.Flag {
	configured := t.Configured.flags()
	configured[0].Set = t.SetServer
	command.RecordFlags(&t.configArgs, configured[1:]...)
	if t.orServers {
		configured = slices.Insert(configured, 1, t.serversFlag())
	}
	return append(append(append(configured, t.Remote.Flags()...),
		t.Builtin.ServerFlags()...),
		command.ChoiceFlag(&t.Era, "--era", "how to speak to the server (default auto)", "auto",
			"modern", "legacy"),
		StartTimeoutFlag(&t.StartTimeout),
		maxMessageFlag(&t.maxMessage),
		t.environmentFlag(),
		t.sampleFlag(),
		command.SwitchFlag(&t.ServerLogs, "--server-logs", "show what the server writes to stderr"),
	)
}

// StartTimeoutFlag is the flag --start-timeout. Without the flag target stays 0, for the default of
// the client or the configuration.
func StartTimeoutFlag(target *time.Duration) command.Flag {
	*target = 60 * time.Second
	start := command.DurationFlag(target, "--start-timeout",
		"how long the server may take to start and answer")
	*target = 0
	return start
}

func (t *Target) Command(words []string) { t.Words = words }

// Name returns the name of the server in messages.
func (t *Target) Name() string {
	switch {
	case t.Connection != "":
		return "@" + t.Connection
	case t.Configured.ID != "":
		return t.Configured.ID
	case t.Remote.URL != "":
		return t.Remote.Host()
	case t.Servers:
		return "servers"
	case t.bundle != "":
		return strings.TrimSuffix(filepath.Base(t.bundle), bundleSuffix)
	case t.Words != nil:
		return cmp.Or(packageName(t.Words), filepath.Base(t.Words[0]))
	}
	return "built-in"
}

// ClientFlag returns the name of a given flag that says how to speak to one server, or "".
func (t *Target) ClientFlag() string {
	if t.sampler != nil {
		return "--sample"
	}
	return t.launchFlag()
}

// launchFlag is ClientFlag without --sample, which a gateway passes on to the servers behind it.
func (t *Target) launchFlag() string {
	switch {
	case t.Era != "":
		return "--era"
	case t.StartTimeout != 0:
		return "--start-timeout"
	case t.maxMessage != 0:
		return "--max-message"
	case t.env != nil:
		return "--env"
	case t.ServerLogs:
		return "--server-logs"
	}
	return ""
}

// IsBuiltin reports whether the server is stdwire's own, because no other is given.
func (t *Target) IsBuiltin() bool {
	return t.Connection == "" && t.Configured.ID == "" && t.Remote.URL == "" && t.Words == nil &&
		!t.Servers
}

// Check returns an error if flags contradict each other.
func (t *Target) Check() error {
	own := t.Builtin.FirstFlag()
	if t.Servers {
		return t.checkServers(own)
	}
	if t.Connection != "" {
		return t.checkConnection(own)
	}
	switch extra := t.Configured.Given(); {
	case t.isOtherCommand():
		return command.Usagef("%s and a command after -- exclude each other", t.bundle)
	case t.bundle != "" && t.env != nil:
		return command.Usagef("--env does not reach the server of a bundle").WithHint(
			"give a value that it asks for: -- stdwire bundle run " + shellwords.Quote(t.bundle) +
				" --set KEY=VALUE")
	case t.Configured.ID == "" && extra != "":
		or := ""
		if t.orServers {
			or = ", or all: --servers"
		}
		return command.Usagef("%s is for a server of the configuration",
			extra).WithHint("select one: -s ID" + or)
	case t.Configured.ID != "" && (t.Remote.URL != "" || t.Words != nil):
		return command.Usagef(
			"-s %s and another server exclude each other",
			t.Configured.ID)
	case t.Configured.ID != "" && own != "":
		return command.Usagef("%s is for stdwire's own server", own)
	case t.Remote.URL != "" && t.Words != nil:
		return command.Usagef(
			"--url and a command after -- exclude each other")
	case t.Remote.URL != "" && own != "":
		return command.Usagef("%s is for stdwire's own server", own)
	case t.Words != nil && own != "":
		return command.Usagef("%s is for stdwire's own server",
			own).WithHint("give arguments of the server after --")
	}
	return t.Remote.Check()
}

// serverCommand returns the command to run.
func (t *Target) serverCommand() (client.Command, error) {
	if t.Words != nil {
		return t.withEnvironment(client.Command{Path: t.Words[0], Args: t.Words[1:]}), nil
	}
	if t.Configured.Endpoint != nil {
		return t.withEnvironment(t.Configured.Endpoint.Command), nil
	}
	if t.Servers {
		words, err := t.gatewayCommand()
		return client.Command{Path: words[0], Args: words[1:], InheritEnv: []string{"*"}}, err
	}
	self, err := os.Executable()
	return t.withEnvironment(client.Command{Path: self, Args: t.Builtin.ServeArgs()}), err
}

// Use connects to the server, calls f and ends the server. An error of f becomes a
// [*command.Failure] that names the server.
func (t *Target) Use(ctx context.Context, std *term.Streams, f func(*client.Client) error) error {
	return t.UseWith(ctx, std, nil, f)
}

// UseWith is Use with adjust called on the options of the client.
func (t *Target) UseWith(ctx context.Context, std *term.Streams, adjust func(*client.Options),
	f func(*client.Client) error) error {
	c, err := t.Connect(ctx, std, adjust)
	if err != nil {
		return err
	}
	err = f(c)
	if flushed := std.Out.Flush(); err == nil {
		err = flushed // before the server ends, which may take long
	}
	if closed := t.Disconnect(std, c); err == nil {
		err = closed
	}
	if err != nil {
		return t.Diagnose(err, c.StderrTail())
	}
	return nil
}

// Resolve checks the flags, finds the server in the configuration, and checks that it may be
// started.
func (t *Target) Resolve(ctx context.Context, std *term.Streams) error {
	t.servers = std.Servers
	if !t.Servers && t.orServers {
		t.Servers = t.ByDefault(std)
		t.unasked = t.Servers
	}
	if err := t.Check(); err != nil {
		return err
	}
	if err := t.Configured.Resolve(ctx, std); err != nil || t.isStarted() {
		return err
	}
	switch {
	case t.ServerLogs:
		return command.Usagef("--server-logs is for servers that are started here")
	case t.env != nil:
		return command.Usagef("--env is for servers that are started here")
	}
	return nil
}

// Connect connects to the server. adjust, if not nil, is called on the options of the client. The
// error is a [*command.Failure] that names the server.
func (t *Target) Connect(ctx context.Context, std *term.Streams,
	adjust func(*client.Options)) (*client.Client, error) {
	if err := t.Resolve(ctx, std); err != nil {
		return nil, err
	}
	log := &ServerLog{Console: std.Err}
	c, err := t.open(ctx, std, log, adjust)
	if err != nil {
		log.flush()
		return nil, t.Diagnose(err, "")
	}
	return c, nil
}

// Disconnect closes the connection and ends a server that was started here.
func (t *Target) Disconnect(std *term.Streams, c *client.Client) error {
	stop := std.Err.StatusAfter(time.Second, func(elapsed time.Duration) string {
		return t.Name() + ": still stopping " + elapsed.Round(time.Second).String()
	})
	err := c.Close()
	stop()
	if err == nil {
		_ = c.Wait() // until its stderr is copied
	}
	if p := c.Process(); p != nil {
		if log, ok := p.Command.Stderr.(*ServerLog); ok {
			log.flush()
		}
	}
	return err
}

func (t *Target) open(ctx context.Context, std *term.Streams, log *ServerLog,
	adjust func(*client.Options)) (*client.Client, error) {
	o := t.ClientOptions(std)
	if std.CanAsk() {
		elicit.NewAsker(t.LaunchedName(), std.Err, std.Prompter()).Answer(&o)
	}
	if sample := t.OnSample(); sample != nil {
		o.OnSample = sample
	}
	if adjust != nil {
		adjust(&o)
	}
	defer t.ShowStart(std)()
	return t.Start(ctx, o, func(cmd *client.Command) {
		if t.ServerLogs {
			cmd.Stderr = log
		}
	})
}

// ClientOptions returns the options of the client that the flags and the configuration define.
func (t *Target) ClientOptions(std *term.Streams) client.Options {
	o := t.Options
	o.Name = t.Name()
	o.Info = command.Implementation()
	if t.Configured.server != nil {
		o = t.Configured.server.Options(o)
	}
	if t.Era != "" {
		o.Era = Eras[t.Era]
	}
	o.StartTimeout = cmp.Or(t.StartTimeout, o.StartTimeout)
	o.Limits.MaxFrame = cmp.Or(t.maxMessage, o.Limits.MaxFrame)
	o.Logger = slog.New(slog.NewTextHandler(std.Err, nil))
	return o
}

// Start starts the server, or connects to it. adjust is called on the command of a server that is
// started. The caller has called Resolve.
func (t *Target) Start(ctx context.Context, o client.Options,
	adjust func(*client.Command)) (*client.Client, error) {
	if t.Connection != "" {
		return t.openConnection(ctx, o)
	}
	if t.isRemote() {
		dial, err := t.dial()
		if err != nil {
			return nil, err
		}
		return o.Connect(ctx, dial)
	}
	cmd, err := t.serverCommand()
	if err != nil {
		return nil, err
	}
	cmd.Start = t.servers.Start
	adjust(&cmd)
	return o.Spawn(ctx, cmd)
}

// ShowStart shows a status line until stop is called, if the start takes long.
func (t *Target) ShowStart(std *term.Streams) (stop func()) {
	const statusDelay = 3 * time.Second
	text := "no answer yet"
	if t.isStarted() {
		text = "still starting"
		if cmd, err := t.serverCommand(); err == nil {
			text += Downloads(cmd.Path)
		}
	}
	return std.Err.StatusAfter(statusDelay, func(elapsed time.Duration) string {
		return t.Name() + ": " + text + " " + elapsed.Round(time.Second).String()
	})
}

// Eras maps the values of --era. Without the flag the client detects the era.
var Eras = map[string]mcp.Era{"modern": mcp.Modern, "legacy": mcp.Legacy}

// isStarted reports whether the server is a process that is started here.
func (t *Target) isStarted() bool { return t.Connection == "" && !t.isRemote() }

// isRemote reports whether the server is at a URL.
func (t *Target) isRemote() bool {
	return t.Remote.URL != "" || t.Configured.Endpoint != nil && t.Configured.Endpoint.URL != ""
}

// dial returns the transport to a server at a URL.
func (t *Target) dial() (client.Transport, error) {
	if t.Remote.URL != "" {
		return t.Remote.dial(t.Observe), nil
	}
	return t.Configured.dial(t.Observe)
}

// Downloads returns a note that a launcher may be downloading a package, or "".
func Downloads(path string) string {
	launchers := []string{"npx", "npm", "pnpm", "yarn", "bunx", "bun", "deno", "uvx", "uv", "pipx",
		"docker", "podman"}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if slices.Contains(launchers, name) {
		return " (" + name + " may be downloading it)"
	}
	return ""
}

// Diagnose returns an error as a failure of the command. tail is the end of the server's stderr.
func (t *Target) Diagnose(err error, tail string) error {
	f := Explain(err)
	if f == nil {
		return err
	}
	f.Server, f.Logged = cmp.Or(f.Server, t.Name()), t.ServerLogs
	if f.Code == "server_died" || f.Code == "call_timeout" {
		f.Stderr = tail
	}
	t.addWithheld(f)
	if t.isStarted() && !t.ServerLogs && !t.Servers && f.Hint == "" &&
		(f.Code == "tool_is_error" || f.Code == "refused") && strings.Contains(f.Why, "the log has") {
		f.Hint = "--server-logs shows the log of the server" // which stdwire's server refers to
	}
	if f.Code == "auth_required" {
		f.Hint = t.loginHint(err)
	}
	return f
}

// Config returns how the server is reached, as a configuration would say it. It omits headers of
// the command line, which are stored nowhere.
func (t *Target) Config() scan.Config {
	if t.Configured.server != nil {
		return ConfigOf(t.Configured.server)
	}
	c := scan.Config{URL: t.Remote.URL}
	if len(t.Words) > 1 {
		c.Args = t.Words[1:]
	}
	return c
}

// ConfigOf returns how a server is reached, with its variables not expanded.
func ConfigOf(s *config.Server) scan.Config {
	c := scan.Config{Args: s.Args, Env: s.Env, URL: s.URL, Overrides: s.ItemOverrides}
	for name, value := range s.Headers {
		if c.Header == nil {
			c.Header = map[string][]string{}
		}
		c.Header[name] = []string{value}
	}
	return c
}
