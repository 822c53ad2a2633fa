package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/completion"
)

// completed returns the candidates for the last word of a line. On a machine that is too busy for
// the time limit of a completion, it asks again.
func completed(t *testing.T, line string) (words []string) {
	t.Helper()
	var got ran
	for range 20 {
		began := time.Now()
		got = run(t, append([]string{"__complete"}, strings.Split(line, " ")...)...)
		if got.stdout != "" || time.Since(began) < completion.Timeout {
			break
		}
	}
	assert.Equal(t, got.code, 0)
	assert.Equal(t, got.stderr, "")
	for line := range strings.Lines(got.stdout) {
		word, doc, explained := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		assert.Assert(t, !explained || doc != "", line)
		words = append(words, word)
	}
	return words
}

func TestCompleteWords(t *testing.T) {
	dir := commandtest.Project(t, map[string]string{"mine.json": `{"servers": {"files": {"command": "x"}, "web": {"url": "http://127.0.0.1:1/"}},
		"profiles": {"cad": ["files"]}}`})
	for line, want := range map[string]string{
		"insp":                                   "inspect",
		"too":                                    "", // a short name, which works
		"gateway ":                               "status logs enable disable restart",
		"connect li":                             "list",
		"nosuch ":                                "",
		"task ":                                  "list get cancel",
		"task get --wa":                          "--wait",
		"task get x -o ":                         "text json",
		"tap re":                                 "replay",
		"tap tr":                                 "traces",
		"ls ":                                    "tools resources templates prompts skills",
		"ls tools ":                              "",
		"ls --e":                                 "--era --env",
		"ls --era ":                              "auto modern legacy",
		"ls --era=l":                             "--era=legacy",
		"ls --era legacy --er":                   "",
		"ls --timeout ":                          "",
		"ls --bogus --era ":                      "",
		"ls -- --era ":                           "",
		"ls -- ":                                 "",
		"ls -s ":                                 "",
		"ls --config mine.json -s ":              "files web",
		"ls --config=mine.json -s w":             "web",
		"ls --config none.json -s ":              "",
		"doctor --config mine.json ":             "files web",
		"doctor --config mine.json --profile ":   "cad",
		"doctor --config mine.json files ":       "files web",
		"call fs_r":                              "fs_read",
		"call fs_w":                              "",
		"call --write fs_w":                      "fs_write",
		"call fs_write --write mode":             "",
		"call fs_list rec":                       "recursive=",
		"call fs_list recursive=":                "recursive=true recursive=false",
		"call fs_list recursive=true rec":        "",
		"call fs_list path=./x.mcpb rec":         "recursive=",
		"call --root /no/such fs_r":              "",
		"call --url http://127.0.0.1:1/mcp fs_r": "",
		"call ./x.mcpb ":                         "",
		"call --config mine.json -s files fs_r":  "",
		"call x -- sh":                           "",
		"inspect fs_s":                           "fs_search fs_stat",
		"pin ":                                   "diff accept rm",
		"help exit":                              "exit-codes",
		"help compl":                             "complete completion",
		"completion ":                            "bash zsh fish powershell",
		"run f":                                  "fs",
		"run --wr":                               "--write",
		"run fs re":                              "read",
		"run fs write --":                        "--help",
		"run --write fs wr":                      "write",
		"run fs list --recursive ":               "--instance --path --glob --exclude --limit --json",
		"run fs read --sta":                      "--start_line",
		"run --config mine.json w":               "web",
		"tools @":                                "",
		"tools x @":                              "",
		"":                                       strings.Join(commands().Names(), " "),
		"config ch":                              "check",
		"call --sam":                             "--sample",
		"call --sample=":                         "",
	} {
		assert.Equal(t, strings.Join(completed(t, line), " "), want, "%q", line)
	}
	assert.Equal(t, run(t, "__complete"), ran{0, "", ""})
	assert.Assert(t, !strings.Contains(run(t, "help").stdout, "__complete"))
	_, err := os.Stat(filepath.Join(dir, "started"))
	assert.Assert(t, os.IsNotExist(err))
}

// The tools of a configured server are those that are remembered. The server is not started, and
// nothing is said of one that is not trusted.
func TestCompleteRememberedTools(t *testing.T) {
	config, _, touched := someServers(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	line := "call --config " + config + " -s small "
	assert.Equal(t, len(completed(t, line)), 0, "it has never been started")
	got := run(t, "run", "--config", config, "small", "--help")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(completed(t, line), "echo"))
	assert.Equal(t, strings.Join(completed(t, line+"echo t"), " "), "text=")
	assert.Equal(t, len(completed(t, strings.Replace(line, "small", "touch", 1))), 0)
	_, err := os.Stat(touched)
	assert.Assert(t, os.IsNotExist(err), "the server was started")

	text, err := os.ReadFile(config)
	assert.NilError(t, err)
	commandtest.Project(t, map[string]string{".mcp.json": string(text)})
	assert.Assert(t, cmp.Contains(completed(t, "call -s "), "small"))
	assert.Equal(t, run(t, "trust", "small", "--yes").code, 0)
	got = run(t, "run", "small", "--help")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(completed(t, "call -s small "), "echo"))
	assert.Equal(t, run(t, "trust", "--revoke").code, 0)
	assert.Equal(t, len(completed(t, "call -s small ")), 0, "untrusted")
}

// Names that servers choose cannot become flags, or hide what is inserted.
func TestCompleteUntrustedNames(t *testing.T) {
	config, _, _ := someServers(t)
	got := run(t, "run", "--config", config, "small", "--help")
	assert.Equal(t, got.code, 0, got.stderr)
	cache, err := os.UserCacheDir()
	assert.NilError(t, err)
	path := filepath.Join(cache, "stdwire", "servers", "small.json")
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	var lists map[string]any
	assert.NilError(t, json.Unmarshal(text, &lists))
	var tools []any
	for _, name := range []string{"--sample=evil", "@other", "a\x1b[8mb", "a\u202eb", "a\nb", "a\tb",
		strings.Repeat("a", 999), "a-fine"} {
		tools = append(tools, obj{"name": name, "description": "x\x1b[1m\n. y", "inputSchema": obj{
			"properties": obj{"--p": obj{}, "q": obj{"enum": []string{"\x07", "r s"}}}}})
	}
	for i := range 1000 {
		tools = append(tools, obj{"name": fmt.Sprint("n", i), "inputSchema": obj{}})
	}
	lists["tools"] = tools
	text, err = json.Marshal(lists)
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(path, text, 0o600))
	line := "call --config " + config + " -s small "
	assert.DeepEqual(t, completed(t, line+"a"), []string{"a-fine"})
	assert.Equal(t, len(completed(t, line)), 500)
	assert.Assert(t, !strings.ContainsAny(run(t, append([]string{"__complete"},
		strings.Split(line, " ")...)...).stdout, "\x1b\x07"))
	assert.DeepEqual(t, completed(t, line+"a-fine "), []string{"q="})
	assert.DeepEqual(t, completed(t, line+"a-fine q="), []string{"q=r s"})

	assert.NilError(t, os.WriteFile(path, []byte("{"), 0o600))
	assert.Equal(t, len(completed(t, line)), 0)
}
