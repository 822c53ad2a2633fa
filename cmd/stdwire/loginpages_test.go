//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// At a terminal the browser is started.
func TestLoginInTheBrowser(t *testing.T) {
	ownHome(t)
	g := newGuarded(t)
	self, err := os.Executable()
	assert.NilError(t, err)
	dir := t.TempDir()
	assert.NilError(t,
		os.WriteFile(filepath.Join(dir, "xdg-open"),
			fmt.Appendf(nil, "#!/bin/sh\nexec %s fixture:browser \"$1\"\n", self), 0o700))
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	t.Setenv("WAYLAND_DISPLAY", "wayland-0")
	got := runWith(t.Context(), termtest.Capture(true), "auth", "login", g.url)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, "To log in, open this page of "+g.host+":\n"))
	assert.Assert(t,
		strings.HasSuffix(got.stderr, "logged in to "+g.host+" at "+g.issuer+", for read\n"),
		got.stderr)
}

// With a browser on another machine, the user enters the address of the redirect; other addresses
// are refused.
func TestLoginFromAnotherMachine(t *testing.T) {
	ownHome(t)
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	g := newGuarded(t)
	c := termtest.Capture(true)
	seen, shown := io.Pipe()
	typed, keys := io.Pipe()
	c.Err.W, c.Streams.In = io.MultiWriter(c.Stderr, shown), typed
	go func() {
		page := ""
		for lines := bufio.NewScanner(seen); lines.Scan(); {
			if rest, ok := strings.CutPrefix(lines.Text(), "  http"); ok {
				page = "http" + rest
			}
			if !strings.HasPrefix(lines.Text(),
				"The browser could not be started: there is no graphical display.") {
				continue
			}
			go func() { _, _ = io.Copy(io.Discard, seen) }()
			req, _ := http.NewRequest("GET", page, nil)
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				panic(err)
			}
			_ = resp.Body.Close()
			ended := resp.Header.Get("Location")
			at, _, _ := strings.Cut(ended, "?")
			for _, line := range []string{"yes", "http://evil.example/callback?code=x", at +
				"?code=x&state=x", ended} {
				_, _ = io.WriteString(keys, line+"\n")
			}
			return
		}
	}()
	got := runWith(t.Context(), c, "auth", "login", g.url)
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, strings.Count(got.stderr,
		"The address is not accepted: it does not begin with http://127.0.0.1:"), 2, got.stderr)
	assert.Equal(t, strings.Count(got.stderr,
		"The address is not accepted: it belongs to another login"), 1, got.stderr)
	assert.Assert(t, cmp.Contains(got.stderr, "logged in to "+g.host+" at "+g.issuer))
}
