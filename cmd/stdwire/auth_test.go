package main

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"github.com/stdwire/stdwire/internal/freeport"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// After a login every command is authorized and renews an expired token. A script is never asked.
func TestLogin(t *testing.T) {
	ownHome(t)
	g := newGuarded(t)
	got := run(t, "call", "echo", "text=x", "--url", g.url)
	assert.Equal(t, got.code, 3)
	assert.Equal(t, got.stderr, "stdwire: "+g.host+": start: POST "+g.url+": 401 Unauthorized\n"+
		"hint: log in: stdwire auth login "+g.url+
		"; or, if you have a token, add --token-file FILE\n")
	got = run(t, "auth", "status", g.url)
	assert.Equal(t, got,
		ran{3, "", "stdwire: " + g.host +
			": auth status: there are no valid credentials for it\nhint: log in: stdwire auth login " +
			g.url + "\n"})

	got = loggedIn(t, g.url)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, got.stdout, "")
	assert.Assert(t,
		strings.HasSuffix(got.stderr, "logged in to "+g.host+" at "+g.issuer+", for read\n"),
		got.stderr)
	assert.Equal(t, run(t, "call", "echo", "text=x", "--url", g.url), ran{0, "x\n", ""})
	assert.DeepEqual(t, g.grants, []string{"authorization_code"})

	got = run(t, "auth", "status")
	assert.Equal(t, got.code, 0)
	assert.Assert(t, strings.HasPrefix(got.stdout, "valid  "+g.url+"  "+g.issuer+"  "), got.stdout)
	got = run(t, "auth", "status", g.url, "-o", "json")
	var all []map[string]any
	assert.NilError(t, json.Unmarshal([]byte(got.stdout), &all))
	assert.Equal(t, len(all), 1)
	assert.Assert(t, all[0]["expires"] != "")
	delete(all[0], "expires")
	assert.DeepEqual(t, all[0],
		map[string]any{"server": g.url, "state": "valid", "issuer": g.issuer,
			"scopes": []any{"read"}})
	assert.Assert(t, !strings.Contains(got.stdout, "s3cret"))

	// A token that the server refuses is renewed once; if that fails too, the hint is to log in.
	g.mu.Lock()
	g.good = nil
	g.mu.Unlock()
	assert.Equal(t, run(t, "call", "echo", "text=x", "--url", g.url), ran{0, "x\n", ""})
	assert.DeepEqual(t, g.grants, []string{"authorization_code", "refresh_token"})
	g.mu.Lock()
	g.good, g.refresh = nil, "revoked"
	g.mu.Unlock()
	got = run(t, "tools", "--url", g.url)
	assert.Equal(t, got.code, 3)
	assert.Assert(t, cmp.Contains(got.stderr, "hint: log in: stdwire auth login "+g.url))

	assert.Equal(t, loggedIn(t, g.url).code, 0)
	assert.Equal(t, g.registered, 1)
	g.needs = "files:write"
	got = run(t, "call", "echo", "text=x", "--url", g.url)
	assert.Equal(t, got.code, 3)
	assert.Assert(t,
		strings.HasSuffix(got.stderr, "hint: log in for more: stdwire auth login "+g.url+
			" --scope files:write\n"), got.stderr)
	assert.Equal(t, loggedIn(t, g.url, "--scope", "files:write").code, 0)
	assert.Equal(t, g.scope, "read files:write")
	assert.Equal(t, run(t, "call", "echo", "text=x", "--url", g.url), ran{0, "x\n", ""})

	got = run(t, "auth", "logout", g.url)
	assert.Equal(t, got, ran{0, "", "logged out of " + g.host + "\n"})
	assert.Equal(t, g.refresh, "", "it is taken back")
	assert.Equal(t, run(t, "auth", "logout", g.url).stderr, "there are no credentials for "+g.host+
		"\n")
	assert.Equal(t, run(t, "call", "echo", "text=x", "--url", g.url).code, 3)
	assert.Equal(t, run(t, "auth", "status"),
		ran{0, "", "there are no credentials for any server\n"})
}

// A configured Authorization header is sent, and no token.
func TestAuthorizationHeaderTakesPrecedence(t *testing.T) {
	ownHome(t)
	g := newGuarded(t)
	assert.Equal(t, loggedIn(t, g.url).code, 0)
	got := run(t, "tools", "--url", g.url, "--header", "Authorization: Bearer mine")
	assert.Equal(t, got.code, 3)
	assert.Assert(t,
		cmp.Contains(got.stderr,
			"hint: the server refuses the Authorization header"))
	assert.Equal(t, len(g.grants), 1)

	got = run(t, "tools", "--url", g.url+"?key=hidden")
	assert.Equal(t, got.code, 3, "it is another endpoint")
	assert.Assert(t,
		cmp.Contains(got.stderr, "hint: log in: stdwire auth login URL, with the same URL"))
	assert.Assert(t, !strings.Contains(got.stderr, "hidden"))
}

// A configured client id is used to log in and to connect.
func TestLoginOfConfigured(t *testing.T) {
	ownHome(t)
	g := newGuarded(t)
	g.closed = true
	path := filepath.Join(t.TempDir(), "mcp.json")
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"open": map[string]any{"url": g.url},
		"user": map[string]any{"url": g.url,
			"oauth": map[string]any{"clientId": "me", "scope": "write"}},
		"self": map[string]any{"url": g.url,
			"oauth": map[string]any{"clientId": "me", "clientSecret": "${SECRET}",
				"issuer": g.issuer, "grantType": "client_credentials"}},
		"off": map[string]any{"url": g.url, "oauth": false},
		"token": map[string]any{"url": g.url,
			"headers": map[string]any{"authorization": "Bearer x"}},
		"local": map[string]any{"command": "x"},
	}})
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(path, text, 0o600))
	call := func(id string) ran {
		return run(t, "call", "echo", "text=x", "-s", id, "--config", path)
	}

	got := loggedIn(t, "open", "--config", path)
	assert.Equal(t, got.code, 3)
	assert.Assert(t,
		cmp.Contains(got.stderr,
			`hint: if it knows stdwire by a client id, that belongs into the configuration: "oauth": {"clientId": …}`))
	assert.Assert(t, cmp.Contains(call("user").stderr, "hint: log in: stdwire auth login user;"))
	got = loggedIn(t, "user", "--config", path)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, g.scope, "read write")
	assert.Equal(t, call("user"), ran{0, "x\n", ""})
	assert.Equal(t, call("open").code, 3, "those of another client are not used")
	assert.Equal(t, run(t, "auth", "status", "user", "--config", path).code, 0)

	t.Setenv("SECRET", "wrong")
	got = call("self")
	assert.Equal(t, got.code, 3)
	assert.Assert(t,
		cmp.Contains(got.stderr, `token: `+g.server.URL+`/token: 401 Unauthorized: invalid_client`))
	assert.Assert(t, cmp.Contains(got.stderr, `hint: look at its "oauth" in the configuration`))
	t.Setenv("SECRET", "s3cret")
	assert.Equal(t, call("self"), ran{0, "x\n", ""})

	got = call("off")
	assert.Equal(t, got.code, 3)
	assert.Assert(t,
		cmp.Contains(got.stderr, `hint: the configuration says that the server uses no OAuth`))
	for id, want := range map[string]string{
		"off": "uses no OAuth", "token": "has an Authorization header for it",
		"local": "it has a command and no URL", "nobody": `"nobody"`,
	} {
		for _, word := range []string{"login", "logout", "status"} {
			got := run(t, "auth", word, id, "--config", path)
			assert.Assert(t, got.code == 8 || got.code == 2, got.stderr)
			assert.Assert(t, cmp.Contains(got.stderr, want))
		}
	}
}

// The authorities of "tlsCA" vouch for the authorization server too.
func TestAuthorityOfTheAuthorizationServer(t *testing.T) {
	ownHome(t)
	g := newGuardedAt(t, func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // of the client that does not trust it
		s.StartTLS()
		return s
	})
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	assert.NilError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: g.server.Certificate().Raw}), 0o600))
	oauth := map[string]any{"clientId": "me", "clientSecret": "s3cret", "issuer": g.issuer,
		"grantType": "client_credentials"}
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"known":   map[string]any{"url": g.url, "oauth": oauth, "tlsCA": ca},
		"unknown": map[string]any{"url": g.url, "oauth": oauth},
	}})
	assert.NilError(t, err)
	path := filepath.Join(dir, "mcp.json")
	assert.NilError(t, os.WriteFile(path, text, 0o600))
	got := run(t, "call", "echo", "text=x", "-s", "known", "--config", path)
	assert.Equal(t, got, ran{0, "x\n", ""})
	assert.DeepEqual(t, g.grants, []string{"client_credentials"})
	got = run(t, "call", "echo", "text=x", "-s", "unknown", "--config", path)
	assert.Equal(t, got.code, 4)
	assert.Assert(t, cmp.Contains(got.stderr, "certificate"))
}

// A client secret is sent only to the issuer that the configuration names, not to the one that the
// MCP server names. Without an issuer it is sent nowhere, and config check says what to add.
func TestSecretGoesToItsIssuerOnly(t *testing.T) {
	ownHome(t)
	g, other := newGuarded(t), newGuarded(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	secret := `"clientId": "me", "clientSecret": "s3cret", "grantType": "client_credentials"`
	assert.NilError(t, os.WriteFile(path, fmt.Appendf(nil, `{"mcpServers": {
  "none":  {"url": %q, "oauth": {%s}},
  "other": {"url": %q, "oauth": {%s, "issuer": %q}}
}}`, g.url, secret, g.url, secret, other.issuer), 0o600))
	got := run(t, "call", "echo", "text=x", "-s", "other", "--config", path)
	assert.Equal(t, got.code, 3, "the server does not accept the tokens of the other one")
	assert.Assert(t, len(other.grants) > 0 && other.grants[0] == "client_credentials")
	got = run(t, "call", "echo", "text=x", "-s", "none", "--config", path)
	assert.Equal(t, got.code, 8, got.stderr)
	assert.Equal(t, len(g.grants), 0)

	got = run(t, "config", "check", "--config", path)
	assert.Equal(t, got.code, 8)
	assert.Assert(t,
		cmp.Contains(got.stdout+got.stderr, "error: "+path+
			fmt.Sprintf(`:2:%d: server "none": oauth has a clientSecret but no issuer that may receive it: add "issuer"`,
				len(`  "none":  {"url": , "oauth": {`)+len(g.url)+2)))
}

// An authorization server whose metadata has another issuer than the server names is refused, with
// a hint, until the configuration names that issuer.
func TestTrustedIssuer(t *testing.T) {
	ownHome(t)
	g := newGuarded(t)
	g.named = g.issuer + "/"
	path := filepath.Join(t.TempDir(), "mcp.json")
	write := func(oauth string) {
		assert.NilError(t, os.WriteFile(path,
			fmt.Appendf(nil, `{"mcpServers": {"far": {"url": %q%s}}}`, g.url, oauth), 0o600))
	}
	write("")
	got := loggedIn(t, "far", "--config", path)
	assert.Equal(t, got.code, 3)
	assert.Assert(t, cmp.Contains(got.stderr, "issuer "+g.issuer+", want "+g.named))
	assert.Assert(t, cmp.Contains(got.stderr, `hint: if you trust that issuer, name it in the `+
		`server's definition: "oauth": {"issuer": …}`))
	write(fmt.Sprintf(`, "oauth": {"issuer": %q}`, g.issuer))
	assert.Equal(t, loggedIn(t, "far", "--config", path).code, 0)
	assert.Equal(t, run(t, "call", "echo", "text=x", "-s", "far", "--config", path),
		ran{0, "x\n", ""})
}

// A gateway uses stored credentials, including those of a later login.
func TestGatewayUsesCredentials(t *testing.T) {
	ownHome(t)
	g := newGuarded(t)
	self, err := os.Executable()
	assert.NilError(t, err)
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.NilError(t,
		os.WriteFile(path, fmt.Appendf(nil, `{"mcpServers": {"far": {"url": %q}}}`, g.url), 0o600))
	behind := func(args ...string) ran {
		return run(t, append(args, "--", self, "serve", "--config", path)...)
	}
	got := behind("call", "host_status", "-o", "raw")
	assert.Assert(t, cmp.Contains(got.stdout, "401 Unauthorized (log in: stdwire auth login far)"))
	assert.Equal(t, loggedIn(t, "far", "--config", path).code, 0)
	got = behind("call", "far__echo", "text=x")
	assert.Equal(t, got, ran{0, "x\n", ""})
}

// An error of the authorization server, or a refusal, is reported and ends the login at once.
func TestLoginFails(t *testing.T) {
	ownHome(t)
	g := newGuarded(t)
	assert.Equal(t, loggedIn(t, g.url).code, 0)
	g.refuses = "access_denied"
	assert.Equal(t, run(t, "auth", "logout", g.url),
		ran{0, "", "warning: the authorization server did not revoke them: token revocation: " +
			g.server.URL + "/revoke: 503 Service Unavailable\n" +
			"logged out of " + g.host + "\n"})
	got := loggedIn(t, g.url)
	assert.Equal(t, got.code, 3)
	assert.Assert(t,
		strings.HasSuffix(got.stderr, "stdwire: "+g.host+": auth login: authorization: "+
			g.server.URL+"/authorize: access_denied\n"), got.stderr)

	got = run(t, "auth", "login", g.url, "--timeout", "10ms")
	assert.Equal(t, got.code, 3)
	assert.Assert(t, cmp.Contains(got.stderr, "the user did not respond within 10ms"))

	ctx, cancel := context.WithCancelCause(t.Context())
	c := termtest.Capture(false)
	r, w := io.Pipe()
	c.Err.W = w
	go func() {
		_, _ = bufio.NewReader(r).ReadString('\n')
		cancel(command.SignalError{Signal: os.Interrupt})
		_, _ = io.Copy(io.Discard, r)
	}()
	assert.Equal(t, execute(ctx, []string{"auth", "login", g.url}, c.Streams), 130)

	none, err := freeport.Address()
	assert.NilError(t, err)
	got = run(t, "auth", "login", "http://"+none)
	assert.Equal(t, got.code, 4)
	assert.Assert(t, cmp.Contains(got.stderr, "refused")) // the rest differs by system
	assert.Equal(t, run(t, "auth", "status"),
		ran{0, "", "there are no credentials for any server\n"})
}

// Without a writable store the login fails.
func TestLoginWithoutStore(t *testing.T) {
	ownHome(t)
	file := filepath.Join(t.TempDir(), "file")
	assert.NilError(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("XDG_STATE_HOME", file)
	g := newGuarded(t)
	got := loggedIn(t, g.url)
	assert.Equal(t, got.code, 8, got.stderr)
	assert.Assert(t,
		cmp.Contains(got.stderr,
			"auth login: the credentials could not be stored for other commands: "))
	assert.Assert(t, !strings.Contains(got.stderr, "logged in"))
}

// Unreadable credentials are reported and not used.
func TestDamagedCredentials(t *testing.T) {
	ownHome(t)
	g := newGuarded(t)
	assert.Equal(t, loggedIn(t, g.url).code, 0)
	store, err := target.OpenCredentials()
	assert.NilError(t, err)
	files, err := filepath.Glob(filepath.Join(store.Dir, "*.json"))
	assert.NilError(t, err)
	assert.Equal(t, len(files), 1)
	assert.NilError(t, os.WriteFile(files[0], []byte(`{"access_token":"s3cret`), 0o600))
	got := run(t, "auth", "status", g.url)
	assert.Equal(t, got.code, 3)
	assert.Assert(t,
		strings.HasPrefix(got.stderr, "warning: "+files[0]+": damaged: log in again\n"), got.stderr)
	assert.Equal(t, run(t, "tools", "--url", g.url).code, 3)
	assert.Equal(t, loggedIn(t, g.url).code, 0)
	assert.Equal(t, run(t, "call", "echo", "text=x", "--url", g.url), ran{0, "x\n", ""})
}
