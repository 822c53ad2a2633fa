package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/mcptest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/gatewaytext"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/serve"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/lockedbuffer"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A stand is a gateway in this process with server processes and a client.
type stand struct {
	*serve.Reloader
	t       *testing.T
	path    string // of the configuration
	stderr  *lockedbuffer.Buffer
	c       *client.Client
	changes chan []string // the names of the tools, whenever they have changed
}

// good returns the definition of a server without faults.
func good(more ...any) map[string]any {
	self, _ := os.Executable()
	d := map[string]any{"command": self, "args": []string{"fixture:good"}}
	for i := 0; i < len(more); i += 2 {
		d[more[i].(string)] = more[i+1]
	}
	return d
}

func configText(t *testing.T, servers map[string]any) []byte {
	t.Helper()
	ids := slices.Sorted(maps.Keys(servers))
	text, err := json.Marshal(
		map[string]any{"mcpServers": servers,
			"profiles": map[string][]string{"one": append([]string{}, ids[:min(1, len(ids))]...)}})
	assert.NilError(t, err)
	return text
}

func newStand(t *testing.T, m *serve.GatewayConfig, path string) *stand {
	t.Helper()
	st := &stand{t: t, path: path, stderr: new(lockedbuffer.Buffer),
		changes: make(chan []string, 1000)}
	std := termtest.Capture(false).Streams
	std.Err = &term.Console{W: st.stderr}
	log := slog.New(slog.DiscardHandler)
	catalog := dispatch.NewCatalog()
	s := server.Options{Logger: log}.New(server.Info{Name: "front", Version: "1"}, catalog)
	m.Pins = "off"
	var err error
	st.Reloader, err = serve.Gateway{GatewayConfig: m, Server: s, Catalog: catalog, Std: std,
		Log: log}.Start()
	assert.NilError(t, err)
	st.Gateway.Settle(t.Context())
	t.Cleanup(func() { assert.Check(t, st.Reloader.Close()) }) // after the client's
	st.c = mcptest.Connect(t, s, client.Options{Logger: log,
		OnToolsChanged: func(tools []*mcp.Tool, err error) { st.changes <- names(tools) }})
	return st
}

func names(tools []*mcp.Tool) (all []string) {
	for _, tool := range tools {
		if name, ok := strings.CutSuffix(tool.Name, "__echo"); ok {
			all = append(all, name)
		}
	}
	return all
}

func (st *stand) write(text []byte) {
	st.t.Helper()
	assert.NilError(st.t, os.WriteFile(st.path, text, 0o600))
}

// reload reloads the configuration and accepts all changes, as SIGHUP does.
func (st *stand) reload() { _ = st.Reload(st.t.Context(), serve.Acceptance{All: true}) }

// fileChanged reloads the configuration as after a change of a file.
func (st *stand) fileChanged() { _ = st.Reload(st.t.Context(), serve.Acceptance{}) }

// configure writes a configuration, reloads it, and checks which servers clients see and what
// stderr says.
func (st *stand) configure(servers map[string]any, want string, told string) {
	st.t.Helper()
	st.write(configText(st.t, servers))
	st.reload()
	st.expectServers(want)
	if told != "" {
		told = "stdwire: the configuration has changed: " + told + "\n"
	}
	assert.Equal(st.t, st.stderr.Take(), told)
}

// expectServers checks the servers of the listed tools.
func (st *stand) expectServers(want string) {
	st.t.Helper()
	var tools []*mcp.Tool
	for tool, err := range st.c.Tools(st.t.Context()) {
		assert.NilError(st.t, err)
		if tool.Name != "host_status" {
			tools = append(tools, tool)
		}
	}
	assert.Equal(st.t, strings.Join(names(tools), " "), want)
}

// expectChanges checks which notifications clients got, each once.
func (st *stand) expectChanges(want string) {
	st.t.Helper()
	select {
	case got := <-st.changes:
		assert.Equal(st.t, strings.Join(got, " "), want)
	case <-time.After(time.Minute):
		st.t.Fatal("nobody is told")
	}
}

func (st *stand) pid(id string) int {
	st.t.Helper()
	for _, s := range st.Gateway.Manager().Status() {
		if s.ID == id && s.Process != nil {
			return s.Process.Pid
		}
	}
	return 0
}

func newConfig(t *testing.T, servers map[string]any) (m *serve.GatewayConfig, path string) {
	t.Helper()
	ownHome(t)
	path = filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t, os.WriteFile(path, configText(t, servers), 0o600))
	return &serve.GatewayConfig{ConfigFlags: target.ConfigFlags{Files: []string{path}}}, path
}

type obj = map[string]any

// Only changed servers are restarted, and clients are notified once.
func TestReload(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	m, path := newConfig(t, obj{"a": good(), "b": good()})
	st := newStand(t, m, path)
	st.expectServers("a b")
	st.configure(obj{"a": good(), "b": good()}, "a b", "")

	hanging, hang := make(chan error, 1), make(chan struct{})
	go func() {
		_, err := st.c.CallTool(t.Context(), "a__slow", obj{"ms": 400},
			client.OnProgress(func(mcp.ProgressParams) {
				select {
				case hang <- struct{}{}:
				default:
				}
			}))
		hanging <- err
	}()
	<-hang // a call is under way
	a, b := st.pid("a"), st.pid("b")
	st.configure(obj{"a": good(), "b": good("env", obj{"X": "1"}), "c": good()}, "a b c",
		"new c; changed b")
	st.expectChanges("a b c")
	assert.NilError(t, <-hanging)
	assert.Equal(t, st.pid("a"), a, "it is the same process")
	assert.Assert(t, st.pid("b") != b)
	assert.DeepEqual(t, st.Gateway.Manager().IDs(), []string{"a", "b", "c"})

	st.configure(obj{"b": good("env", obj{"X": "1"}),
		"c": good("tools", obj{"deny": []string{"echo"}})}, "b", "changed c; gone a")
	st.expectChanges("b")
	st.configure(obj{"b": good("env", obj{"X": "1"}, "disabled", true)}, "", "changed b; gone c")
	st.expectChanges("")
	st.configure(obj{"b": good("env", obj{"X": "1"})}, "b", "changed b")
	st.expectChanges("b")
	assert.Equal(t, len(st.changes), 0)
}

// A configuration that cannot be used changes nothing and is reported once.
func TestReloadOfWhatIsBroken(t *testing.T) {
	m, path := newConfig(t, obj{"a": good(), "b": good()})
	st := newStand(t, m, path)
	a := st.pid("a")
	m.Profile = "one"
	for text, want := range map[string]string{
		"{\"mcpServers\": {\n  \"a\": ":                       path + ":2:8: ",
		`{"mcpServers": {"a": {"command": "x"}, "a": {}}}`:    path + ":1:40: ",
		`{"mcpServers": {"a": {}}, "profiles": {"two": []}}`:  `there is no profile "one"`,
		`{"mcpServers": {}, "profiles": {"one": ["nobody"]}}`: `there is no server "nobody"`,
	} {
		st.write([]byte(text))
		for range 3 {
			st.reload()
		}
		told := st.stderr.Take()
		assert.Equal(t, strings.Count(told, "\n"), 1, told)
		assert.Assert(t,
			cmp.Contains(told,
				"warning: the configuration has changed, and cannot be used; the servers stay unchanged: "))
		assert.Assert(t, cmp.Contains(told, want))
		st.expectServers("a b")
	}
	assert.NilError(t, os.Remove(path))
	st.reload()
	assert.Assert(t, cmp.Contains(st.stderr.Take(), path+": "+syscall.ENOENT.Error()))
	m.Profile = ""
	// A server with an error stays unchanged; the others are updated.
	st.write(configText(t, obj{"a": obj{"command": 7}, "b": good(), "c": good(), "d": obj{}}))
	for range 2 {
		st.reload()
	}
	st.expectServers("a b c")
	told := st.stderr.Take()
	assert.Equal(t, strings.Count(told, path+":1:"), 2, told)
	assert.Assert(t, cmp.Contains(told, "the configuration has changed: new c\n"))
	assert.Equal(t, st.pid("a"), a)
	st.write(configText(t, obj{"a": good(), "b": good()}))
	st.reload()
	st.expectServers("a b")
	assert.Equal(t, st.stderr.Take(), "stdwire: the configuration is valid again\n"+
		"stdwire: the configuration has changed: gone c\n")
	assert.Equal(t, st.pid("a"), a)
}

// Changed rates wait, because they may allow more, until the user accepts them.
func TestReloadOfRates(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	m, path := newConfig(t, obj{"a": good()})
	write := func(rates string) {
		text := configText(t, obj{"a": good()})
		text = append(text[:len(text)-1], `,"rates":`+rates+"}"...)
		assert.NilError(t, os.WriteFile(path, text, 0o600))
	}
	write(`[{"name": "r", "rate": "1/h", "burst": 2}]`)
	st := newStand(t, m, path)
	calls := func() (n int) {
		for ; n < 10; n++ {
			result, err := st.c.CallTool(t.Context(), "a__echo", obj{"text": "x"})
			assert.NilError(t, err)
			if result.IsError {
				text := result.Content[0].(*mcp.TextContent).Text
				assert.Check(t, cmp.Contains(text, `the rate limit "r" of `))
				return n
			}
		}
		return n
	}
	assert.Equal(t, calls(), 2)
	write(`[{"name": "r", "rate": "1/h", "burst": 5}]`)
	st.fileChanged()
	assert.Equal(t, calls(), 0)
	assert.Assert(t, cmp.Contains(st.stderr.Take(), ": the rates have changed, and wait: "))
	assert.Equal(t, len(st.About().Waiting), 1)
	st.reload()
	assert.Equal(t, calls(), 3)
	assert.DeepEqual(t, st.About().Rates, []ops.RateUse{{Rate: "r", Limit: "1/h", Refused: 3}})
	write(`[{"name": "r", "days": 7}]`)
	st.reload() // it cannot be used
	assert.Assert(t, cmp.Contains(st.stderr.Take(), `rates[0] has no "days"; did you mean day?`))
	assert.Equal(t, calls(), 0)
	st.write(configText(t, obj{"a": good()}))
	st.fileChanged()
	assert.Equal(t, calls(), 0)
	assert.Assert(t, cmp.Contains(st.stderr.Take(), path+":1:"))
	st.reload()
	assert.Equal(t, calls(), 10)
	assert.Equal(t, len(st.About().Waiting)+len(st.About().Rates), 0)
}

// A gateway that starts without rates, and so without the work for them, says that it does not use
// later ones.
func TestReloadOfFirstRates(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	m, path := newConfig(t, obj{"a": good()})
	st := newStand(t, m, path)
	text := configText(t, obj{"a": good()})
	st.write(append(text[:len(text)-1], `,"rates":[{"name": "r", "day": 1}]}`...))
	for range 2 {
		st.reload()
	}
	assert.Equal(t, st.stderr.Take(),
		"warning: the configuration has rates now; the next start uses them\n")
}

// A server that the user disabled stays disabled, whatever the configuration becomes.
func TestReloadKeepsWhatWasDisabled(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	m, path := newConfig(t, obj{"a": good(), "b": good("disabled", true), "c": good()})
	st := newStand(t, m, path)
	manager := st.Gateway.Manager()
	assert.NilError(t, manager.Disable("a"))
	st.expectChanges("c")
	assert.NilError(t, manager.Enable("b"))
	st.expectChanges("b c")
	st.configure(obj{"a": good("env", obj{"X": "1"}),
		"b": good("disabled", true, "env", obj{"X": "1"}), "c": good()}, "b c", "changed a, b")
	st.configure(obj{"b": good("disabled", true, "env", obj{"X": "1"}), "c": good()}, "b c", "gone a")
	st.configure(obj{"a": good(), "b": good("disabled", true, "env", obj{"X": "1"}), "c": good()},
		"b c", "new a")
	assert.Equal(t, string(manager.Status()[2].State), string(host.Disabled))
	for _, a := range []obj{good("disabled", true), good()} {
		// which says nothing of what the user has said
		st.configure(obj{"a": a, "b": good("disabled", true, "env", obj{"X": "1"}), "c": good()},
			"b c", "")
	}
	assert.NilError(t, manager.Enable("a"))
	st.configure(obj{"a": good("env", obj{"X": "2"}), "b": good(), "c": good()}, "a b c",
		"changed a, b")
	st.configure(obj{"a": good("env", obj{"X": "2"}), "b": good("disabled", true), "c": good()},
		"a c", "changed b")
}

// After many reloads only the servers of the last configuration are left.
func TestManyReloads(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	m, path := newConfig(t, obj{"a": good()})
	st := newStand(t, m, path)
	a := st.pid("a")
	for i := range 100 {
		servers := obj{"a": good()}
		if i%2 == 0 {
			servers["b"] = good("disabled", true, "env", obj{"X": fmt.Sprint(i)})
		}
		st.write(configText(t, servers))
		st.reload()
	}
	assert.Equal(t, strings.Count(st.stderr.Take(), "the configuration has changed: "), 100)
	st.configure(obj{"a": good(), "z": good()}, "a z", "new z")
	assert.Equal(t, st.pid("a"), a)
	assert.DeepEqual(t, st.Gateway.Manager().IDs(), []string{"a", "z"})
}

// A changed server of a project is not offered until the user trusts it.
func TestReloadOfWhatIsNotTrusted(t *testing.T) {
	ownHome(t)
	dir := t.TempDir()
	t.Chdir(dir)
	path := filepath.Join(dir, ".mcp.json")
	assert.NilError(t, os.WriteFile(path, configText(t, obj{"a": good(), "b": good()}), 0o600))
	trust := func(args ...string) {
		t.Helper()
		got := run(t, append([]string{"trust", "--yes"}, args...)...)
		assert.Equal(t, got.code, 0, got.stderr)
	}
	trust()
	st := newStand(t, &serve.GatewayConfig{All: true}, path)
	st.expectServers("a b")
	st.write(configText(t, obj{"a": good("env", obj{"X": "1"}), "b": good()}))
	for range 2 {
		st.reload()
	}
	st.fileChanged()
	st.expectServers("b")
	told := st.stderr.Take()
	assert.Equal(t, strings.Count(told,
		`server "a" has changed since it was trusted, so it is not offered: see stdwire trust`), 1, told)
	assert.Equal(t, st.About().Waiting[0].Why, gatewaytext.WaitsForTrust)
	assert.Assert(t,
		cmp.Contains(st.Files(),
			filepath.Join(os.Getenv("HOME"), ".local", "state", "stdwire", "trust.json")))
	trust("a")
	st.fileChanged()
	st.expectServers("b") // the trust store is watched, too
	st.reload()
	st.expectServers("a b")
	assert.Equal(t, run(t, "trust", "--revoke", "b").code, 0)
	st.reload()
	st.expectServers("a")
	assert.NilError(t, os.Remove(path)) // no file has to exist
	st.stderr.Take()
	st.reload()
	st.expectServers("")
	assert.Equal(t, st.stderr.Take(), "stdwire: the configuration has changed: gone a\n")
}

// Rules mean the gateway's own tools by the id stdwire, so that no server is offered with it.
func TestServerNamedStdwire(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	m, path := newConfig(t, obj{"stdwire": good(), "a": good()})
	st := newStand(t, m, path)
	for tool, err := range st.c.Tools(t.Context()) {
		assert.NilError(t, err)
		assert.Check(t, !strings.HasPrefix(tool.Name, "stdwire__"), tool.Name)
	}
	assert.Check(t, cmp.Contains(st.stderr.Take(),
		"rules mean the gateway's own tools by this id; give the server another one"))
}
