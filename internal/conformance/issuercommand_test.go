//go:build linux

package conformance_test

import (
	"bufio"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// The binary on both sides: it logs in, and its later runs are authorized, even if many of them
// detect at the same time that the token has expired.
func TestCommandLineWithIssuer(t *testing.T) {
	b := newNodeBench(t)
	b.env = append(b.env, "XDG_STATE_HOME="+b.path("state"))
	f := newFront(t)
	i := b.issuer(map[string]any{"resources": map[string]target{f.url: {"jwt", "mcp"}},
		"scopes": []string{"mcp"}, "dpop": true})
	b.protect(f, i)
	call := []string{binary(t), "call", "fs_read", "path=hello.txt", "--url", f.url}

	o := b.run(call...)
	assert.Equal(t, o.code, 3, "%v", o)
	assert.Assert(t, strings.Contains(o.stderr, "stdwire auth login "+f.url), "%v", o)

	i.tell(map[string]any{"ttl": 11}) // ten seconds of it do not count
	ada := newBrowser(t)
	said := b.logsIn(ada, f.url)
	assert.Assert(t, strings.HasSuffix(said, " at "+i.url+", for mcp\n"), said)
	i.tell(map[string]any{"ttl": 600})
	count := i.since()
	<-time.After(1100 * time.Millisecond)
	var calls sync.WaitGroup
	outcomes := make([]outcome, 6)
	for n := range outcomes {
		calls.Go(func() { outcomes[n] = b.run(call...) })
	}
	calls.Wait()
	for _, o := range outcomes {
		assert.Equal(t, o.code, 0, "%v", o)
		assert.Assert(t, strings.Contains(o.stdout, "Hello, world."), "%v", o)
	}
	assert.Equal(t, count("granted refresh_token"), 1)
	assert.Equal(t, count("granted authorization_code"), 0)

	assert.Equal(t, b.must(binary(t), "auth", "status", f.url).code, 0)
	b.must(binary(t), "auth", "logout", f.url)
	assert.Equal(t, count("POST /token/revocation"), 1)
	assert.Equal(t, b.run(call...).code, 3)
}

// logsIn opens the page that is printed to stderr in the browser who, and returns the rest of
// stderr.
func (b *bench) logsIn(who *browser, url string) string {
	b.t.Helper()
	cmd := exec.Command(binary(b.t), "auth", "login", url, "--timeout", "2m")
	cmd.Dir, cmd.Env = b.dir, b.env
	stderr, err := cmd.StderrPipe()
	assert.NilError(b.t, err)
	assert.NilError(b.t, cmd.Start())
	var rest strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if page, ok := strings.CutPrefix(lines.Text(), "  http"); ok {
			assert.NilError(b.t, who.show(b.t.Context(), "http"+page))
			continue
		}
		rest.WriteString(lines.Text() + "\n")
	}
	assert.NilError(b.t, cmd.Wait(), rest.String())
	return rest.String()
}
