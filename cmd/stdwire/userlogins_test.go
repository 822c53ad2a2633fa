//go:build unix

package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	streamableclient "github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// A gateway answers the first call of a user with a link to its own page, whose URL is the one that
// browsers reach, and says at the start how long logins are kept.
func TestServeUserLogins(t *testing.T) {
	ownRuntime(t)
	t.Setenv("LOGINS", strings.Repeat("k", 32))
	tokens := filepath.Join(t.TempDir(), "tokens.json")
	added := run(t, "auth", "token", "add", "ada", "--file", tokens)
	assert.Equal(t, added.code, 0, added.stderr)
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "who", Summary: "Says who calls.", Type: dispatch.Read},
		func(context.Context, struct{}) (string, error) { return "nobody", nil })
	upstream := httptest.NewServer(streamable.Options{}.New(
		server.New(server.Info{Name: "up", Version: "1"}, c)))
	t.Cleanup(upstream.Close)
	servers := obj{"up": obj{"url": upstream.URL, "credentials": obj{"type": "oauth"}}}
	for _, tt := range []struct {
		flags []string
		says  string // "": nothing of logins
		base  string // "": the address
	}{
		{nil, "kept in memory", ""},
		{[]string{"--credentials-key-env", "LOGINS", "--public-url", "https://gw.example/x"}, "",
			"https://gw.example/x"},
	} {
		s := serving(t, servers, append(tt.flags, "--tokens", tokens)...)
		address := regexp.MustCompile(`http://[^ ,]+/mcp`).FindString(s.serving)
		if tt.says != "" {
			s.says(tt.says)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		one, err := client.Options{Era: mcp.Modern}.Connect(ctx, streamableclient.Options{
			Header: http.Header{"Authorization": {
				"Bearer " + strings.TrimSpace(added.stdout)}}}.Dial(address))
		assert.NilError(t, err)
		result, err := one.CallTool(ctx, "up__who", nil)
		assert.NilError(t, err)
		assert.Check(t, result.IsError)
		text := result.Content[0].(*mcp.TextContent).Text
		assert.NilError(t, one.Close())
		local := strings.TrimSuffix(address, "/mcp")
		base := tt.base
		if base == "" {
			base = local
		}
		link := regexp.MustCompile(regexp.QuoteMeta(base) + `/oauth/start/\w+`).FindString(text)
		assert.Assert(t, link != "", text)
		for host, want := range map[string]string{"": "<td>token#ada</td>",
			"evil.example": "host is not allowed"} {
			r, err := http.NewRequest(http.MethodGet, local+strings.TrimPrefix(link, base), nil)
			assert.NilError(t, err)
			r.Host = host
			resp, err := http.DefaultClient.Do(r)
			assert.NilError(t, err)
			page, err := io.ReadAll(resp.Body)
			assert.NilError(t, err)
			assert.NilError(t, resp.Body.Close())
			assert.Check(t, cmp.Contains(string(page), want))
		}
	}
}

// A user who has not logged in to a server sees a tool with which he does, at a profile too. Once
// he has, his clients are told that he has the tools of the server. A server that refuses him lets
// him log in again.
func TestServeLoginTool(t *testing.T) {
	ownRuntime(t)
	tokens := filepath.Join(t.TempDir(), "tokens.json")
	bearer := map[string]http.Header{}
	for _, user := range []string{"ada", "bob"} {
		added := run(t, "auth", "token", "add", user, "--file", tokens)
		assert.Equal(t, added.code, 0, added.stderr)
		bearer[user] = http.Header{"Authorization": {"Bearer " + strings.TrimSpace(added.stdout)}}
	}
	up := newGuarded(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	text, err := json.Marshal(obj{"mcpServers": obj{"up": obj{"url": up.url,
		"credentials": obj{"type": "oauth"}}}, "profiles": obj{"p": []string{"up"}}})
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(path, text, 0o600))
	asked := filepath.Join(t.TempDir(), "asked") // with a link
	s := servingFile(t, path, "--tokens", tokens, "--after",
		"sh -c 'if grep -q oauth/start; then touch "+asked+"; fi'")
	address := regexp.MustCompile(`http://[^ ,]+/mcp`).FindString(s.serving)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	connect := func(era mcp.Era, user, path string, o client.Options) *client.Client {
		o.Era = era
		c, err := o.Connect(ctx, streamableclient.Options{Header: bearer[user]}.Dial(address+path))
		assert.NilError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	tools := func(c *client.Client) string {
		var names []string
		for tool, err := range c.Tools(ctx) {
			assert.NilError(t, err)
			names = append(names, tool.Name)
		}
		return strings.Join(names, " ")
	}
	logIn := func(link string) { logInAt(t, link) }
	linkIn := func(result *mcp.CallToolResult, err error) string {
		t.Helper()
		assert.NilError(t, err)
		text := result.Content[0].(*mcp.TextContent).Text
		assert.Check(t, result.IsError, text)
		link := regexp.MustCompile(`http://\S+/oauth/start/\w+`).FindString(text)
		assert.Assert(t, link != "", text)
		return link
	}
	for _, era := range []mcp.Era{mcp.Modern, mcp.Legacy} {
		for _, path := range []string{"", "/p"} {
			changed := make(chan struct{}, 100)
			ada := connect(era, "ada", path, client.Options{OnListChanged: func(kind mcp.Kind) {
				if kind == mcp.KindTool {
					changed <- struct{}{}
				}
			}})
			assert.Check(t, cmp.Contains(tools(ada), "up__login"))
			if era == mcp.Modern && path == "" { // later her connection still lists it
				assert.Check(t, !strings.Contains(tools(ada), "up__echo"))
			}
			link := linkIn(ada.CallTool(ctx, "up__login", nil))
			assert.Equal(t, linkIn(ada.CallTool(ctx, "up__unlisted", nil)), link)
			logIn(link)
			for !strings.Contains(tools(ada), "up__echo") {
				select {
				case <-changed:
				case <-ctx.Done():
					t.Fatal("he is not told of his tools")
				}
			}
			assert.Check(t, !strings.Contains(tools(ada), "up__login"))
			_, err := ada.CallTool(ctx, "up__unlisted", nil)
			assert.Check(t, cmp.ErrorContains(err, "Unknown tool: up__unlisted"))

			up.mu.Lock() // the server knows no token any more
			up.good, up.refresh = nil, ""
			up.mu.Unlock()
			linkIn(ada.CallTool(ctx, "up__echo", obj{"text": "x"}))
			_, err = os.Stat(asked)
			assert.ErrorIs(t, err, os.ErrNotExist, "a hook does not see the link")
			assert.Check(t, cmp.Contains(tools(ada), "up__login"))

			asked := 0
			bob := connect(era, "bob", path, client.Options{ElicitModes: []string{mcp.ElicitURL},
				OnElicit: func(_ context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
					asked++
					logIn(p.URL)
					return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
				}})
			assert.Check(t, cmp.Contains(tools(bob), "up__login"))
			assert.Equal(t, asked, 0, "a list asks nobody")
			result, err := bob.CallTool(ctx, "up__login", nil)
			assert.NilError(t, err)
			assert.Check(t, !result.IsError)
			assert.Equal(t, asked, 1)
			assert.Check(t, cmp.Contains(tools(bob), "up__echo"))
			up.mu.Lock()
			up.good, up.refresh = nil, ""
			up.mu.Unlock()
			_, err = bob.CallTool(ctx, "up__echo", obj{"text": "x"})
			assert.NilError(t, err)
			assert.Equal(t, asked, 2)
			up.mu.Lock()
			up.good, up.refresh = nil, ""
			up.mu.Unlock()
			_, err = connect(era, "bob", path, client.Options{}).CallTool(ctx, "up__echo", obj{"text": "x"})
			assert.NilError(t, err)
		}
	}

	// the page of the operator has the logins, without tokens, and revokes them
	ada := connect(mcp.Modern, "ada", "", client.Options{})
	logIn(linkIn(ada.CallTool(ctx, "up__login", nil)))
	page := openWebPage(t, "--gateway")
	of := func(user string) (state string) {
		answer := page.send("GET", "/api/gateway", nil)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		assert.NilError(t, err)
		up.mu.Lock()
		for _, secret := range append(up.good, up.refresh) {
			assert.Check(t, secret == "" || !strings.Contains(string(text), secret))
		}
		up.mu.Unlock()
		var about struct {
			Logins []struct{ User, Server, State string }
		}
		assert.NilError(t, json.Unmarshal(text, &about))
		for _, l := range about.Logins {
			if l.User == "token#"+user && l.Server == "up" {
				return l.State
			}
		}
		return ""
	}
	page.until(func() bool { return of("ada") == "valid" })
	revoke := func(user string) (status int) {
		return page.do("POST", "/api/gateway/revoke", obj{"user": "token#" + user, "server": "up"},
			nil)
	}
	assert.Check(t, revoke("eve") != http.StatusOK)
	assert.Equal(t, of("ada"), "valid")
	assert.Equal(t, revoke("ada"), http.StatusOK)
	assert.Equal(t, of("ada"), "")
	up.mu.Lock()
	assert.Check(t, up.refresh == "", "the authorization server was not asked to revoke it")
	up.mu.Unlock()
	linkIn(ada.CallTool(ctx, "up__echo", obj{"text": "x"}))
}

// logInAt logs a user in to the server up by a link.
func logInAt(t *testing.T, link string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	assert.Check(t, err)
	browser := http.Client{Jar: jar}
	read := func(resp *http.Response, err error) string {
		if !assert.Check(t, err) {
			return ""
		}
		defer resp.Body.Close()
		page, err := io.ReadAll(resp.Body)
		assert.Check(t, err)
		return string(page)
	}
	found := regexp.MustCompile(`name="token" value="([0-9a-f]+)"`).FindStringSubmatch(
		read(browser.Get(link)))
	if assert.Check(t, len(found) == 2) {
		assert.Check(t, cmp.Contains(read(browser.PostForm(link, url.Values{
			"token": {found[1]}, "answer": {"yes"}})), "You have logged in to up"))
	}
}

// Who has logged in at one gateway has at all that share a store, and the operator sees and revokes
// it there.
func TestServeSharedLogins(t *testing.T) {
	ownRuntime(t)
	server := redistest.Start(t)
	t.Setenv("STATE_KEY", strings.Repeat("k", 32))
	shared := []string{"--store", "unix://" + server.Options.Address, "--state-key-env", "STATE_KEY"}
	tokens := filepath.Join(t.TempDir(), "tokens.json")
	added := run(t, "auth", "token", "add", "ada", "--file", tokens)
	assert.Equal(t, added.code, 0, added.stderr)
	up := newGuarded(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	call := func(c *client.Client) string {
		result, err := c.CallTool(ctx, "up__echo", obj{"text": "hello"})
		assert.NilError(t, err)
		return result.Content[0].(*mcp.TextContent).Text
	}
	var clients [2]*client.Client
	for i := range clients {
		s := serving(t, obj{"up": obj{"url": up.url, "credentials": obj{"type": "oauth"}}},
			append([]string{"--tokens", tokens}, shared...)...)
		address := regexp.MustCompile(`http://[^ ,]+/mcp`).FindString(s.serving)
		c, err := client.Options{Era: mcp.Modern}.Connect(ctx, streamableclient.Options{
			Header: http.Header{"Authorization": {
				"Bearer " + strings.TrimSpace(added.stdout)}}}.Dial(address))
		assert.NilError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		clients[i] = c
	}
	tools := func() (names string) {
		for tool, err := range clients[1].Tools(ctx) {
			assert.NilError(t, err)
			names += " " + tool.Name
		}
		return names
	}
	assert.Check(t, cmp.Contains(tools(), "up__login"))
	link := regexp.MustCompile(`http://\S+/oauth/start/\w+`)
	logInAt(t, link.FindString(call(clients[0])))
	waitFor(t, func() string {
		if names := tools(); !strings.Contains(names, "up__echo") {
			return "the other gateway does not know that he has logged in:" + names
		}
		return ""
	})
	for _, c := range clients {
		assert.Check(t, cmp.Contains(call(c), "hello"))
	}
	listed := run(t, append([]string{"auth", "users"}, shared...)...)
	assert.Equal(t, listed.code, 0, listed.stderr)
	assert.Check(t, cmp.Contains(listed.stdout, "token#ada"))
	revoked := run(t, append([]string{"auth", "revoke", "token#ada"}, shared...)...)
	assert.Equal(t, revoked.code, 0, revoked.stderr)
	for _, c := range clients {
		text := call(c)
		assert.Check(t, link.MatchString(text), text)
	}
	listed = run(t, append([]string{"auth", "users"}, shared...)...)
	assert.Check(t, cmp.Contains(listed.stderr, "no user has logged in"))
	for args, want := range map[string]string{
		"auth users --state-key-env STATE_KEY":                                        "--state-key-env is for a store",
		"auth users --store redis://x":                                                "--store needs the secret",
		"auth users --credentials-file x --state-key-env STATE_KEY --store redis://x": "excludes it",
	} {
		got := run(t, strings.Fields(args)...)
		assert.Equal(t, got.code, 2)
		assert.Check(t, cmp.Contains(got.stderr, want))
	}
}

func TestServeLoginFlags(t *testing.T) {
	ownRuntime(t)
	got := run(t, "serve", "--servers", "--http", "127.0.0.1:0", "--credentials-key-env", "NONE")
	assert.Equal(t, got.code, 2)
	assert.Check(t, cmp.Contains(got.stderr, "NONE has fewer than 32 bytes"))
	got = run(t, "serve", "--servers", "--http", "127.0.0.1:0", "--public-url", "http://gw.example")
	assert.Equal(t, got.code, 2)
	assert.Check(t, cmp.Contains(got.stderr, "want an https: URL"))
}
