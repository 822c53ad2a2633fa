//go:build linux

package conformance_test

import (
	"bytes"
	"errors"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// chromeCommand is the command of a server that runs a browser.
func chromeCommand(browser string) []string {
	return []string{"chrome-devtools-mcp", "--headless", "--isolated", "--executablePath", browser,
		"--no-usage-statistics", "--no-performance-crux",
		"--chromeArg=--no-sandbox", "--chromeArg=--disable-dev-shm-usage"}
}

// A server that runs a browser, which opens a page that is served here.
func TestClientOfServerChromeDevTools(t *testing.T) {
	b := newNodeBench(t)
	browser := chromium(t)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w,
			`<!DOCTYPE html><title>A page for tests</title><h1>Grüße</h1><button onclick="this.textContent='pressed'">press</button>`)
	}))
	defer page.Close()
	checked, frame := b.checking()
	command := chromeCommand(browser)
	c, err := client.Options{Hooks: rpc.Hooks{Frame: frame}}.Spawn(t.Context(), client.Command{
		Path: command[0], Args: command[1:],
		Dir: b.dir,
		Env: map[string]string{"PATH": b.getenv("PATH"), "HOME": b.dir, "TMPDIR": b.dir,
			"CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS": "1"},
	})
	assert.NilError(t, err)
	defer c.Close()
	call := func(tool string, args map[string]any) string {
		t.Helper()
		result, err := c.CallTool(t.Context(), tool, args)
		assert.NilError(t, err)
		var text strings.Builder
		for _, content := range result.Content {
			if part, ok := content.(*mcp.TextContent); ok {
				text.WriteString(part.Text)
			}
		}
		assert.Assert(t, !result.IsError, "%s: %s", tool, text.String())
		return text.String()
	}
	pages := call("new_page", map[string]any{"url": page.URL})
	assert.Assert(t, strings.Contains(pages, "2: A page for tests"), "%s", pages)
	second := map[string]any{"pageId": 2}
	snapshot := call("take_snapshot", second)
	assert.Assert(t, strings.Contains(snapshot, `heading "Grüße"`), "%s", snapshot)
	seen := call("evaluate_script",
		map[string]any{"pageId": 2,
			"function": "() => document.title + ', ' + document.querySelector('h1').textContent"})
	assert.Assert(t, strings.Contains(seen, "A page for tests, Grüße"), "%s", seen)
	button := regexp.MustCompile(`uid=(\S+) button "press"`).FindStringSubmatch(snapshot)
	assert.Assert(t, button != nil, "%s", snapshot)
	call("click", map[string]any{"pageId": 2, "uid": button[1]})
	assert.Assert(t, strings.Contains(call("take_snapshot", second), `button "pressed"`))
	result, err := c.CallTool(t.Context(), "take_screenshot", second)
	assert.NilError(t, err)
	shot, ok := result.Content[len(result.Content)-1].(*mcp.ImageContent)
	assert.Assert(t, ok, "%v", result.Content)
	_, err = png.Decode(bytes.NewReader(shot.Data))
	assert.NilError(t, err)
	_, err = c.CallTool(t.Context(), "nothing", nil)
	refusal, ok := errors.AsType[*rpc.Error](err)
	assert.Assert(t, ok && refusal.Code == rpc.CodeInvalidParams, "%v", err)
	assert.NilError(t, c.Close())
	assert.NilError(t, c.Wait())
	checked()
}

// chromium returns the path of the browser. Without it, the test is skipped.
func chromium(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium here")
	}
	return path
}

// keptOpenPage returns a site with a page that has the title "Kept open".
func keptOpenPage(t *testing.T) *httptest.Server {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!DOCTYPE html><title>Kept open</title>")
	}))
	t.Cleanup(page.Close)
	return page
}

// A connection keeps the browser open between commands.
func TestConnectionToServerChromeDevTools(t *testing.T) {
	b := newNodeBench(t)
	browser := chromium(t)
	page := keptOpenPage(t)
	b.env = append(b.env, "XDG_RUNTIME_DIR="+b.path("run"), "TMPDIR="+b.dir,
		"CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS=1")
	stdwire := func(args ...string) string {
		t.Helper()
		o := b.run(append([]string{binary(t)}, args...)...)
		assert.Equal(t, o.code, 0, "%v", o)
		return o.stdout
	}
	stdwire(append([]string{"connect", "@chrome", "--"}, chromeCommand(browser)...)...)
	defer func() { // the guard of the connection ends a moment after it
		for end := time.Now().Add(time.Minute); time.Now().Before(end) &&
			len(conformance.RunningIn(b.dir)) > 0; {
			time.Sleep(20 * time.Millisecond)
		}
		b.ended()
	}()
	defer stdwire("disconnect", "@chrome")
	stdwire("call", "@chrome", "new_page", "url="+page.URL)
	begin := time.Now()
	const calls = 20
	for range calls {
		pages := stdwire("call", "@chrome", "list_pages")
		assert.Assert(t, strings.Contains(pages, "Kept open"), "%s", pages)
	}
	t.Logf("%v for each command", time.Since(begin)/calls)
	assert.Assert(t, strings.Contains(stdwire("connections"), "@chrome"))
}
