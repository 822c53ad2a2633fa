package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// The tools of all configured servers are found; a server is started only until a gateway has
// listed it.
func TestFind(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	config, dir, touched := someServers(t)
	text, err := os.ReadFile(config)
	assert.NilError(t, err)
	var all struct {
		MCPServers map[string]any `json:"mcpServers"`
	}
	assert.NilError(t, json.Unmarshal(text, &all))
	files := all.MCPServers["files"].(map[string]any)
	files["overrides"] = map[string]any{
		"fs_write": map[string]any{"name": "store_document"},
		"fs_move":  map[string]any{"hidden": true}}
	all.MCPServers = map[string]any{"files": files, "touch": all.MCPServers["touch"]}
	text, err = json.Marshal(all)
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(config, text, 0o600))
	find := func(args ...string) ran {
		return run(t, append([]string{"find", "--config", config}, args...)...)
	}
	first := find("echo")
	assert.Equal(t, first.code, 0, first.stderr)
	assert.Assert(t, strings.HasPrefix(first.stdout, "touch: echo("), first.stdout)
	assert.NilError(t, os.Remove(touched), "the server was started")

	assert.Equal(t, find("echo"), first)
	got := find("--limit", "1", "replace", "the", "text", "of", "a", "file")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, strings.HasPrefix(got.stdout, "files: fs_edit("), got.stdout)
	assert.Assert(t, cmp.Contains(got.stderr, "more have a word of it"))
	got = find("fs_list")
	assert.Assert(t, !strings.Contains(got.stdout, "fs_list("), "its filter denies it")
	// the overrides are those of the gateway, whose names are found, and a server's own is shown
	for _, more := range [][]string{nil, {"-s", "files"}} {
		got = find(append([]string{"store_document"}, more...)...)
		assert.Equal(t, got.code, 0, got.stderr)
		assert.Assert(t, strings.HasPrefix(got.stdout, "files: store_document("), got.stdout)
		assert.Assert(t, cmp.Contains(got.stdout, "(overridden: its server's fs_write)"))
		for _, hidden := range []string{"fs_write", "fs_move"} {
			got = find(append([]string{hidden}, more...)...)
			assert.Assert(t, !strings.Contains(got.stdout, hidden+"("), got.stdout)
		}
	}
	got = find("-s", "files", "echo")
	assert.Equal(t, got.code, 5)
	assert.Equal(t, got.stdout, "")
	assert.Assert(t, cmp.Contains(got.stderr, `fits: no tool has "echo"`))

	got = find("--read-only", "replace", "the", "text", "of", "a", "file")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, !strings.Contains(got.stdout, "fs_edit("))
	assert.Assert(t, cmp.Contains(got.stderr, "that fit may change something"))

	var found struct {
		Query     string
		Tools     int
		Found     int
		Unknown   []string
		Abstained bool
		Hits      []struct {
			Server, Name, Public string
			Score                float64
			Exact                bool
			Definition           struct{ Name string }
		}
	}
	got = find("-o", "json", "files__fs_read")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &found))
	hit := found.Hits[0]
	assert.Assert(t, hit.Server == "files" && hit.Name == "fs_read" &&
		hit.Public == "files__fs_read" && hit.Exact && hit.Definition.Name == "fs_read", got.stdout)
	got = find("-o", "json", "zorgle")
	assert.Equal(t, got.code, 5)
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &found))
	assert.Assert(t, len(found.Hits) == 0 && found.Unknown[0] == "zorgle", got.stdout)

	got = find("--explain", "fs_read", "read", "zorgle")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stdout, "files__fs_read is number 1, with a score of"))
	assert.Assert(t, cmp.Contains(got.stdout, "no tool has it"))
	got = find("--explain", "fs_write", "store", "document")
	assert.Assert(t, cmp.Contains(got.stdout, "files__store_document is number 1"))
	got = find("-o", "json", "store_document")
	assert.Assert(t, cmp.Contains(got.stdout,
		`"name":"store_document","own":"fs_write","public":"files__store_document"`))
	got = find("--explain", "touch__echo", "-o", "json", "read")
	assert.Assert(t, cmp.Contains(got.stdout, `"tool":"touch__echo"`))
	assert.Assert(t, cmp.Contains(got.stdout, `"fields":[]`)) // it lacks the word
	got = find("--explain", "fs_reed", "read")
	assert.Equal(t, got.code, 5)
	assert.Assert(t, cmp.Contains(got.stderr, "there is no such tool; there are files__fs_delete, "))

	queries := filepath.Join(dir, "queries.jsonl")
	assert.NilError(t, os.WriteFile(queries, []byte(
		`{"query":"replace the text of a file","tools":["fs_edit"]}`+"\n\n"+
			`{"query":"store a document","tools":["files__store_document","fs_write"]}`+"\n"+
			`{"query":"echo","tools":["touch__echo","gone"]}`+"\n"+
			`{"query":"book a flight","tools":[]}`), 0o600))
	got = find("--eval", queries)
	assert.Equal(t, got.code, 0, got.stderr)
	for _, want := range []string{"queries       3 over ", "recall@1      0.833\n",
		"all@5         0.667\n", "MRR           1.000\n", "nothing fits  1 of 1 find nothing\n",
		"missed by the first ten (1):\n  echo: gone (no server has it); found: touch__echo"} {
		assert.Assert(t, cmp.Contains(got.stdout, want))
	}
	got = find("--eval", queries, "-o", "json")
	assert.Assert(t, cmp.Contains(got.stdout, `{"first":1,"share":0.8333`))

	_, err = os.Stat(touched)
	assert.Assert(t, os.IsNotExist(err), "the server was started again")
}

func TestFindErrors(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownHome(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"find", 2, "which task?"},
		{"find x --eval " + file("a", "{}"), 2, "--eval has its queries in a file"},
		{"find x --read-only --explain y", 2, "--read-only has no effect with --eval and --explain"},
		{"find --eval " + file("b", "\n"), 2, "has no queries"},
		{"find --eval " + file("c", `{"query":"","tools":[]}`+"\nx"), 2, "c: line 2: "},
		{"find --eval " + file("t", `{"query":"","tool":[]}`), 2, `t: line 1: "tools" is not an array`},
		{"find --eval " + file("d", `{"query":1}`), 2, `d: line 1: "query" is not a string`},
		{"find --eval " + filepath.Join(dir, "none"), 2, "none"},
		{"find x", 8, "there is no configured server to use"},
		{"find x --era legacy", 2, "--era is for one server"},
	} {
		got := run(t, strings.Fields(tt.args)...)
		assert.Equal(t, got.code, tt.code, "%s: %s", tt.args, got.stderr)
		assert.Assert(t, cmp.Contains(got.stderr, tt.want))
	}
	got := against(t, "find echo", "good")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, strings.HasPrefix(got.stdout, "echo(text: string, [n: integer])\n"))
}
