package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// someServers writes a configuration for stdwire run. touched is the file that the server touch
// creates when it is started.
func someServers(t *testing.T) (config, dir, touched string) {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	ownHome(t)
	dir = t.TempDir()
	touched = filepath.Join(dir, "touched")
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600))
	text, err := json.Marshal(map[string]any{
		"mcpServers": map[string]any{
			"files": map[string]any{"command": self,
				"args":  []string{"serve", "--root", dir, "--write"},
				"tools": map[string]any{"deny": []string{"fs_list"}}},
			"old": map[string]any{"command": self,
				"args": []string{"serve", "--root", dir, "--write"}, "era": "legacy"},
			"my.hand": map[string]any{"command": self, "args": []string{"fixture:good"}},
			"small": map[string]any{"command": self, "args": []string{"fixture:good"},
				"maxArguments": 30, "maxResult": 100},
			"asks": map[string]any{"command": self,
				"args": []string{"fixture:asking", "sampling/createMessage"}},
			"library": map[string]any{"command": self, "args": []string{"fixture:library"}},
			"touch":   map[string]any{"command": self, "args": []string{"fixture:touch", touched}},
			"crash":   map[string]any{"command": self, "args": []string{"fixture:crash"}},
			"none":    map[string]any{"command": self, "args": []string{"fixture:toolless"}},
			"gone":    map[string]any{"command": "no-such-program-anywhere"},
			"off":     map[string]any{"command": self, "disabled": true},
			"bad":     map[string]any{},
			"fs":      map[string]any{"command": self, "args": []string{"fixture:good"}},
		},
		"profiles": map[string]any{"one": []string{"files"}},
	})
	assert.NilError(t, err)
	config = filepath.Join(dir, "mcp.json")
	assert.NilError(t, os.WriteFile(config, text, 0o600))
	return config, dir, touched
}

func TestRunTool(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	config, _, touched := someServers(t)
	const read = `{"success":true,"data":{"path":"a.txt",`
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string // what is in it; "": nothing is
	}{
		{"files fs_read --path a.txt", 0, "hello", ""},
		{"files.fs_read --path a.txt", 0, "hello", ""},
		{"files fs_read --path a.txt -o json", 0, read, ""},
		{"old fs_read --path a.txt -o json", 0, read, ""},
		{"files fs_read --path=b.txt", 5, "",
			`stdwire run: files fs_read: upstream_error: not_found: cannot read "b.txt": it does not exist` +
				"\n"},
		{"files fs_read --path b.txt -o json", 5, "",
			`"details":{"structuredContent":{"success":false,`},
		{"files fs_read", 2, "", "stdwire run: files fs_read: missing_param: --path is missing\n"},
		{"files fs_read --pth a.txt", 2, "", "unknown flag --pth; did you mean --path?"},
		{"files fs_read --lines x --path a.txt", 2, "", "invalid_input: --lines must be an integer"},
		{"files fs_raed", 5, "",
			"unknown_operation: there is no such operation; did you mean files fs_read?"},
		{"files fs_list", 5, "", "unknown_operation: "},
		{"files fs_delete --path a.txt", 7, "", "confirmation_required: Delete a file,"},
		{"files fs_read path=a.txt", 0, "hello", ""},
		{"files fs_read lines=x path=a.txt", 2, "", `invalid_input: --lines must be an integer, not "x"`},
		{"files fs_read -d {\"path\":\"a.txt\"}", 0, "hello", ""},
		{"files fs_read --help", 0, "usage: stdwire run files fs_read --path string [FLAG]…", ""},
		{"files", 0, "files fs_delete  Delete a file,", ""},
		{"fs", 0, "fs list    ", ""},
		{"fs write --path x", 7, "",
			"permission_denied: it is offered with --write: stdwire run --write fs write\n"},
		{"proc", 7, "", "permission_denied: it is offered with --allow-exec: stdwire run --allow-exec proc\n"},
		{"files fs_read --root x", 2, "",
			"unknown flag --root; it belongs before the operation: stdwire run --root … files fs_read\n"},
		{"files --help", 0, "files fs_delete  Delete a file,", ""},

		{"my.hand echo --text x --n 2 --yes", 0, `{"text":"x","n":2}` + "\n", ""},
		{"my_hand echo --text x --yes", 0, `{"text":"x"}` + "\n", ""},
		{"my.hand.echo --text x --yes", 0, `{"text":"x"}` + "\n", ""},
		{"my.hand echo --text x --yes -o json", 0,
			`{"success":true,"data":[{"type":"text","text":"{\"text\":\"x\"}"}],"error":null,"_meta":{"original":{"content":[{"type":"text","text":"{\"text\":\"x\"}"}],"x-unknown": 1.0}}}` +
				"\n", ""},
		{"my.hand echo --text x", 7, "",
			`confirmation_required: The tool "echo" of the server "my.hand" may be destructive. Give --yes to confirm it.`},
		{"my.hand fail --yes", 5, "", "stdwire run: my_hand fail: upstream_error: disk full\n"},
		{"my.hand refuse --yes", 5, "",
			`upstream_error: server "my.hand": tool "refuse": not with these (code -32602)`},
		{"my.hand die --yes", 6, "",
			`upstream_error: server "my.hand": tool "die": exited with status 7: "out of memory"`},
		{"my.hand slow --ms 1 --yes", 0, "done\n", ""},
		{"my.hand slow --ms x --yes", 2, "", "--ms"},
		{"files fs_delete --path a.txt --yes", 0, "a.txt", ""},
		{"old fs_delete --path a.txt --yes", 5, "", "not_found: "},
		{"my.hand strange --any x --yes", 0, "called\n",
			"the arguments of an operation are checked by its server only"},
		{"small echo --text x --yes", 0, `{"text":"x"}`, "checked by its server only"},
		{"small echo --yes --text " + strings.Repeat("x", 20), 7, "",
			"blocked: server \"small\": tool \"echo\": its arguments have 31 bytes, and maxArguments allows 30: nothing was sent\n"},
		{"small big --yes", 7, "", "and maxResult allows 100"},
		{"asks t --yes", 5, "",
			"not_implemented: the server asks a question (sampling/createMessage)"},

		{"gone x", 4, "",
			"stdwire run: gone x: upstream_error: server \"gone\" is not available: server \"gone\": cannot start \"no-such-program-anywhere\""},
		{"crash x", 4, "", "boom: missing API key"},
		{"crash x -o json", 4, "",
			`{"success":false,"data":null,"error":{"code":"upstream_error",`},
		{"none x", 5, "", "not_found: the server none has no tools, or none that the configuration allows"},
		{"off x", 7, "", "permission_denied: off: it is disabled at "},
		{"bad x", 8, "", "state_error: "},
		{"fiels fs_read", 5, "",
			`unknown_operation: there is neither an operation nor a server "fiels"; did you mean files?`},
		{"fs echo", 5, "", "unknown_operation: there is no such operation"},
		{"--profile one my.hand echo", 5, "",
			`unknown_operation: there is neither an operation nor a server "my.hand"`},
		{"--profile cad files fs_read", 2, "", `invalid_input: there is no profile "cad"`},
		{"--config " + config + ".none files fs_read", 8, "", config + ".none"},
		{"fs stat --path .", 0, "type:", ""},
	} {
		got := run(t, append([]string{"run", "--config", config}, strings.Fields(tt.args)...)...)
		assert.Equal(t, got.code, tt.code, "%s: %s", tt.args, got.stderr)
		assert.Assert(t, strings.Contains(got.stdout, tt.stdout) &&
			(got.stdout == "") == (tt.stdout == ""), "%s: %s", tt.args, got.stdout)
		assert.Assert(t, strings.Contains(got.stderr, tt.stderr), "%s: %s", tt.args, got.stderr)
		if tt.code != 0 {
			assert.Equal(t, strings.Count(got.stderr, "is not available"),
				strings.Count(tt.stderr, "is not available")+strings.Count(tt.args, "crash"),
				got.stderr)
		}
	}
	_, err := os.Stat(touched)
	assert.Assert(t, os.IsNotExist(err), "only the server that is named is started")
}

// Tools are listed and completed without starting a server.
func TestRunUsesRememberedTools(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	config, _, touched := someServers(t)
	for _, args := range []string{"", "--help"} {
		got := run(t, append([]string{"run", "--config", config}, strings.Fields(args)...)...)
		assert.Equal(t, got.code, 0, got.stderr)
		assert.Assert(t, cmp.Contains(got.stdout, "  fs read "))
		assert.Assert(t, !strings.Contains(got.stdout, "files fs_read"))
		for _, want := range []string{"files         has not been started yet: stdwire run files --help",
			"off           it is disabled at", "\n  bad  ",
			"fs            has the same name as another: stdwire call -s fs"} {
			assert.Assert(t, cmp.Contains(got.stdout, want))
		}
	}
	assert.Equal(t, run(t, "run", "--config", config, "files", "fs_stat", "--path", ".").code, 0)
	got := run(t, "run", "--config", config)
	assert.Assert(t, cmp.Contains(got.stdout, "files fs_read "))
	assert.Assert(t, !strings.Contains(got.stdout, "files fs_list") &&
		!strings.Contains(got.stdout, "files         was"), got.stdout)
	for words, want := range map[string]string{
		"f":                         "files|fs",
		"files fs_r":                "fs_read\tRead a file, as text or, if it is not UTF-8, as base64",
		"files fs_read --encoding ": "auto|text|base64", "files fs_l": "", "touch ": "",
		"nobody ":            "",
		"files fs_write --y": "--yes\tConfirm in advance",
	} {
		args := append([]string{"run", "__complete", "run", "--config", config},
			strings.Fields(words)...)
		if strings.HasSuffix(words, " ") {
			args = append(args, "")
		}
		got := run(t, args...)
		assert.Equal(t, got.code, 0, got.stderr)
		assert.Equal(t, strings.ReplaceAll(strings.TrimSuffix(got.stdout, "\n"), "\n", "|"), want,
			words)
		assert.Equal(t, got.stderr, "")
	}
	_, err := os.Stat(touched)
	assert.Assert(t, os.IsNotExist(err))
	got = run(t, "run", "--config", config, "touch", "--help")
	assert.Assert(t, cmp.Contains(got.stdout, "touch echo "))
	_, err = os.Stat(touched)
	assert.NilError(t, err)
}

// A tool that is not remembered is looked up again.
func TestRunListsUnknownToolsAgain(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	config, _, _ := someServers(t)
	assert.Equal(t, run(t, "run", "--config", config, "files", "--help").code, 0)
	assert.Equal(t, run(t, "run", "--config", config, "my.hand", "--help").code, 0)
	for id, had := range map[string]string{"files": `"name":"fs_read"`,
		"my.hand": `"name":"echo"`} {
		path := filepath.Join(target.RememberDir(), id+".json")
		text, err := os.ReadFile(path)
		assert.NilError(t, err)
		without := strings.Replace(string(text), had, `"name":"other"`, 1)
		assert.Assert(t, without != string(text))
		assert.NilError(t, os.WriteFile(path, []byte(without), 0o600))
	}
	got := run(t, "run", "__complete", "run", "--config", config, "files", "fs_re")
	assert.Equal(t, got, ran{0, "", ""}, "nothing is started for that")
	got = run(t, "run", "--config", config, "files", "fs_read", "--path", "a.txt")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stdout, "hello"))
	assert.Equal(t, strings.Count(got.stderr, "a tool does not match its pin"),
		1, got.stderr)
	got = run(t, "run", "--config", config, "my.hand", "echo", "--help")
	assert.Equal(t, got.code, 0, got.stderr)
	path := filepath.Join(target.RememberDir(), "my.hand.json")
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	// all tools differ from their pins
	assert.NilError(t,
		os.WriteFile(path,
			[]byte(strings.ReplaceAll(string(text), `"type":"object"`,
				`"type":"object","title":"other"`)), 0o600))
	got = run(t, "run", "--config", config, "my.hand", "echo", "--text", "x", "--yes")
	assert.Equal(t, got.code, 0, got.stderr)
	got = run(t, "run", "__complete", "run", "--config", config, "files", "fs_re")
	assert.Assert(t, cmp.Contains(got.stdout, "fs_read"))
}

// A script calls several servers, each started when it is first named.
func TestRunScriptOfTools(t *testing.T) {
	config, _, _ := someServers(t)
	c := termtest.Capture(false)
	c.In = strings.NewReader(
		"fs stat --path .\nfiles fs_read --path a.txt\nmy.hand echo --text x --yes\nmy.hand fail --yes\nfs stat --path .\n")
	got := runWith(t.Context(), c, "run", "--config", config, "-")
	assert.Equal(t, got.code, 5, got.stderr)
	assert.Assert(t, strings.HasSuffix(got.stdout, "hello{\"text\":\"x\"}\n"), got.stdout)
	assert.Assert(t,
		strings.HasSuffix(got.stderr,
			"stdwire run: line 4: my_hand fail: upstream_error: disk full\n"), got.stderr)
}

// At a terminal the user confirms a call and answers the questions of the server.
func TestRunToolAsks(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	config, dir, _ := someServers(t)
	for _, server := range []string{"files", "old"} {
		victim := filepath.Join(dir, "victim")
		assert.NilError(t, os.WriteFile(victim, nil, 0o600))
		got := typing(t, "n\n", "run", "--config", config, server, "fs_delete", "--path", "victim")
		assert.Equal(t, got.code, 7, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, "This cannot be undone. Go on? [y/N] "))
		_, err := os.Stat(victim)
		assert.NilError(t, err)
		got = typing(t, "y\nn\n", "run", "--config", config, server, "fs_delete", "--path",
			"victim")
		assert.Equal(t, got.code, 7, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, server+" asks:"), "the server asks, too")
		_, err = os.Stat(victim)
		assert.NilError(t, err)
		got = typing(t, "", "run", "--config", config, server, "fs_delete", "--path", "victim",
			"--yes")
		assert.Equal(t, got.code, 0, got.stderr)
		_, err = os.Stat(victim)
		assert.Assert(t, os.IsNotExist(err))
	}
}

// The servers of a project must be trusted, and changed tools are not offered.
func TestRunToolTrustAndPins(t *testing.T) {
	withServers(t, `{"good": {"command": "SELF", "args": ["fixture:good"]}}`)
	t.Setenv("XDG_CACHE_HOME", "")
	got := run(t, "run", "good", "echo", "--text", "x", "--yes")
	assert.Equal(t, got.code, 7)
	assert.Assert(t, cmp.Contains(got.stderr, `permission_denied: `))
	assert.Assert(t,
		cmp.Contains(got.stderr,
			`server "good" is not trusted; review its definition, and trust it: stdwire trust good`))
	assert.Assert(t, cmp.Contains(run(t, "run").stdout, `server "good" is not trusted`))
	assert.Equal(t, run(t, "trust", "good", "--yes").code, 0)
	got = run(t, "run", "good", "echo", "--text", "x", "--yes")
	assert.Equal(t, got.code, 0, got.stderr)

	self, err := os.Executable()
	assert.NilError(t, err)
	path := filepath.Join(t.TempDir(), "mcp.json")
	for _, flags := range []string{``, `,"--write"`} {
		assert.NilError(t,
			os.WriteFile(path,
				[]byte(`{"mcpServers":{"files":{"command":"`+filepath.ToSlash(self)+
					`","args":["serve"`+flags+`]}}}`), 0o600))
		got = run(t, "run", "--config", path, "files", "fs_write", "--help")
		code := 5
		if flags != "" {
			code = 7
			assert.Assert(t, cmp.Contains(got.stderr,
				`the tool "fs_write" is withheld: it is new since its server was first used; review`))
		}
		assert.Equal(t, got.code, code)
		assert.Equal(t, strings.Contains(got.stderr,
			"a tool does not match its pin"), flags != "", got.stderr)
		assert.Equal(t, run(t, "run", "--config", path, "files", "fs_stat", "--path", ".").code, 0)
	}
}

// Images are saved as by stdwire call.
func TestRunSaves(t *testing.T) {
	config, dir, _ := someServers(t)
	got := run(t, "run", "--config", config, "library", "picture", "--yes")
	assert.Equal(t, got,
		ran{0, "Here:\n[image image/png 4 B → --save DIR]\n[link file:///logo.png logo]\n", ""})
	got = run(t, "run", "--config", config, "--save", dir, "library", "picture", "--yes")
	assert.Equal(t, got,
		ran{0, "Here:\n[image image/png 4 B → " + filepath.Join(dir, "picture-2.png") +
			"]\n[link file:///logo.png logo]\n", ""})
	_, err := os.Stat(filepath.Join(dir, "picture-2.png"))
	assert.NilError(t, err)
	got = run(t, "run", "--config", config, "--save", config, "library", "picture", "--yes")
	assert.Equal(t, got.code, 2)
	assert.Assert(t, cmp.Contains(got.stderr, "stdwire: run: --save: "))
}
