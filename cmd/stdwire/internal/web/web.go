// Package web is stdwire web: a page that shows servers, their definitions and all messages, calls
// tools, and answers questions. It serves the page on a loopback address.
//
// # Structure
//
// The page fetches the state as JSON from a few routes. One stream of Server-Sent Events says which
// part of the state has changed. The state is kept here, so a reloaded page, or a second one, shows
// the same.
//
//	changes        which part of the state has changed
//	traffic        the latest messages of all connections, as package tap records them
//	servers        the servers, in a host.Manager
//	configuration  the files that define the servers, and changes of these files
//	questions      input requests that wait for the user
//	calls          requests that the page has sent
//	logins         logins to servers that the page has begun
//	network        the latest HTTP requests to servers
//	loads          load tests: repeated calls and their latency
//	frames         the apps that the page shows, as views of package apps
//
// # Security
//
// The address has a token that works once, requests of other sites are refused, and no text of a
// server becomes markup: see access. The page receives no values of environment variables and
// headers and no other secrets of a definition. It does receive the messages, with everything that
// client and server say in them. The page can change configuration files, and so run commands, only
// on a loopback address: see configuration.
//
// An app runs in a frame without an origin, within the sandbox proxy of MCP Apps, which a second
// port serves: see sandbox. The page accepts messages of that port only, and bounds their number
// and size. It passes them to a frame, whose view decides what the app may do. The app sees neither
// the page nor its key, and its text does not become markup.
package web

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/connlimit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/control"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/doctor"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/elicit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/traffic"
	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/internal/userfile"
)

// WebCommand returns the command stdwire web.
func WebCommand() command.Command {
	return command.Command{
		Name: "web", Usage: "[@NAME] [--listen ADDRESS] [--open] [--calls FILE] [--tap] [--gateway] [FLAG]… [FILE.jsonl | -s ID | --url URL | -- SERVER-COMMAND…]",
		Summary: "look at servers and their messages in a browser",
		Help: `Serves a page on this machine and prints its address. The page lists the tools, resources, prompts
and skills of servers. It calls tools, verifies skills, shows tasks, measures the latency of
repeated calls, lets you answer the questions of servers, and shows every message on a timeline.
Ctrl K searches the servers, what they list, and the messages; ? lists the other keys.
Without a server the page has all servers of the configuration, and starts a server when you use it;
if there is only one, at once. FILE is a recording of stdwire tap; the page shows it without a
server.

--tap is written in front of a server's command, wherever a client has it, like stdwire tap: the
page shows the messages between that client and the server. The address is then printed on stderr.

--gateway shows a running stdwire serve with configured servers: their state, and every message from
now on between the gateway, its clients and its servers. The page starts, stops and restarts the
servers, and calls them through the gateway as one of its clients, so hooks, limits and the audit
log apply. Only the user who runs the gateway can do this. Each client has a lane with a number and
the name that the client gives, which is not verified. After 64 lanes, further clients share one.
The view Gateway shows who calls what and how fast, who is connected, what tools cost, the calls that
rules have refused with the rule that decided, rates, whether the store can be reached and what does
without it, and the logins of users at servers, which it revokes. It compares a definition that is
withheld with its pin, beside what stdwire scan finds in it, and accepts it if you say so.

A menu at the top, which names what the page shows, opens pages of the running gateways and of the
configuration, each on a port of its own. They end with this command.

A server whose command is on the command line is told that its root is the working directory, and
others that they have no roots, until you set others on the page.

With --sample COMMAND the command answers servers' requests to a model, unless you answer first on
the page. If the command fails, the request waits for your answer.

Without servers the page shows those of other applications, which it only reads, and a box for a
command line, a URL or JSON. On the page you add, edit, move, copy, remove and import servers of the
configuration. The page shows each change of a file before it is written. Values of variables and
headers stay in the file, and are never sent to the page. You must trust the servers of a project's
file at the terminal. You can also log in to servers and log out. The page shows the issuer, the
scopes and the expiry of credentials, and no tokens.

The app of a tool is shown beside the result of a call, in a frame that a second port serves: it has
no origin, no storage and no access to the page. It is shown only after you agree, once for each app
after the page was loaded. The page says whether it asks to reach other machines, or to use the
camera or the like. No browser lets the page prevent WebRTC, so a malicious app can send what it sees
to other machines, even if it does not ask. Only a click or a key in the app lets it fill the screen.
An app's call of a tool that may destroy something waits until you allow it. An app that asks for an origin of its own
(domain in _meta.ui) gets none, and the page says so. You select where the app is shown, in the page,
in a corner or on the full screen, and its size; the app is told both. "Stage the input" shows the
app before the call, and sends it the arguments as far as a model might have written them; the app
gets all of them when you run the tool.

A link names a server or a tool: #serverUrl=URL after the address, then &tool=NAME&args=JSON. The
page asks you before it connects to the URL. It fills in the arguments, and calls nothing by itself.

The address works once, in one browser, because it has a secret after the #. Nobody else can use the
page. It fetches nothing from other machines; an app that you agreed to can. --listen
with an address that is not a loopback address lets other machines use the page, without encryption.

  stdwire web
  stdwire web -- npx -y @modelcontextprotocol/server-everything
  stdwire web --url https://example.com/mcp --open
  stdwire web talk.jsonl
  stdwire web --tap --open -- npx -y @modelcontextprotocol/server-memory`,
		Make: func() (command.Grammar, command.Runner) {
			o := &options{target: target.NewTarget(), listen: "127.0.0.1:0"}
			return o.target.Grammar(command.Arguments(&o.file),
				command.Flag{Name: "--listen", Value: "ADDRESS", Help: "the address of the page (default 127.0.0.1:0, a free port)",
					Set: o.setListen},
				command.SwitchFlag(&o.open, "--open", "open the page in the browser"),
				command.SwitchFlag(&o.gateway, "--gateway",
					"show a running gateway: its servers, which the page can call, and the messages of its clients"),
				command.NumberFlag(&o.pid, "--pid", "N", 1, math.MaxInt32,
					"with --gateway: the process of the gateway, if several run"),
				command.SwitchFlag(&o.tap, "--tap",
					"run between the client on stdin and the server, and show their messages"),
				command.FileFlag(&o.calls, "--calls",
					"the file of saved calls, for stdwire test (default one in ~/.local/state/stdwire)")), o.run
		},
	}
}

// options are the options of stdwire web.
type options struct {
	target *target.Target
	listen string
	open   bool
	tap    bool

	gateway bool
	pid     int    // of the gateway; 0: the only one, until it is reached
	file    string // a recording
	calls   string // the file of saved calls; "" for the default

	watched *watchedGateway // once it is reached
}

func (o *options) setListen(value string) error {
	if _, _, err := net.SplitHostPort(value); err != nil {
		return command.Usagef("--listen: %q is not an address", value).WithHint(
			"write 127.0.0.1:8080, or 127.0.0.1:0 for any free port")
	}
	o.listen = value
	return nil
}

// isConfiguration reports whether the page has the servers of the configuration.
func (o *options) isConfiguration() bool {
	t := o.target
	return t.Configured.ID == "" && t.Connection == "" && t.Remote.URL == "" && t.Words == nil &&
		t.Builtin.FirstFlag() == ""
}

// leaveOut is the hint to leave out the flag that selects a server, or "".
func (o *options) leaveOut() string {
	t := o.target
	for _, f := range []struct {
		name  string
		given bool
	}{{"-s", t.Configured.ID != ""}, {"--url", t.Remote.URL != ""}, {t.Builtin.FirstFlag(), true},
		{t.Configured.Given(), true}} {
		if f.given && f.name != "" {
			return "leave out " + f.name
		}
	}
	return ""
}

func (o *options) run(ctx context.Context, std *term.Streams) error {
	return newPages(o, std).run(ctx, func(address string) error {
		std.Out.Print(address + "\n")
		return std.Out.Flush()
	})
}

// runSite serves a page until ctx ends. It passes its address to print, once.
func (o *options) runSite(ctx context.Context, std *term.Streams, others *pages,
	print func(string) error) error {
	ctx, cancel := context.WithCancel(ctx)
	s := newSite(ctx)
	s.pages = others
	defer func() {
		cancel()
		if s.gateway != nil {
			s.gateway.wg.Wait()
			s.gateway.Close()
		}
		s.calls.wg.Wait()
		s.frames.wg.Wait()
		s.logins.wg.Wait()
		s.servers.manager.Close()
	}()
	if err := o.fill(ctx, std, s); err != nil {
		return err
	}
	if o.tap {
		return o.runTap(ctx, cancel, std, s)
	}
	listener, access, address, err := o.listenAt(std, s)
	if err != nil {
		return err
	}
	if err := print(address); err != nil {
		return errors.Join(err, listener.Close())
	}
	o.browse(std, address)
	return s.serve(ctx, listener, access)
}

// listenAt opens the listeners of the page and of the sandbox, and returns the address of the page.
func (o *options) listenAt(std *term.Streams, s *site) (_ net.Listener, _ *access, address string,
	_ error) {
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return nil, nil, "", command.Usagef("--listen: %v", err).WithHint(
			"the port may be in use; 127.0.0.1:0 selects a free one")
	}
	if err := s.frames.sandbox.listen(listener.Addr()); err != nil {
		return nil, nil, "", errors.Join(err, listener.Close())
	}
	host, _, _ := net.SplitHostPort(o.listen) // checked by setListen
	access := newAccess(host)
	base := listener.Addr().String()
	at, isTCP := listener.Addr().(*net.TCPAddr)
	if isTCP && at.IP.IsUnspecified() { // which a browser cannot open
		base = net.JoinHostPort("localhost", strconv.Itoa(at.Port))
	}
	address = "http://" + base + "/#token=" + access.token
	if isTCP && !at.IP.IsLoopback() {
		std.Err.Printf("warning: %s can be reached from other machines, and the connection is not encrypted",
			listener.Addr())
		s.logins.disable("other machines can reach this page: log in at the terminal")
		s.servers.disableAdding("other machines can reach this page: it connects to no further servers")
		if s.configuration != nil { // a definition is a command to run
			s.configuration.disable("other machines can reach this page: files are changed on a loopback address only")
		}
		s.pages = nil
		if s.gateway != nil {
			s.gateway.off = "other machines can reach this page: " +
				"use stdwire pin, or stdwire auth revoke, at the terminal"
		}
	}
	return listener, access, address, nil
}

// browse opens the page in the browser if that is asked for.
func (o *options) browse(std *term.Streams, address string) {
	if !o.open {
		return
	}
	if err := elicit.Browse(address); err != nil {
		std.Err.Printf("note: the browser did not start: %v", err)
	}
}

// newSite returns a site without servers.
func newSite(ctx context.Context) *site {
	c := changes.New()
	s := &site{changes: c, traffic: traffic.New(c), questions: newQuestions(c)}
	s.servers = newServers(c, s.traffic, s.questions)
	s.calls = newCalls(ctx, s.servers, c)
	s.questions.callOn = s.calls.runningOn
	s.questions.rootsOf = s.servers.defaultRoots
	s.logins = newLogins(ctx, s.servers, c)
	s.frames = newFrames(s)
	return s
}

// fill adds the servers or the recording that the command line names.
func (o *options) fill(ctx context.Context, std *term.Streams, s *site) error {
	s.servers.processes = std.Servers
	s.std = std
	log := slog.New(slog.NewTextHandler(std.Err, nil))
	var err error
	if s.saved, err = openSaved(o.calls); err != nil {
		return err
	}
	s.questions.sampler = o.target.OnSample()
	s.doctor = func(ctx context.Context, id string) (*doctor.Report, error) {
		if !o.isConfiguration() && o.target.Configured.ID == "" {
			id = ""
		}
		return doctor.Check(ctx, std, o.target, id)
	}
	if given := o.target.ClientFlag(); given != "" && (o.tap || o.isConfiguration() &&
		(given != "--sample" || o.gateway || o.file != "")) {
		return command.Usagef("%s is for one server", given).WithHint(
			"select one: -s ID, --url URL or -- COMMAND…")
	}
	if o.isConfiguration() {
		if err := o.target.Remote.Check(); err != nil { // flags that are for --url
			return err
		}
	}
	switch {
	case o.target.ServerLogs:
		return command.Usagef("--server-logs is for the terminal").WithHint(
			"the page shows what servers write to stderr")
	case o.pid > 0 && !o.gateway:
		return command.Usagef("--pid is for --gateway")
	case o.calls != "" && (o.tap || o.file != ""):
		return command.Usagef("--calls is for a page that can call servers").WithHint(
			"leave out --calls, or --tap and the recording")
	case o.gateway && (o.tap || o.file != "" || !o.isConfiguration() ||
		o.target.Configured.Given() != ""):
		return command.Usagef("--gateway and a server exclude each other").WithHint(o.leaveOut())
	case o.gateway:
		return o.watchGateway(ctx, std, s)
	case o.tap && (o.target.Words == nil || o.file != ""):
		return command.Usagef("--tap needs the command of a server").WithHint(
			"it follows --: stdwire web --tap -- COMMAND…")
	case o.tap:
		s.title = o.target.LaunchedName()
		return o.target.Check()
	case o.file != "" && (!o.isConfiguration() || o.target.Configured.Given() != ""):
		return command.Usagef("%s, a recording, and a server exclude each other",
			o.file).WithHint(o.leaveOut())
	case o.file != "":
		s.title, s.recording = o.file, true
		return o.openRecording(std, s)
	case o.isConfiguration():
		chosen, err := o.target.Configured.Select("")
		if err != nil {
			return err
		}
		target.PrintDiagnostics(std, chosen.Diagnostics)
		if len(chosen.Servers) == 0 {
			std.Err.Printf(target.NothingConfigured)
		}
		s.title = titleOf(chosen)
		s.configuration = newConfiguration(s.servers, &o.target.Configured.ConfigFlags, chosen, log)
		return s.servers.setConfigured(chosen, log)
	}
	s.title = o.target.LaunchedName()
	if err := o.target.Resolve(ctx, std); err != nil {
		return err
	}
	if err := s.servers.addTarget(o.target, std); err != nil {
		return err
	}
	return s.servers.manager.Restart(s.servers.soleID())
}

// titleOf returns the names of the configuration files.
func titleOf(chosen *target.Selection) string {
	var names []string
	for _, f := range chosen.All.Files {
		if f.State != config.StateAbsent {
			names = append(names, filepath.Base(f.Path))
		}
	}
	return cmp.Or(strings.Join(names, ", "), "no configuration")
}

// watchGateway follows a running gateway.
func (o *options) watchGateway(ctx context.Context, std *term.Streams, s *site) error {
	reached, err := control.ReachGateway(ctx, std, o.pid)
	if err != nil {
		return err
	}
	s.title = reached.Name()
	s.gateway = &watchedGateway{Gateway: reached, changes: s.changes, traffic: s.traffic}
	o.watched, o.pid = s.gateway, reached.Pid()
	if err := s.servers.add(s.gateway.server()); err != nil {
		return err
	}
	s.gateway.watch(ctx)
	return s.servers.manager.Restart(s.servers.soleID())
}

// openRecording adds the recording.
func (o *options) openRecording(std *term.Streams, s *site) error {
	file, err := userfile.OpenArgument(o.file)
	if err != nil {
		return command.Usagef("%v", err)
	}
	defer file.Close()
	note, err := s.traffic.Load(o.file, file)
	if err != nil {
		return command.Usagef("%s: %v", o.file, err)
	}
	if note != "" {
		std.Err.Printf("note: %s: %s", o.file, note)
	}
	return nil
}

// handler returns the page and its API.
func (s *site) handler(a *access) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /session", a.exchange)
	mux.Handle("/api/", a.keyed(s.routes()))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if at := s.frames.sandbox.at(r); at != "" {
			w.Header().Set("Content-Security-Policy", policy+"; frame-src "+at)
		}
		servePage(w, r)
	})
	return a.guard(mux)
}

// serve serves the page, and the frames of apps, until ctx ends.
func (s *site) serve(ctx context.Context, l net.Listener, a *access) error {
	ctx, cancel := context.WithCancelCause(ctx)
	failed := make(chan error, 1)
	apps := s.frames.sandbox
	go func() {
		err := serveUntil(ctx, apps.listener, apps.handler(a))
		cancel(err) // without effect if ctx has ended
		failed <- err
	}()
	err := serveUntil(ctx, l, s.handler(a))
	cancel(err)
	<-failed
	return err
}

// openConnections is the number of open connections of each port.
const openConnections = 4096

// bodyDeadline limits the time that the body of a request takes, whether or not next reads it.
func bodyDeadline(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = httpdeadline.New(w, r)
		next.ServeHTTP(w, r)
	})
}

// serveUntil serves until ctx ends.
func serveUntil(ctx context.Context, l net.Listener, handler http.Handler) error {
	const headers, idle, drain = 10 * time.Second, 2 * time.Minute, time.Second
	limited := connlimit.New(l, openConnections)
	server := &http.Server{Handler: bodyDeadline(handler), ConnState: limited.TrackState,
		ReadHeaderTimeout: headers, IdleTimeout: idle,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx }}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(limited) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if server.Shutdown(ending) != nil {
		_ = server.Close()
	}
	return context.Cause(ctx)
}
