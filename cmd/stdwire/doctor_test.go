package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/doctor"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/internal/freeport"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/shellwords"
)

// configured writes the user's own configuration; SELF is this program.
func configured(t *testing.T, servers string) (path string) {
	t.Helper()
	executable, err := os.Executable()
	assert.NilError(t, err)
	path = filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t,
		os.WriteFile(path,
			[]byte(strings.ReplaceAll(servers, "SELF", filepath.ToSlash(executable))), 0o600))
	return path
}

// charts runs stdwire doctor and returns its reports by server id.
func charts(t *testing.T, args ...string) (code int, all map[string]doctor.Report) {
	t.Helper()
	got := run(t, append([]string{"doctor", "-o", "json"}, args...)...)
	return got.code, chartsOf(t, got)
}

// chartsOf returns the reports that stdwire doctor has printed.
func chartsOf(t *testing.T, got ran) (all map[string]doctor.Report) {
	t.Helper()
	var document struct{ Servers []doctor.Report }
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &document), got.stderr)
	all = map[string]doctor.Report{}
	for _, c := range document.Servers {
		all[c.ID] = c
	}
	return all
}

// Each server has exactly one fault.
func TestDoctor(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	charts := func(args ...string) (code int, all map[string]doctor.Report) {
		t.Helper()
		got := runAtHome(t, home, append([]string{"doctor", "-o", "json"}, args...)...)
		return got.code, chartsOf(t, got)
	}
	path := configured(t, `{"mcpServers": {
		"own": {"command": "SELF", "args": ["serve"]}, "fine": {"command": "SELF", "args": ["fixture:faulty"]},
		"crash": {"command": "SELF", "args": ["fixture:crash"]}, "gone": {"command": "no-such-program-anywhere"},
		"silent": {"command": "SELF", "args": ["fixture:silent"], "startTimeoutMs": 2000},
		"chatty": {"command": "SELF", "args": ["fixture:faulty", "say-hello", "say-nothing"],
			"startTimeoutMs": 8000},
		"refuse": {"command": "SELF", "args": ["fixture:refuse"]}, "noisy": {"command": "SELF", "args": ["fixture:faulty", "say-hello"]},
		"twice": {"command": "SELF", "args": ["fixture:faulty", "answer-twice"]}, "fatal": {"command": "SELF", "args": ["fixture:faulty", "end-at-probe"]},
		"textids": {"command": "SELF", "args": ["fixture:faulty", "answer-text-ids"]},
		"deaf": {"command": "SELF", "args": ["fixture:faulty", "say-hello", "ignore-probe"]}, "dies": {"command": "SELF", "args": ["fixture:faulty", "end-at-list"]},
		"unlisted": {"command": "SELF", "args": ["fixture:faulty", "ignore-list"]}, "toolless": {"command": "SELF", "args": ["fixture:toolless"]},
		"stays": {"command": "SELF", "args": ["fixture:faulty", "stay"]}, "stubborn": {"command": "SELF", "args": ["fixture:faulty", "stay", "ignore-term"]},
		"unset": {"command": "SELF", "env": {"T": "${NOT_SET_ANYWHERE}"}}, "nothing": {}, "off": {"command": "SELF", "disabled": true},
		"typo": {"command": "SELF", "args": ["fixture:faulty"], "agrs": []}}}`)
	code, all := charts("--config", path, "--timeout", "10s")
	assert.Equal(t, code, 10)
	const hello = "text to stdout that is not a message, 1 line, the first: Starting server…"
	stays := "warning: it did not end within 2s of the end of its stdin, and " +
		command.NeededSignal
	stubborn := "warning: it heeds neither the end of its stdin nor SIGTERM, and was killed after 4"
	if runtime.GOOS == "windows" {
		stubborn = "warning: it does not heed the end of its stdin, and was killed after "
		if len(all["stays"].Findings) > 0 &&
			strings.Contains(all["stays"].Findings[0].What, "was killed") {
			stays = stubborn // without a console that both have
		}
	}
	for id, want := range map[string]struct {
		verdict  string
		findings []string
	}{
		"own": {doctor.Fine, nil}, "fine": {doctor.Fine, nil},
		"crash": {doctor.Broken,
			[]string{`broken: exited with status 3 before answering: "boom: missing API key"`}},
		"gone": {doctor.Broken,
			[]string{`broken: cannot start "no-such-program-anywhere": ` +
				exec.ErrNotFound.Error()}},
		"silent": {doctor.Broken, []string{"broken: no answer to server/discover after "}},
		"chatty": {doctor.Broken,
			[]string{"broken: no answer to server/discover", "warning: it wrote " +
				hello}},
		"refuse": {doctor.Broken, []string{"broken: it refuses the handshake: go away"}},
		"noisy":  {doctor.Warning, []string{"warning: it writes " + hello}},
		"twice": {doctor.Warning,
			[]string{"warning: it sends responses to no request: 1 message"}},
		"textids": {doctor.Warning, []string{
			`warning: it answers with ids in another notation, such as "1" for 1: 4 messages`}},
		"fatal": {doctor.Fine, []string{"note: it exits on server/discover"}},
		"deaf": {doctor.Warning,
			[]string{"note: it does not answer server/discover", "warning: it writes " +
				hello}},
		"dies": {doctor.Broken,
			[]string{`broken: it exited during tools/list: exited with status 9: "out of tools"`}},
		"unlisted": {doctor.Broken,
			[]string{"broken: tools/list: the list was not complete after 10s"}},
		"toolless": {doctor.Broken,
			[]string{"broken: it declares tools, and does not support tools/list"}},
		"stays":    {doctor.Warning, []string{stays}},
		"stubborn": {doctor.Warning, []string{stubborn}},
		"unset":    {doctor.Broken, []string{"broken: env.T: ${NOT_SET_ANYWHERE} is not set"}},
		"nothing":  {doctor.Broken, []string{"broken: " + path + ":"}},
		"off":      {doctor.Fine, []string{"note: it is disabled at "}},
		"typo":     {doctor.Warning, []string{"warning: " + path + ":"}},
	} {
		t.Run(id, func(t *testing.T) {
			got, ok := all[id]
			assert.Assert(t, ok)
			assert.Equal(t, got.Verdict, want.verdict, "%v", got.Findings)
			assert.Equal(t, len(got.Findings), len(want.findings), "%v", got.Findings)
			for i, s := range got.Findings {
				assert.Assert(t, strings.HasPrefix(s.Severity+": "+s.What, want.findings[i]), "%v",
					s)
			}
			assert.Assert(t, strings.HasPrefix(got.Source, path+":"))
		})
		delete(all, id)
	}
	assert.Equal(t, len(all), 0)

	code, all = charts("fine", "off", "--config", path)
	assert.Equal(t, code, 0)
	assert.Equal(t, len(all), 2)
	c := all["fine"]
	assert.Equal(t, c.Era+" "+string(c.Revision)+" "+c.By, "legacy 2025-06-18 initialize")
	assert.Assert(t, *c.Tools == 1 && c.ReadyMs > 0 && c.StopMs > 0)
	code, _ = charts("noisy", "--config", path)
	assert.Equal(t, code, 0, "a warning is no failure")
}

func TestDoctorTools(t *testing.T) {
	ownHome(t)
	got := against(t, "doctor", "faulty", "invalid-tools")
	assert.Equal(t, got.code, 10)
	assert.Equal(t, got.stderr, "stdwire: doctor: 1 of 1 server cannot be used\n")
	text := strings.Join(strings.Fields(got.stdout), " ")
	for _, want := range []string{
		"broken 2025-06-18, legacy era, by initialize; ready after ", "; 7 tools (≈ ", " tokens); stopped after ",
		"warning tools that cannot be decoded: number 3 (", "broken tools that are listed more than once: ok →",
		"broken tools whose inputSchema is not a JSON Schema: wrong (schema #/required: ",
		"broken tools whose outputSchema is not a JSON Schema: wrong (schema #/type: ",
		"warning tools without an inputSchema: bare →",
		"warning tools whose names are not 1 to 128 letters, digits, '_', '-' and '.': bad name →",
		"warning tools with an invalid x-mcp-header: header (",
		"warning it declares prompts, and does not support prompts/list →",
	} {
		assert.Assert(t, cmp.Contains(text, want))
	}
	assert.Assert(t, !strings.Contains(text, "without a description"), text)
	for line := range strings.SplitSeq(got.stdout, "\n") {
		assert.Assert(t, len([]rune(line)) <= printable.Width+1, line)
	}

	got = against(t, "doctor", "good")
	assert.Equal(t, got.code, 0)
	text = strings.Join(strings.Fields(got.stdout), " ")
	for _, want := range []string{
		"warning tools whose inputSchema cannot be used here to check arguments: strange (schema #/pattern: ",
		`warning tools whose inputSchema does not say "type": "object": slow →`,
		"warning tools without a description: hang, die, fail, refuse, big, and 2 more →",
	} {
		assert.Assert(t, cmp.Contains(text, want))
	}
}

func TestDoctorOverHTTP(t *testing.T) {
	ownHome(t)
	answering := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/mcp", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(elsewhere.Close)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	closed, err := freeport.Address()
	assert.NilError(t, err)
	plain := answering(http.StatusNotFound)
	for url, want := range map[string]string{
		plain:                                       "broken the server has nothing at that path (",
		answering(http.StatusUnauthorized):          "broken it requires authorization (",
		answering(http.StatusForbidden):             "broken it denies access (",
		answering(http.StatusTooManyRequests):       "broken it limits the rate of requests (",
		answering(http.StatusBadGateway):            "broken it failed, or a proxy in front of it cannot reach it (",
		elsewhere.URL:                               "redirected to another server, http://127.0.0.1:1/mcp",
		secure.URL:                                  "broken its certificate is not signed by an authority that this machine trusts (",
		"https" + strings.TrimPrefix(plain, "http"): "broken the server does not use TLS at that port (",
		"http://" + closed:                          "broken nothing listens at that address (",
	} {
		got := run(t, "doctor", "--url", url)
		assert.Equal(t, got.code, 10, got.stdout)
		assert.Assert(t, cmp.Contains(strings.Join(strings.Fields(got.stdout), " "), want))
	}
	s := echoServer(t, "secret1")
	got := run(t, "doctor", "--url", s.URL+"/mcp?key=secret2", "--header",
		"Authorization:Bearer secret1")
	assert.Equal(t, got.code, 0, got.stdout)
	assert.Assert(t, cmp.Contains(got.stdout, " ok "))
	got = run(t, "doctor", "--url", s.URL+"/mcp?key=secret2", "--header",
		"Authorization:Bearer secret3")
	assert.Equal(t, got.code, 10)
	assert.Assert(t, !strings.Contains(got.stdout+got.stderr, "secret"), got.stdout)
}

// Definitions are compared with the pins and not pinned.
func TestDoctorPins(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	executable, err := os.Executable()
	assert.NilError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	configure := func(args string) {
		t.Helper()
		assert.NilError(t,
			os.WriteFile(path,
				[]byte(`{"mcpServers":{"files":{"command":"`+filepath.ToSlash(executable)+
					`","args":["serve","--root","`+filepath.ToSlash(dir)+`"`+args+`]}}}`), 0o600))
	}
	check := func() doctor.Report {
		t.Helper()
		code, all := charts(t, "--config", path)
		assert.Equal(t, code, 0)
		return all["files"]
	}
	configure("")
	assert.Equal(t, check().Verdict, doctor.Fine, "it was never seen")
	configure(`,"--write"`)
	assert.Equal(t, check().Verdict, doctor.Fine, "the first look has pinned nothing")
	configure("")
	assert.Equal(t, run(t, "tools", "--", executable, "serve", "--config", path).code, 0)
	assert.Equal(t, check().Verdict, doctor.Fine)
	configure(`,"--write"`)
	got := check()
	assert.Equal(t, got.Verdict, doctor.Warning)
	n := len(got.Findings)
	tools, instructions := got.Findings[n-2], got.Findings[n-1]
	assert.Assert(t,
		cmp.Contains(tools.What, "tools that are new since the server was first used: fs_"))
	assert.Assert(t, cmp.Contains(instructions.What, "instructions that have changed"))
	assert.Assert(t,
		cmp.Contains(tools.Hint, "stdwire pin diff -s files --config "+shellwords.Quote(path)))
}

func TestDoctorTrust(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "started")
	withServers(t, `{"touch": {"command": "SELF", "args": ["fixture:touch", "`+
		filepath.ToSlash(mark)+`"]}}`)
	code, all := charts(t)
	assert.Equal(t, code, 0)
	assert.Equal(t, all["touch"].Verdict, doctor.Warning)
	assert.Assert(t, cmp.Contains(all["touch"].Findings[0].Hint, "stdwire trust touch"))
	_, err := os.Stat(mark)
	assert.Assert(t, os.IsNotExist(err), "it was not started")
	assert.Equal(t, run(t, "trust", "touch", "--yes").code, 0)
	_, all = charts(t)
	_, err = os.Stat(mark)
	assert.NilError(t, err)
	assert.Equal(t, *all["touch"].Tools, 8)

	commandtest.Project(t, nil)
	assert.Equal(t, run(t, "doctor"),
		ran{0, "", "no servers are configured; stdwire config where shows which files are searched\n"})
}

// All servers end when doctor is interrupted.
func TestDoctorInterrupted(t *testing.T) {
	ownHome(t)
	notes := newNotes(t)
	path := configured(t,
		`{"mcpServers": {"a": {"command": "SELF", "args": ["fixture:faulty", "say-nothing", "hold=`+
			notes.path+`"]}, "b": {"command": "SELF", "args": ["fixture:faulty", "say-nothing", "hold=`+
			notes.path+`"]}}}`)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan ran)
	go func() { done <- runWith(ctx, termtest.Capture(false), "doctor", "--config", path) }()
	assert.Equal(t, notes.Line(t)+notes.Line(t), "started\nstarted\n")
	cancel(command.SignalError{Signal: syscall.SIGINT})
	assert.Equal(t, <-done, ran{130, "", "stdwire: interrupted\n"})
	assert.Equal(t, notes.all(t), "", "none is left")
}

func TestDoctorUsage(t *testing.T) {
	path := configured(t, `{"mcpServers": {"files": {"command": "SELF"}}}`)
	broken := configured(t, `{"mcpServers": nonsense`)
	for _, tt := range []struct {
		args, stderr string
		code         int
	}{
		{"doctor fils --config " + path,
			"stdwire: doctor: there is no server \"fils\"\nhint: did you mean files?\n", 2},
		{"doctor --profile x --config " + path, `stdwire: doctor: there is no profile "x"`, 2},
		{"doctor --config " + broken, "stdwire: doctor: " + broken + ":1:", 8},
		{"doctor files -- x",
			"stdwire: doctor: files is for servers of the configuration, and cannot be combined",
			2},
		{"doctor --profile p --url http://x",
			"stdwire: doctor: --profile is for servers of the configuration, and cannot be combined",
			2},
		{"doctor --url http://x -- y", "stdwire: doctor: --url and a command after -- exclude each other",
			2},
		{"doctor --header A:b", "stdwire: doctor: --header is for a server at a --url", 2},
	} {
		got := run(t, strings.Fields(tt.args)...)
		assert.Equal(t, got.code, tt.code, got.stderr)
		assert.Assert(t, strings.HasPrefix(got.stderr, tt.stderr), got.stderr)
	}
}

func TestDoctorForHost(t *testing.T) {
	t.Parallel()
	got := against(t, "doctor --for claude-code -o json", "good")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stdout, `"source":"measurements of versions`))
	got = against(t, "doctor --for claude", "good")
	assert.Equal(t, got.code, 2)
	assert.Assert(t, cmp.Contains(got.stderr, `no application "claude" is known`))
}
