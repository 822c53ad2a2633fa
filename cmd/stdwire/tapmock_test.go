package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
	"gotest.tools/v3/assert"
)

// A client gets from a mock what it got from the server, in both eras, and is asked the same.
func TestMock(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	assert.NilError(t, err)
	for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
		// use returns the results of a server, and its questions.
		use := func(args ...string) (results []string) {
			c, err := client.Options{Era: era, OnElicit: func(_ context.Context,
				p mcp.ElicitParams) (*mcp.ElicitResult, error) {
				results = append(results, p.Message)
				return &mcp.ElicitResult{Action: mcp.ElicitAccept,
					Content: json.RawMessage(`{"name":"Ada"}`)}, nil
			}}.Spawn(t.Context(), client.Command{Path: self, Args: args})
			assert.NilError(t, err)
			for _, tool := range []string{"order", "write", "order"} {
				result, err := c.CallTool(t.Context(), tool, nil)
				text, _ := json.Marshal(result)
				results = append(results, fmt.Sprintf("%s %v", text, err))
			}
			assert.NilError(t, c.Close())
			return results
		}
		file := filepath.Join(t.TempDir(), "talk.jsonl")
		want := use(append([]string{"tap", "-o", file}, fixture("forms")...)...)
		assert.Equal(t, len(want), 5)
		assert.Equal(t, want[0], "What shall it be?")
		assert.Assert(t, strings.Contains(want[1], "Ada"), want[1])
		assert.DeepEqual(t, use("tap", "mock", file), want)
	}
}

// A redacted recording is a mock as well.
func TestMockOfRedactedRecording(t *testing.T) {
	self, err := os.Executable()
	assert.NilError(t, err)
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o600))
	file := talk(t, dir, "--redact")
	assert.Equal(t, run(t, "call", "fs_read", "path=a.txt", "--", self, "tap", "mock", file),
		ran{0, "hello\n", ""})
}

// talk records a conversation of stdwire with stdwire.
func talk(t *testing.T, dir string, flags ...string) (file string) {
	t.Helper()
	self, err := os.Executable()
	assert.NilError(t, err)
	file = filepath.Join(t.TempDir(), "talk.jsonl")
	server := append(append([]string{"--", self, "tap", "-o", file}, flags...), "--", self, "serve",
		"--root", dir)
	got := run(t, append([]string{"call", "fs_read", "path=a.txt"}, server...)...)
	assert.Equal(t, got, ran{0, "hello\n", ""})
	return file
}

// What is not in the recording is an error for the client, a line on stderr and the exit code.
func TestMockReports(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o600))
	file := talk(t, dir)
	mock := func(file, in string) ran {
		cmd, stdout, stderr := stdwire(t, "tap", "mock", file)
		cmd.Stdin = strings.NewReader(in)
		err := cmd.Run()
		return ran{exitCode(err), stdout.String(), stderr.String()}
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	const pong = `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
	const unused = "note: the client did not send 3 of 3 recorded requests: " +
		"server/discover (frame 1), tools/list (frame 3), tools/call fs_read (frame 5)\n"
	assert.Equal(t, mock(file, ping), ran{0, pong, unused})

	const request = `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}` + "\n"
	const miss = "the recording has no prompts/list; it has server/discover, tools/list, tools/call"
	assert.Equal(t, mock(file, request), ran{1,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"` + miss + `"}}` + "\n",
		"stdwire: tap mock: " + miss + "\n" + unused})

	var many strings.Builder
	for i := range 25 {
		fmt.Fprintf(&many, `{"jsonrpc":"2.0","id":%d,"method":"prompts/list"}`+"\n", i)
	}
	assert.Equal(t, mock(file, many.String()).stderr,
		strings.Repeat("stdwire: tap mock: "+miss+"\n", 20)+
			"stdwire: tap mock: 5 more requests are not in the recording\n"+unused)

	text, err := os.ReadFile(file)
	assert.NilError(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	for _, tt := range []struct {
		content string
		want    ran
	}{
		{strings.Join(lines[:3], "") + lines[3][:20], ran{0, pong,
			"note: FILE: the recording ends in the middle of a line\n" +
				"note: the client did not send 1 of 1 recorded requests: server/discover (frame 1)\n"}},
		{lines[0] + "{\n" + lines[1],
			ran{2, "", "stdwire: tap mock: FILE: line 2 of the recording: unexpected end of JSON input\n"}},
		{"hello\n", ran{2, "", "stdwire: tap mock: FILE: not a recording of stdwire tap\n"}},
	} {
		assert.NilError(t, os.WriteFile(file, []byte(tt.content), 0o600))
		got := mock(file, ping)
		got.stderr, _, _ = strings.Cut(strings.ReplaceAll(got.stderr, file, "FILE"), "hint: ")
		assert.Equal(t, got, tt.want)
	}
	for _, tt := range []struct{ args, stderr string }{
		{"tap mock", "stdwire: tap mock: which recording?\n"},
		{"tap mock -",
			"stdwire: tap mock: the recording must be a file: stdin is for the client\n"},
		{"tap mock a b", "stdwire: tap mock: unexpected argument \"b\"\n"},
		{"tap mokc", "stdwire: tap: unexpected argument \"mokc\"\nhint: did you mean mock?\n"},
	} {
		got := run(t, strings.Fields(tt.args)...)
		assert.Equal(t, got.code, 2, tt.args)
		assert.Assert(t, strings.HasPrefix(got.stderr, tt.stderr), "%s: %s", tt.args, got.stderr)
	}
}
