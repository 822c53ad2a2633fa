package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// stdwire test makes the calls of a file, on the given server or on those that the calls name.
func TestSavedCalls(t *testing.T) {
	ownHome(t)
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string) {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	self, err := os.Executable()
	assert.NilError(t, err)
	write("hello.txt", "Hello, world.\n")
	write("servers.json", `{"mcpServers":{"files":{"command":"`+filepath.ToSlash(self)+
		`","args":["serve"]}}}`)
	write("calls.json", `{"calls":[
		{"name":"reads","server":"files","tool":"fs_read","arguments":{"path":"hello.txt"},
		 "expect":{"values":{"/structuredContent/data/content":"Hello, world.\n"},"within":"1m"}},
		{"name":"misses","server":"files","tool":"fs_read","arguments":{"path":"none"},"expect":{"error":"isError"}},
		{"server":"files","tool":"nothing","expect":{"error":-32602}},
		{"server":"files","method":"tools/list","expect":{"schema":{"required":["tools"]}}}]}`)
	got := run(t, "test", "calls.json", "--config", "servers.json")
	assert.Equal(t, got.code, 0, "%s%s", got.stdout, got.stderr)
	assert.Equal(t, strings.Count(got.stdout, "ok    "), 4, "%s", got.stdout)
	got = run(t, "test", "calls.json", "--root", ".") // all on this server
	assert.Equal(t, got.code, 0, "%s%s", got.stdout, got.stderr)

	write("calls.json", `{"calls":[{"server":"files","tool":"fs_read","arguments":{"path":"none"}},
		{"server":"missing","tool":"x"},{"tool":"x"}]}`)
	got = run(t, "test", "calls.json", "--config", "servers.json")
	assert.Equal(t, got.code, 10)
	for _, want := range []string{"FAIL  fs_read (", "the tool reports an error: ",
		`there is no server "missing"`, `the call names no "server"`} {
		assert.Assert(t, cmp.Contains(got.stdout, want))
	}
	assert.Assert(t, cmp.Contains(got.stderr, "3 of 3 calls not as expected"))
	got = run(t, "test", "calls.json", "--config", "servers.json", "-o", "junit")
	assert.Equal(t, got.code, 10)
	assert.Assert(t, cmp.Contains(got.stdout, `<testsuite name="calls.json" tests="3" failures="3"`))
	got = run(t, "test", "calls.json", "--config", "servers.json", "-o", "json")
	assert.Assert(t, cmp.Contains(got.stdout, `{"outcomes":[{"name":"fs_read"`))

	write("calls.json", `{"calls":[{"name":"x"}]}`)
	for _, args := range [][]string{{"test"}, {"test", "none.json"}, {"test", "calls.json"},
		{"test", "a", "b"}} {
		assert.Equal(t, run(t, args...).code, 2, "%q", args)
	}
}

// What contradicts itself is said before a page is served.
func TestWebUsage(t *testing.T) {
	ownHome(t)
	t.Chdir(t.TempDir())
	for _, line := range []string{"web none.jsonl", "web talk.jsonl -s x", "web a b", "web --tap",
		"web --tap talk.jsonl", "web --tap --era modern -- x", "web --pid 1", "web --gateway -s x",
		"web --gateway --config x", "web --era legacy", "web --header a:b", "web --listen here",
		"web --server-logs -- x", "web --listen 192.0.2.1:1 --root .", "web talk.jsonl --config x"} {
		got := run(t, strings.Fields(line)...)
		assert.Equal(t, got.code, 2, "%s: %s", line, got.stderr)
		assert.Equal(t, got.stdout, "", "%s", line)
	}
	assert.Equal(t, run(t, "web", "--gateway").code, 4)
}
