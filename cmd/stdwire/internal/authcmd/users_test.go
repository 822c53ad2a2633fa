package authcmd_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// Logins are listed without the key, and deleted; what is sealed is shown nowhere.
func TestUsers(t *testing.T) {
	commandtest.Project(t, nil)
	t.Setenv("OTHER_KEY", strings.Repeat("x", 32))
	run := func(args ...string) commandtest.Ran {
		t.Helper()
		return commandtest.Run(t, commands, append([]string{"auth"}, args...)...)
	}
	got := run("users")
	assert.Equal(t, got.Code, 0)
	assert.Equal(t, got.Stderr, "no user has logged in to a server\n")
	write := func() {
		t.Helper()
		assert.NilError(t, os.WriteFile("users.json", []byte(`{"logins":[
			{"user":"i#ada","client":"app","server":"up","url":"https://up.example","issuer":"i",
				"resource":"r","scopes":["a","b"],"renewable":true,"saved":"2026-01-01T00:00:00Z",
				"expires":"2026-01-02T00:00:00Z","until":"2999-01-01T00:00:00Z",
				"key":"0123456789ab","sealed":"aGlkZGVu"},
			{"user":"i#ada","server":"down","url":"https://down.example","issuer":"i",
				"resource":"r","saved":"2026-01-01T00:00:00Z","until":"2026-01-02T00:00:00Z",
				"key":"0123456789ab","sealed":"aGlkZGVu"},
			{"user":"i#bob","server":"up","url":"https://up.example","issuer":"i",
				"resource":"r","saved":"2026-01-01T00:00:00Z","until":"2999-01-01T00:00:00Z",
				"key":"0123456789ab","sealed":"aGlkZGVu"}]}`), 0o600))
	}
	write()
	file := "--credentials-file=users.json"
	got = run("users", file)
	assert.Equal(t, got.Code, 0, got.Stderr)
	lines := strings.Split(got.Stdout, "\n")
	assert.Equal(t, len(lines), 4)
	for i, want := range []string{"expired i#ada down", "renewable i#ada app up",
		"valid i#bob up"} {
		assert.Check(t, cmp.Equal(strings.HasPrefix(strings.Join(strings.Fields(lines[i]), " "),
			want), true), lines[i])
	}
	got = run("users", "-o", "json", file)
	assert.Check(t, !strings.Contains(got.Stdout, "sealed") && !strings.Contains(got.Stdout, "aGlk"))
	var all []map[string]any
	assert.NilError(t, json.Unmarshal([]byte(got.Stdout), &all))
	assert.DeepEqual(t, all[1]["scopes"], []any{"a", "b"})
	assert.Equal(t, all[1]["state"], "renewable")

	for args, want := range map[string]string{"": "which user?", "i#eve": `"i#eve" has no login`,
		"i#adb":                             "did you mean i#ada?",
		"i#ada uq":                          "did you mean up?",
		"i#ada --credentials-key-env NONE":  "NONE has fewer than 32 bytes",
		"i#ada --credentials-key-file none": "--credentials-key-file: ",
		"i#ada --credentials-key-env OTHER_KEY": "--credentials-key-env: users.json has logins " +
			"that are sealed with another key",
		"i#ada --credentials-key-env A --credentials-key-file b": "exclude each other",
	} {
		got = run(append([]string{"revoke", file}, strings.Fields(args)...)...)
		assert.Check(t, got.Code != 0, args)
		assert.Check(t, cmp.Contains(got.Stderr, want))
	}
	got = run("revoke", "i#ada", "up", file)
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Check(t, cmp.Contains(got.Stderr, "without the key of the file"))
	assert.Check(t, cmp.Contains(got.Stderr, "revoked the login of i#ada at up"))
	got = run("users", file)
	assert.Equal(t, strings.Count(got.Stdout, "\n"), 2)
	got = run("revoke", "i#ada", file)
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Equal(t, strings.Count(run("users", file).Stdout, "\n"), 1)
}
