//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// Over the HTTP API each user has the operations of his own process, as far as the rules permit
// them to him, and another user's neither in what it lists nor by name.
func TestServeUsersOverAPI(t *testing.T) {
	ownRuntime(t)
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens.json")
	token := map[string]string{}
	for _, user := range []string{"ada", "bob", "eve"} {
		assert.NilError(t, os.Mkdir(filepath.Join(dir, user), 0o700))
		assert.NilError(t, os.WriteFile(filepath.Join(dir, user, "mine"), []byte("of "+user), 0o600))
		added := run(t, "auth", "token", "add", user, "--file", tokens)
		assert.Equal(t, added.code, 0, added.stderr)
		token[user] = strings.TrimSpace(added.stdout)
	}
	self, err := os.Executable()
	assert.NilError(t, err)
	text, err := json.Marshal(obj{
		"mcpServers": obj{"notes": obj{"command": "sh", "args": []string{"-c",
			`case $CALLER in ada) more=--write;; esac; exec "$0" serve --root "$DIR/$CALLER" $more`,
			self}, "env": obj{"DIR": dir},
			"credentials": obj{"type": "env", "env": obj{"CALLER": "subject"}}}},
		"policy": obj{"rules": []obj{
			{"effect": "allow", "who": obj{"subject": []string{"ada", "bob"}},
				"what": obj{"server": "notes", "kind": "read"}},
			{"effect": "allow", "who": obj{"subject": []string{"ada", "bob"}},
				"what":      obj{"server": "notes", "tool": "fs_write"},
				"arguments": obj{"/path": obj{"prefix": "free"}}}}}})
	assert.NilError(t, err)
	config := filepath.Join(dir, "mcp.json")
	assert.NilError(t, os.WriteFile(config, text, 0o600))
	s := servingFile(t, config, "--tokens", tokens)
	p := &protected{t: t, address: strings.TrimSuffix(
		regexp.MustCompile(`http://[^ ,]+/mcp`).FindString(s.serving), "/mcp")}
	for _, file := range []string{"free1", "free2"} { // then what others have is known
		for _, tt := range []struct {
			user          string
			reads, writes bool
		}{{"ada", true, true}, {"bob", true, false}, {"eve", false, false}} {
			for _, path := range []string{"/v1/manifest", "/v1/openapi.json"} {
				_, listed := p.ask("GET", path, "", token[tt.user], "")
				assert.Equal(t, strings.Contains(listed, "fs_read"), tt.reads, "%s %s", tt.user, path)
				assert.Equal(t, strings.Contains(listed, "fs_write"), tt.writes, "%s %s", tt.user, path)
			}
			status, text := p.api(token[tt.user], "notes", "fs_read", `{"path":"mine"}`)
			if tt.reads {
				assert.Equal(t, status, 200, text)
				assert.Check(t, cmp.Contains(text, "of "+tt.user))
			} else {
				assert.Equal(t, status, 404, text)
			}
			for path, want := range map[string]int{file: 200, "other": 403} {
				if !tt.writes {
					want = 404
				}
				status, text = p.api(token[tt.user], "notes", "fs_write",
					`{"path":"`+path+`","content":"x"}`)
				assert.Equal(t, status, want, "%s %s: %s", tt.user, path, text)
				if want == 403 {
					assert.Check(t, cmp.Contains(text, "its argument /path"))
				}
			}
		}
		status, _ := p.api("", "notes", "fs_read", `{"path":"mine"}`)
		assert.Equal(t, status, 401)
	}
}
