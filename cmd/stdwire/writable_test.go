//go:build unix

package main

import (
	gocmp "cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// Files that a gateway depends on are refused in a root where its clients can write.
func TestWritableFilesAreRefused(t *testing.T) {
	self, err := os.Executable()
	assert.NilError(t, err)
	for _, tt := range []struct {
		name string
		// ROOT is a directory in which clients may change files; in AWAY they may not
		args  string
		links map[string]string // symbolic links
		env   map[string]string
		dir   string // in which it is started; "" is ROOT
		want  string // "" is to be served
	}{
		{name: "elsewhere", args: "--config AWAY/mcp.json --root ROOT --write"},
		{name: "the configuration", args: "--config ROOT/mcp.json --root ROOT --write",
			want: "the configuration ROOT/mcp.json lies in the root ROOT, where --write lets clients change it"},
		{name: "over HTTP",
			args: "--config ROOT/mcp.json --root ROOT --write --http 127.0.0.1:0 --no-auth",
			want: "the configuration ROOT/mcp.json lies"},
		{name: "rules", args: "--policy ROOT/rules.json --root ROOT --write",
			want: "the file of rules ROOT/rules.json lies"},
		{name: "a token", args: "--http 127.0.0.1:0 --token-file ROOT/token --root ROOT --write",
			want: "the file of the token ROOT/token lies"},
		{name: "authorities",
			args: "--http 127.0.0.1:0 --tls-cert AWAY/c --tls-key AWAY/k --tls-client-ca ROOT/ca --root ROOT --write",
			want: "the certificate authorities of clients ROOT/ca lies"},
		{name: "the key for other servers", args: "--http 127.0.0.1:0 --no-auth --root ROOT --write " +
			"--store redis://h --state-key-env STATE_KEY --replica-url https://h " +
			"--replica-cert AWAY/c --replica-key ROOT/k",
			env:  map[string]string{"STATE_KEY": strings.Repeat("k", 40)},
			want: "the key of the certificate for other servers ROOT/k lies"},
		{name: "the working directory", args: "--config mcp.json --write",
			want: "the configuration ROOT/mcp.json lies in the root ."},
		{name: "one of several roots",
			args: "--config ROOT/sub/mcp.json --root AWAY/none --root r=ROOT --write",
			want: "the configuration ROOT/sub/mcp.json lies in the root ROOT,"},
		{name: "one of several files",
			args: "--config ROOT/mcp.json --config AWAY/mcp.json --root ROOT --write",
			want: "the configuration ROOT/mcp.json lies"},
		{name: "not to be changed", args: "--config ROOT/mcp.json --root ROOT"},
		{name: "any program may be run",
			args: "--config ROOT/mcp.json --root ROOT --write --allow-exec"},
		{name: "any shell text may be run",
			args: "--config ROOT/mcp.json --root ROOT --write --allow-eval"},
		{name: "some programs may be run",
			args: "--config ROOT/mcp.json --root ROOT --write --allow-exec=ls",
			want: "the configuration ROOT/mcp.json lies"},
		{name: "a link to the file", args: "--config AWAY/link.json --root ROOT --write",
			links: map[string]string{"AWAY/link.json": "ROOT/mcp.json"},
			want:  "the configuration AWAY/link.json lies in the root ROOT"},
		{name: "a link in the root", args: "--config ROOT/link.json --root ROOT --write",
			links: map[string]string{"ROOT/link.json": "AWAY/mcp.json"},
			want:  "the configuration ROOT/link.json lies"},
		{name: "a link that leads through the root",
			args: "--config AWAY/link.json --root ROOT --write",
			links: map[string]string{"AWAY/link.json": "ROOT/link.json",
				"ROOT/link.json": "AWAY/mcp.json"},
			want: "the configuration AWAY/link.json lies in the root ROOT"},
		{name: "a link to its directory", args: "--config AWAY/dir/mcp.json --root ROOT --write",
			links: map[string]string{"AWAY/dir": "ROOT/sub"},
			want:  "the configuration AWAY/dir/mcp.json lies in the root ROOT"},
		{name: "a root by a link", args: "--config ROOT/mcp.json --root AWAY/root --write",
			links: map[string]string{"AWAY/root": "ROOT"},
			want:  "the configuration ROOT/mcp.json lies in the root AWAY/root"},
		{name: "a loop of links",
			args:  "--config AWAY/mcp.json --audit AWAY/loop --root ROOT --write",
			links: map[string]string{"AWAY/loop": "AWAY/loop"},
			want:  "the audit log AWAY/loop lies"},
		{name: "the user's own that is not there", args: "--servers --root ROOT --write",
			dir: "AWAY/none", env: map[string]string{"XDG_CONFIG_HOME": "ROOT/not/yet"},
			want: "the configuration ROOT/not/yet/stdwire/mcp.json lies in the root ROOT"},
		{name: "a home", args: "--servers --root ROOT --write", dir: "AWAY/none",
			env:  map[string]string{"HOME": "ROOT"},
			want: "ROOT/.config/stdwire/mcp.json lies in the root ROOT"},
		{name: "the record of trust", args: "--config AWAY/mcp.json --root ROOT --write",
			env:  map[string]string{"XDG_STATE_HOME": "ROOT"},
			want: "the record of trusted definitions ROOT/stdwire/trust.json lies"},
		{name: "the control socket", args: "--config AWAY/mcp.json --root ROOT --write",
			env:  map[string]string{"XDG_RUNTIME_DIR": "ROOT"},
			want: "the directory of the control socket ROOT/stdwire lies"},
		{name: "what servers had", args: "--config AWAY/mcp.json --root ROOT --write",
			env:  map[string]string{"XDG_CACHE_HOME": "ROOT"},
			want: "stdwire's data ROOT/stdwire/servers lies"},
		{name: "the secret of hooks", args: "--config AWAY/mcp.json --before https://x.example " +
			"--hook-secret-file ROOT/secret --root ROOT --write",
			want: "the secret of hooks ROOT/secret lies"},
		{name: "the audit log",
			args: "--config AWAY/mcp.json --root ROOT --write --audit ROOT/new/audit.jsonl",
			want: "the audit log ROOT/new/audit.jsonl lies"},
		{name: "a hook", args: "--config AWAY/mcp.json --root ROOT --write --before ROOT/hook",
			want: `the hook "ROOT/hook" ROOT/hook lies`},
		{name: "what a hook is given",
			args: "--config AWAY/mcp.json --root ROOT --write --after sh\\ ROOT/policy",
			want: `the hook "sh" ROOT/policy lies`},
		{name: "a directory of programs",
			args: "--config AWAY/mcp.json --root ROOT --write --before some-hook",
			env:  map[string]string{"PATH": "ROOT/bin:/usr/bin:/bin"},
			want: `the hook "some-hook" is looked for in ROOT/bin lies`},
		{name: "a project's file", args: "--servers --root ROOT --write",
			links: map[string]string{"ROOT/.mcp.json": "AWAY/mcp.json"},
			want:  "the configuration ROOT/mcp.json lies"},
		{name: "a project without one", dir: "ROOT/sub2",
			args: "--servers --root ROOT/sub2 --write"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runtime := ownRuntime(t)
			root, err := filepath.EvalSymlinks(t.TempDir())
			assert.NilError(t, err)
			away, err := filepath.EvalSymlinks(t.TempDir())
			assert.NilError(t, err)
			there := strings.NewReplacer("ROOT", root, "AWAY", away).Replace
			for _, dir := range []string{"ROOT/sub", "ROOT/sub2", "ROOT/bin", "AWAY/none"} {
				assert.NilError(t, os.Mkdir(there(dir), 0o700))
			}
			for _, file := range []string{"ROOT/mcp.json", "ROOT/sub/mcp.json", "AWAY/mcp.json"} {
				assert.NilError(t, os.WriteFile(there(file), []byte(`{"mcpServers": {}}`), 0o600))
			}
			for _, file := range []string{"ROOT/hook", "ROOT/policy"} {
				assert.NilError(t, os.WriteFile(there(file), []byte("#!/bin/sh\n"), 0o700))
			}
			for link, target := range tt.links {
				assert.NilError(t, os.Symlink(there(target), there(link)))
			}
			t.Setenv("XDG_RUNTIME_DIR", runtime)
			for name, value := range tt.env {
				t.Setenv(name, there(value))
			}
			t.Chdir(there(gocmp.Or(tt.dir, "ROOT")))
			var args []string
			for _, arg := range strings.Split(tt.args, " ") {
				if n := len(args); n > 0 && strings.HasSuffix(args[n-1], `\`) {
					args[n-1] = strings.TrimSuffix(args[n-1], `\`) + " " + there(arg)
					continue
				}
				args = append(args, there(arg))
			}
			if tt.want == "" {
				got := run(t, append([]string{"tools", "--", self, "serve"}, args...)...)
				assert.Equal(t, got.code, 0, got.stderr)
				return
			}
			got := run(t, append([]string{"serve"}, args...)...)
			assert.Equal(t, got.code, 2, got.stderr)
			assert.Assert(t, cmp.Contains(got.stderr, there(tt.want)))
			assert.Assert(t,
				cmp.Contains(got.stderr,
					"hint: move it elsewhere, serve a directory that it is not in, or leave out --write"))
		})
	}
}

// A server whose program clients could change is not offered; one whose data they could change is.
func TestWritablePrograms(t *testing.T) {
	ownRuntime(t)
	self, err := os.Executable()
	assert.NilError(t, err)
	root, err := filepath.EvalSymlinks(t.TempDir())
	assert.NilError(t, err)
	for name, mode := range map[string]os.FileMode{"server.py": 0o600, "server": 0o700,
		"data.db": 0o600, ".env": 0o600} {
		assert.NilError(t, os.WriteFile(filepath.Join(root, name), nil, mode))
	}
	text, err := json.Marshal(obj{"mcpServers": obj{
		"data": obj{"command": "sh",
			"args": []string{"-c", `exec "$1" fixture:good`, filepath.Join(root, "data.db"), self}},
		"script": obj{"command": "sh", "args": []string{filepath.Join(root, "server.py")}},
		"near":   obj{"command": "sh", "args": []string{"server.py"}, "cwd": root},
		"binary": obj{"command": filepath.Join(root, "server")},
		"given":  obj{"command": "env", "args": []string{filepath.Join(root, "server")}},
		"file": obj{"command": self, "args": []string{"fixture:good"},
			"envFile": filepath.Join(root, ".env")},
	}})
	assert.NilError(t, err)
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t, os.WriteFile(path, text, 0o600))
	g := servingHTTP(t, "--config", path, "--no-auth", "--root", root, "--write")
	_, servers := statuses(t, g.pid)
	assert.Equal(t, len(servers), 1)
	assert.Equal(t, servers["data"].Server, "data")
	g = servingHTTP(t, "--config", path, "--no-auth", "--root", root)
	_, servers = statuses(t, g.pid)
	assert.Equal(t, len(servers), 6)
}
