//go:build linux

package conformance_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// The binary over HTTP with a token, and the client of this module, in every revision.
func TestOwnClientOfTheBinary(t *testing.T) {
	t.Parallel()
	const token = "a token that nobody guesses"
	b := newBench(t)
	b.env = append(b.env, "STDWIRE_TEST_TOKEN="+token)
	assert.NilError(t, conformance.FillRoot(b.path("root")))
	s := b.serving(binary(t), "serve", "--root", b.path("root"), "--write", "--token-env",
		"STDWIRE_TEST_TOKEN", "--http")
	s.grumble = "the bearer token is missing or wrong"
	for _, revision := range mcp.Supported() {
		t.Run(string(revision), func(t *testing.T) {
			for _, header := range []http.Header{nil, {"Authorization": {"Bearer another"}}} {
				_, err := connectOwn(t, s.direct, revision, header)
				refused, _ := errors.AsType[*streamable.StatusError](err)
				assert.Assert(t, refused != nil &&
					refused.Status == http.StatusUnauthorized, "%v", err)
				assert.Assert(t, !strings.Contains(err.Error(), "another"), "%v", err)
			}
			o, err := connectOwn(t, s.tapped, revision,
				http.Header{"Authorization": {"Bearer " + token}})
			assert.NilError(t, err)
			assert.Equal(t, o.Revision(), revision)
			tools := 0
			for _, err := range o.Tools(t.Context()) {
				assert.NilError(t, err)
				tools++
			}
			assert.Equal(t, tools, 8)
			o.contains(`Hello, world.`, "fs_read", `{"path":"hello.txt"}`)
			o.contains(`"code":"not_found"`, "fs_read", `{"path":"nothing"}`)
			o.contains(`"code":"invalid_input"`, "fs_read", `{"path":7}`)
			name := string(revision) + ".txt"
			o.contains(`"success":true`, "fs_write", `{"path":"`+name+`","content":"new"}`)
			written, err := os.ReadFile(b.path("root/" + name))
			assert.NilError(t, err)
			assert.Equal(t, string(written), "new")

			// A destructive call must be confirmed, if the user can be asked.
			if revision >= mcp.Rev20250618 {
				o.contains(`"success":true`, "fs_delete", `{"path":"`+name+`"}`)
				_, err = os.Stat(b.path("root/" + name))
				assert.ErrorIs(t, err, os.ErrNotExist)
			} else {
				o.contains(`"code":"confirmation_required"`, "fs_delete", `{"path":"`+name+`"}`)
			}

			ctx, cancel := context.WithCancel(t.Context())
			_, err = o.CallTool(ctx, "fs_search",
				map[string]any{"pattern": "nowhere to be found", "path": "."},
				client.OnProgress(func(mcp.ProgressParams) {
					cancel()
				}))
			assert.ErrorIs(t, err, context.Canceled)
			o.contains(`Hello, world.`, "fs_read", `{"path":"hello.txt"}`)
			o.quiet()
		})
	}
	b.checkServer("record")
	b.checkClient("record")
}

// contains calls a tool, and asserts that its text contains want.
func (o *own) contains(want, tool, arguments string) {
	o.t.Helper()
	got, err := o.text(tool, arguments)
	assert.NilError(o.t, err)
	assert.Assert(o.t,
		strings.Contains(strings.ReplaceAll(got, " ", ""), strings.ReplaceAll(want, " ", "")),
		"%s: %s", tool, got)
}
