//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socketserver"
)

// ownRuntime sets a home and a directory for sockets with a short path.
func ownRuntime(t *testing.T) (dir string) {
	t.Helper()
	ownHome(t)
	dir, err := os.MkdirTemp("/tmp", "sw") // TMPDIR may be longer
	assert.NilError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv("TMPDIR", dir)
	return dir
}

// A served is a gateway in its own process.
type served struct {
	t      *testing.T
	cmd    *exec.Cmd
	pid    string
	stderr chan string // its lines
	heard  []string    // those that says has read

	serving string // the line with its address
}

// serving starts a gateway with servers and waits until it serves.
func serving(t *testing.T, servers obj, more ...string) *served {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t, os.WriteFile(path, configText(t, servers), 0o600))
	return servingFile(t, path, more...)
}

func servingFile(t *testing.T, path string, more ...string) *served {
	t.Helper()
	return servingHTTP(t, append([]string{"--config", path}, more...)...)
}

// servingHTTP is serving over HTTP with these flags.
func servingHTTP(t *testing.T, flags ...string) *served {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	return servingWith(t,
		exec.Command(self, append([]string{"serve", "--http", "127.0.0.1:0"}, flags...)...))
}

// servingWith is serving with a command that serves HTTP.
func servingWith(t *testing.T, cmd *exec.Cmd) *served {
	t.Helper()
	s := &served{t: t, cmd: cmd, stderr: make(chan string, 1000)}
	r, w, err := os.Pipe()
	assert.NilError(t, err)
	s.cmd.Stderr = w
	assert.NilError(t, s.cmd.Start())
	_ = w.Close()
	go func() {
		for lines := bufio.NewScanner(r); lines.Scan(); {
			s.stderr <- lines.Text()
		}
		close(s.stderr)
		_ = r.Close()
	}()
	s.pid = strconv.Itoa(s.cmd.Process.Pid)
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	})
	s.serving = s.says("serving MCP at")
	return s
}

// says waits for a line on stderr that contains text.
func (s *served) says(text string) (line string) {
	s.t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case line, ok := <-s.stderr:
			if !ok {
				s.t.Fatalf("it has ended, and did not say %q", text)
			}
			s.heard = append(s.heard, line)
			if strings.Contains(line, text) {
				return line
			}
		case <-timeout:
			s.t.Fatalf("it does not say %q", text)
		}
	}
}

// statuses returns the output of stdwire status for a gateway.
func statuses(t *testing.T, pid string) (about ops.About, byID map[string]ops.Status) {
	t.Helper()
	got := run(t, "status", "-o", "json")
	assert.Equal(t, got.code, 0, got.stderr)
	var all struct {
		Gateways []struct {
			ops.About
			Servers []ops.Status
		}
	}
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &all))
	for _, g := range all.Gateways {
		if strconv.Itoa(g.Pid) == pid {
			byID = map[string]ops.Status{}
			for _, s := range g.Servers {
				byID[s.Server] = s
			}
			return g.About, byID
		}
	}
	t.Fatalf("there is no gateway %s: %s", pid, got.stdout)
	return about, nil
}

func TestControl(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	for _, args := range []string{"status", "status -o json", "enable a", "disable --profile one",
		"restart a", "logs a"} {
		got := run(t, strings.Fields(args)...)
		assert.Equal(t, got.code, 4, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, "no gateway is running"))
		assert.Assert(t, cmp.Contains(got.stderr, "stdwire serve --servers"))
	}
	g := serving(t, obj{"alpha": good(),
		"beta": obj{"command": "sh", "args": []string{"-c", "echo boom >&2; exit 3"},
			"era": "legacy"}, "gamma": good("disabled", true)})
	var about ops.About
	var servers map[string]ops.Status
	waitFor(t, func() string { // the gateway serves while they start
		about, servers = statuses(t, g.pid)
		if a := servers["alpha"]; a.State != "ready" || a.Uses > 0 || a.Tools == nil ||
			*a.Tools == 0 || servers["beta"].Error == "" {
			return "the servers are still starting"
		}
		return ""
	})
	assert.Assert(t, cmp.Regexp(`^http://127\.0\.0\.1:[0-9]+/mcp$`, about.Endpoint))
	assert.Assert(t, len(about.Files) == 1 && len(about.Profiles) == 1)
	alpha := servers["alpha"]
	assert.Assert(t, alpha.Pid > 0 && *alpha.Tools == 8 && alpha.Revision == "2025-11-25" &&
		alpha.Era == "legacy" && alpha.Heard != "")
	assert.Assert(t,
		cmp.Contains(servers["beta"].Error, `exited with status 3 before answering: "boom"`))
	assert.Equal(t, servers["gamma"].State, "disabled")

	got := run(t, "status")
	assert.Assert(t,
		cmp.Regexp(`^gateway `+g.pid+`  http://.*, for [0-9]+s, stdwire .*\n  /.*/mcp\.json\n`+
			`  alpha  ready     *[0-9]+s  2025-11-25 \(legacy\), 8 tools, ≈ [0-9]+ tokens, process [0-9]+, ([0-9]+ MiB, )?heard [0-9]+s ago\n`+
			`  beta   (waiting|failed|starting) .*\n  gamma  disabled\n  profile one: 8 tools, ≈ [0-9]+ tokens\n$`, got.stdout))

	assert.Equal(t, run(t, "disable", "alpha"), ran{0, "", "alpha is disabled\n"})
	_, servers = statuses(t, g.pid)
	assert.Equal(t, servers["alpha"].State, "disabled")
	assert.Equal(t, run(t, "enable", "--profile", "one"),
		ran{0, "", "the profile one is enabled\n"})
	assert.Equal(t, run(t, "enable", "alpha", "gamma"),
		ran{0, "", "alpha is enabled\ngamma is enabled\n"})
	assert.Equal(t, run(t, "restart", "alpha", "--pid", g.pid),
		ran{0, "", "alpha is being restarted\n"})
	waitFor(t, func() string {
		if _, servers := statuses(t, g.pid); servers["alpha"].State != "ready" ||
			servers["alpha"].Pid == alpha.Pid || servers["gamma"].State != "ready" {
			return fmt.Sprintf("the servers are not back: %v", servers)
		}
		return ""
	})

	for args, want := range map[string]string{
		"5 restart alpah":         "no gateway has a server \"alpah\"\nhint: did you mean alpha?",
		"5 disable alpha nobody":  "no gateway has a server \"nobody\"\nhint: there are alpha, beta, gamma",
		"5 logs nobody":           `no gateway has a server "nobody"`,
		"5 enable --profile cad":  "no gateway has a profile \"cad\"\nhint: there are one",
		"4 enable alpha --pid 1":  "no gateway is process 1\nhint: there are " + g.pid,
		"2 enable":                "which servers?",
		"2 restart":               "which servers?",
		"2 restart --profile one": "unknown flag --profile",
		"2 logs":                  "which server?",
		"2 logs a b":              `unexpected argument "b"`,
		"2 logs @a --pid 1":       "--pid is for a server of a gateway",
		"2 logs a --pid x":        `--pid: "x" is not a process ID`,
		"2 status x":              `unexpected argument "x"`,
		"2 status -o yaml":        `-o: "yaml" is not one of text, json`,
		"2 logs a --pid 0":        "--pid: \"0\" is not a process ID",
	} {
		code, args, _ := strings.Cut(args, " ")
		got := run(t, strings.Fields(args)...)
		assert.Equal(t, strconv.Itoa(got.code), code, "%s: %s", args, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, want))
		assert.Equal(t, got.stdout, "")
	}
	_, servers = statuses(t, g.pid)
	assert.Equal(t, servers["alpha"].State, "ready", "nothing is done if something is wrong")

	// The gateway that has the server is selected.
	other := serving(t, obj{"alpha": good(), "delta": good()})
	got = run(t, "restart", "alpha")
	assert.Equal(t, got.code, 2)
	assert.Equal(t, got.stderr,
		fmt.Sprintf("stdwire: restart: several gateways have the server alpha\nhint: select one with --pid: %s, %s\n",
			g.pid, other.pid))
	assert.Equal(t, run(t, "disable", "delta").code, 0)
	assert.Equal(t, run(t, "disable", "alpha", "--pid", other.pid).code, 0)
	_, servers = statuses(t, other.pid)
	assert.Assert(t, servers["alpha"].State == "disabled" && servers["delta"].State == "disabled")
	_, servers = statuses(t, g.pid)
	assert.Equal(t, servers["alpha"].State, "ready")

	// The log of the gateway tells all of this.
	assert.NilError(t, g.cmd.Process.Signal(syscall.SIGTERM))
	g.says("gateway: stopping all servers")
	log := strings.Join(g.heard, "\n")
	for _, want := range []string{
		`INFO msg="gateway: a server has started" server=alpha pid=` + strconv.Itoa(alpha.Pid),
		`WARN msg="gateway: a server has failed and starts again soon" server=beta error=".*` +
			`exited with status 3 before answering: .*boom.*" next_try=20`,
		`INFO msg="gateway: a server has stopped" server=alpha`,
		`INFO msg="gateway: server disabled" server=alpha by=operator`,
		`INFO msg="gateway: server enabled" server=gamma by=operator`,
		`INFO msg="gateway: server restarted" server=alpha by=operator`,
		`INFO msg="shutting down: .*" cause=`,
	} {
		assert.Assert(t, cmp.Regexp(want, log))
	}
}

func TestControlOverStdio(t *testing.T) {
	ownRuntime(t)
	path := mountFile(t)
	cmd, _, _ := stdwire(t, "serve", "--config", path)
	in, err := cmd.StdinPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	waitFor(t, func() string {
		if got := run(t, "status"); got.code != 0 {
			return got.stderr
		}
		return ""
	})
	about, servers := statuses(t, strconv.Itoa(cmd.Process.Pid))
	assert.Equal(t, about.Endpoint, "stdio")
	assert.Equal(t, len(servers), 4)
	assert.NilError(t, in.Close())
	assert.NilError(t, cmd.Wait())
	assert.Equal(t, run(t, "status").code, 4)
	assert.Equal(t, len(socket.Sockets()), 0)
}

// Only the user can connect to a gateway, and the sockets of dead gateways are removed.
func TestSockets(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	dir := ownRuntime(t)
	g := serving(t, obj{})
	paths := socket.Sockets()
	assert.Equal(t, len(paths), 1)
	assert.Equal(t, filepath.Dir(paths[0]), filepath.Join(dir, "stdwire"))
	for path, want := range map[string]os.FileMode{filepath.Dir(paths[0]): os.ModeDir | 0o700,
		paths[0]: os.ModeSocket | 0o600} {
		info, err := os.Stat(path)
		assert.NilError(t, err)
		assert.Equal(t, info.Mode(), want)
	}

	assert.NilError(t, g.cmd.Process.Kill())
	_ = g.cmd.Wait()
	assert.Equal(t, len(socket.Sockets()), 1, "it could not take it away")
	assert.Equal(t, run(t, "status").code, 4)
	assert.Equal(t, len(socket.Sockets()), 0)

	// A socket that does not answer is reported and does not hide the others.
	stuck, path, err := socket.ListenControl()
	assert.NilError(t, err)
	defer stuck.Close()
	g = serving(t, obj{})
	got := run(t, "status")
	assert.Equal(t, got.code, 0)
	assert.Assert(t, cmp.Contains(got.stdout, "gateway "+g.pid))
	assert.Assert(t, cmp.Contains(got.stdout, "no servers"))
	assert.Assert(t, cmp.Contains(got.stderr, "warning: the gateway at "+path+" does not answer"))
	assert.NilError(t, os.Remove(path))

	// A directory that others can enter is not used.
	assert.NilError(t, os.Chmod(filepath.Join(dir, "stdwire"), 0o755))
	assert.Equal(t, run(t, "status").code, 4)
	second := serving(t, obj{})
	got = run(t, "status")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, strings.Contains(got.stdout, second.pid) &&
		!strings.Contains(got.stdout, g.pid), got.stdout)
	assert.Equal(t, len(socket.Sockets()), 1)
}

// The path of a socket is limited. A directory with a shorter path is used; without one, the
// gateway serves and reports that it has no socket.
func TestSocketPathTooLong(t *testing.T) {
	dir := ownRuntime(t)
	long := filepath.Join(dir, strings.Repeat("long/", 20))
	assert.NilError(t, os.MkdirAll(long, 0o700))
	t.Setenv("XDG_RUNTIME_DIR", long)
	t.Setenv("XDG_CACHE_HOME", long)
	g := serving(t, obj{})
	about, _ := statuses(t, g.pid)
	assert.Equal(t, strconv.Itoa(about.Pid), g.pid)
	assert.Assert(t,
		cmp.Regexp("^"+regexp.QuoteMeta(filepath.Join(dir, "stdwire-"))+"[0-9]+/",
			socket.Sockets()[0]))

	t.Setenv("TMPDIR", long)
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t, os.WriteFile(path, configText(t, obj{"a": good()}), 0o600))
	self, err := os.Executable()
	assert.NilError(t, err)
	got := run(t, "call", "a__echo", "text=x", "--server-logs", "--", self, "serve", "--config",
		path)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t,
		cmp.Contains(got.stderr, "warning: stdwire status and similar commands cannot reach this gateway: "))
	assert.Assert(t,
		cmp.Contains(got.stderr, "the path of a socket has at most 103 bytes, and this has"))
	assert.Assert(t, cmp.Contains(got.stderr, "set XDG_RUNTIME_DIR to a shorter directory"))
}

// The stderr of a server is shown, even after it ended, with control characters escaped.
func TestLogs(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	self, err := os.Executable()
	assert.NilError(t, err)
	script := `printf '\033[31mstarting\033[0m \033]0;title\007\342\200\256 no end' >&2; exec "$0" fixture:good`
	g := serving(t, obj{
		"loud": obj{"command": "sh", "args": []string{"-c", script, self}, "era": "legacy"}})
	waitFor(t, func() string { // the gateway serves while it starts
		_, servers := statuses(t, g.pid)
		if servers["loud"].State != "ready" {
			return "it is still starting"
		}
		return ""
	})
	got := run(t, "logs", "loud")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t,
		cmp.Regexp(`^-- [0-9T:-]+Z started, process [0-9]+\nstarting \\u202e no end\n?$`,
			got.stdout))

	cmd, _, stderr := stdwire(t, "logs", "-f", "loud")
	cmd.Stdout = nil
	r, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	lines := bufio.NewReader(r)
	next := func(want string) {
		t.Helper()
		line, err := lines.ReadString('\n')
		assert.NilError(t, err)
		assert.Assert(t, cmp.Contains(line, want))
	}
	next("started, process")
	_, servers := statuses(t, g.pid)
	assert.NilError(t, syscall.Kill(servers["loud"].Pid, syscall.SIGKILL))
	next("starting")
	next("ended by signal: killed")
	next("started, process")
	assert.NilError(t, cmd.Process.Signal(os.Interrupt))
	_, _ = io.Copy(io.Discard, lines)
	assert.Equal(t, exitCode(cmd.Wait()), 130)
	assert.Equal(t, stderr.String(), "stdwire: interrupted\n")

	// logs --follow ends with the gateway.
	cmd, _, stderr = stdwire(t, "logs", "-f", "loud")
	cmd.Stdout = nil
	r, err = cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	lines = bufio.NewReader(r)
	next("started, process")
	began := time.Now()
	assert.NilError(t, g.cmd.Process.Signal(syscall.SIGTERM))
	_, _ = io.Copy(io.Discard, lines)
	assert.Equal(t, exitCode(cmd.Wait()), 6, stderr)
	assert.Assert(t, cmp.Contains(stderr.String(), "gateway "+g.pid+": "))
	assert.NilError(t, g.cmd.Wait())
	assert.Assert(t, time.Since(began) < 30*time.Second)
}

// SIGHUP reloads the configuration at once. It ends a gateway without a terminal or without a
// configuration.
func TestHangup(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t, os.WriteFile(path, configText(t, obj{"a": good()}), 0o600))
	g := servingFile(t, path)
	assert.NilError(t, os.WriteFile(path, []byte(`{"mcpServers": {`), 0o600))
	assert.NilError(t, g.cmd.Process.Signal(syscall.SIGHUP))
	assert.Assert(t, cmp.Contains(g.says("cannot be used"), path+":1:17: "))
	assert.NilError(t, os.WriteFile(path, configText(t, obj{"b": good()}), 0o600))
	assert.NilError(t, g.cmd.Process.Signal(syscall.SIGHUP))
	g.says("new b; gone a")
	assert.NilError(t, os.WriteFile(path, configText(t, obj{"b": good(), "c": good()}), 0o600))
	// Without a signal, a change of the file is noticed.
	assert.Assert(t,
		cmp.Contains(g.says(`server "c" is new, and waits`),
			"stdwire restart c accepts it, SIGHUP all"))
	assert.NilError(t, g.cmd.Process.Signal(syscall.SIGHUP))
	g.says("new c")

	gone := false
	h := &command.HangupHandler{}
	assert.Assert(t, !h.Handle(), "it ends the program")
	told := command.OnHangup(t.Context(), nil)
	assert.Equal(t, cap(told), 1)
	h = &command.HangupHandler{TerminalClosed: func() bool { return gone },
		Notify: make(chan struct{}, 1)}
	for range 3 {
		assert.Assert(t, h.Handle(), "it does not block")
	}
	gone = true
	assert.Assert(t, !h.Handle())
}

// Commands that stay connected delay neither the end of the gateway nor other commands.
func TestControlIsBounded(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	g := serving(t, obj{"a": good()})
	path := socket.Sockets()[0]
	var open []net.Conn
	for range socketserver.MaxConns {
		conn, err := net.Dial("unix", path)
		assert.NilError(t, err)
		open = append(open, conn)
	}
	for _, conn := range open[:16] {
		_, _ = conn.Write(
			[]byte("no JSON\n" + `{"jsonrpc":"2.0","id":1,"method":"nothing"}` + "\n"))
	}
	got := run(t, "status")
	assert.Equal(t, got.code, 4)
	assert.Assert(t, cmp.Contains(got.stderr, "the gateway at "+path+" does not answer"))
	_ = open[0].Close()
	waitFor(t, func() string {
		if got := run(t, "status"); got.code != 0 {
			return got.stderr
		}
		return ""
	})
	assert.NilError(t, g.cmd.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- g.cmd.Wait() }()
	select {
	case err := <-ended:
		assert.NilError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	assert.Equal(t, len(socket.Sockets()), 0)
}

// The stderr of a process follows its start, also if the server is started twice to detect its era,
// and precedes its end, which does not repeat it.
func TestLogsOfAServerThatDoesNotStart(t *testing.T) {
	ownRuntime(t)
	serving(t, obj{"bad": obj{"command": "sh",
		"args": []string{"-c", "echo one >&2; echo two >&2; exit 3"}}})
	var got ran
	waitFor(t, func() string {
		got = run(t, "logs", "bad")
		if !strings.Contains(got.stdout, "exited with status 3") {
			return "no end in " + got.stdout
		}
		return ""
	})
	text := regexp.MustCompile(`(?m)^-- [0-9T:-]+Z `).ReplaceAllString(got.stdout, "-- ")
	text = regexp.MustCompile(`process [0-9]+`).ReplaceAllString(text, "process N")
	const start = "-- started, process N\none\ntwo\n"
	text = strings.TrimPrefix(text, start)
	if runtime.GOOS != "linux" { // only Linux says that it has not read the probe
		text = strings.TrimPrefix(text, start)
	}
	assert.Assert(t, strings.HasPrefix(text, "-- exited with status 3\n"), text)
}
