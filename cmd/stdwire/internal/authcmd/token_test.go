package authcmd_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
	"github.com/stdwire/stdwire/internal/atomicfile"
)

// A token is printed once, on stdout alone; what lists it prints neither it nor its digest.
func TestTokens(t *testing.T) {
	commandtest.Project(t, nil)
	home, err := os.UserHomeDir()
	assert.NilError(t, err)
	run := func(args ...string) commandtest.Ran {
		t.Helper()
		return commandtest.Run(t, commands, append([]string{"auth", "token"}, args...)...)
	}
	got := run("list")
	assert.Equal(t, got.Code, 0)
	assert.Assert(t, strings.HasPrefix(got.Stderr, "there are no tokens in "), got.Stderr)
	got = run("add", "ci", "--expires", "2999-01-31", "--scope", "read write", "--scope", "admin",
		"--group", "a b", "--claim", `team="qa"`, "--claim", "n=[1]")
	assert.Equal(t, got.Code, 0, got.Stderr)
	secret := strings.TrimSuffix(got.Stdout, "\n")
	assert.Assert(t, regexp.MustCompile(`^stdwire_[0-9a-f]{64}$`).MatchString(secret), got.Stdout)
	assert.Assert(t, !strings.Contains(got.Stderr, secret))
	assert.Assert(t, strings.Contains(got.Stderr, "serve --http ADDR --tokens "+home), got.Stderr)
	assert.Equal(t, run("add", "ada").Code, 0)
	file := filepath.Join("one", "tokens")
	assert.NilError(t, os.Mkdir("one", 0o700))
	assert.Equal(t, run("add", "bob", "--file", file, "--expires", "90d").Code, 0)

	sum := sha256.Sum256([]byte(secret))
	text, asJSON := run("list"), run("list", "-o", "json")
	for _, listed := range []commandtest.Ran{text, asJSON} {
		assert.Equal(t, listed.Code, 0)
		for _, hidden := range []string{secret, secret[8:], hex.EncodeToString(sum[:])} {
			assert.Assert(t, !strings.Contains(listed.Stdout+listed.Stderr, hidden))
		}
	}
	assert.Assert(t, strings.Contains(text.Stdout, "valid  ci "), text.Stdout)
	var all []map[string]any
	assert.NilError(t, json.Unmarshal([]byte(asJSON.Stdout), &all))
	assert.Equal(t, len(all), 2)
	delete(all[0], "created")
	delete(all[0], "expires")
	assert.DeepEqual(t, all[0], map[string]any{"name": "ci", "state": "valid",
		"scopes": []any{"read", "write", "admin"}, "groups": []any{"a b"},
		"claims": map[string]any{"team": "qa", "n": []any{1.0}}})

	got = run("revoke", "ci")
	assert.Equal(t, got.Code, 0)
	assert.Equal(t, got.Stderr, "revoked the token of ci\n")
	assert.Assert(t, !strings.Contains(run("list").Stdout, "ci"))
	assert.Assert(t, strings.Contains(run("list", "--file", file).Stdout, "bob"))
	assert.NilError(t, os.WriteFile(file, []byte(`{"tokens":[{"name":"old","expires":"2001-01-01T00:00:00Z","sha256":"`+
		strings.Repeat("0", 64)+`"}]}`), 0o600))
	assert.Assert(t, strings.HasPrefix(run("list", "--file", file).Stdout, "expired  old "))
}

func TestTokensRefused(t *testing.T) {
	commandtest.Project(t, map[string]string{"wrong": `{"tokens":{}}`, "open": `{"tokens":[]}`})
	assert.NilError(t, os.Chmod("open", 0o604))
	assert.Equal(t, commandtest.Run(t, commands, "auth", "token", "add", "ada").Code, 0)
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 2, "which subcommand?\nhint: there are add, list, revoke"},
		{[]string{"ad"}, 2, "did you mean add?"},
		{[]string{"add"}, 2, "which token?"},
		{[]string{"add", "a", "b"}, 2, `unexpected argument "b"`},
		{[]string{"add", "a b"}, 2, `the name "a b" is not`},
		{[]string{"add", "a", "--scope", `"`}, 2, "the scope"},
		{[]string{"add", "a", "--group", ""}, 2, "a group of"},
		{[]string{"add", "a", "--claim", "x"}, 2, "is not NAME=JSON"},
		{[]string{"add", "a", "--claim", "x=y"}, 2, `--claim 'x="text"'`},
		{[]string{"add", "a", "--claim", "x=1", "--claim", "x=2"}, 2, `"x" is given twice`},
		{[]string{"add", "a", "--expires", "soon"}, 2, "neither a duration nor a date"},
		{[]string{"add", "a", "--expires", "2001-01-01"}, 2, "is in the past"},
		{[]string{"add", "a", "--expires", "0d"}, 2, "is in the past"},
		{[]string{"add", "a", "--expires", "-1h"}, 2, "is in the past"},
		{[]string{"add", "ada"}, 8, `has a token "ada" already`},
		{[]string{"add", "a", "--file", "wrong"}, 8, "wrong: "},
		{[]string{"add", "a", "--file", filepath.Join("none", "x")}, 8, "none"},
		{[]string{"list", "--file", "wrong"}, 8, "wrong: "},
		{[]string{"list", "--file", "none"}, 8, "none"},
		{[]string{"revoke"}, 2, "which token?"},
		{[]string{"revoke", "adaa"}, 8, "did you mean ada?"},
		{[]string{"revoke", "a", "--file", "open"}, 8, "chmod 600 open"},
	} {
		if strings.Contains(tt.want, "chmod") && !atomicfile.Permissions {
			continue
		}
		got := commandtest.Run(t, commands, append([]string{"auth", "token"}, tt.args...)...)
		assert.Equal(t, got.Code, tt.code, "%q: %s", tt.args, got.Stderr)
		assert.Assert(t, strings.Contains(got.Stderr, tt.want), "%q: %s", tt.args, got.Stderr)
		assert.Equal(t, got.Stdout, "")
	}
}

// A user of an authorization server is refused for a time, and listed so; a token is deleted.
func TestRefusedPrincipals(t *testing.T) {
	commandtest.Project(t, nil)
	run := func(args ...string) commandtest.Ran {
		t.Helper()
		return commandtest.Run(t, commands, append([]string{"auth", "token"}, args...)...)
	}
	got := run("revoke", "https://as.example#ada", "--for", "2h")
	assert.Equal(t, got.Code, 0, got.Stderr)
	assert.Assert(t, strings.Contains(got.Stderr, " refuses https://as.example#ada until "),
		got.Stderr)
	assert.Equal(t, run("revoke", "https://as.example#bob").Code, 0)
	assert.Equal(t, run("add", "ci").Code, 0)
	var all []struct{ Name, State, Expires string }
	got = run("list", "-o", "json")
	assert.NilError(t, json.Unmarshal([]byte(got.Stdout), &all))
	assert.Equal(t, len(all), 3)
	assert.Equal(t, all[0].Name+all[0].State, "civalid")
	assert.Equal(t, all[1].Name+all[1].State, "https://as.example#adarefused")
	assert.Assert(t, all[1].Expires < all[2].Expires, "%v", all)
	for args, want := range map[string]string{
		"revoke ci --for 1h":     "--for is for a principal",
		"revoke as#x --for -1h":  "--for: -1h is in the past",
		"revoke as#x --for soon": "--for: \"soon\" is neither a duration nor a date",
		"revoke token#ci":        `revoke "ci"`,
		"revoke #ci":             "is no principal",
	} {
		got = run(strings.Fields(args)...)
		assert.Assert(t, got.Code != 0 && strings.Contains(got.Stderr, want), got.Stderr)
	}
}
