package auth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server/auth"
)

// Tokens that are refused, or cannot be verified, fill no log: there is one line a second for each
// address, which says how many were left out.
func TestRefusedTokensAreLoggedRarely(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&auth.TokenError{Reason: "it has expired"}, `msg="a token was refused" `},
		{errors.New("no answer"), `msg="a token could not be verified" `},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			s, err := auth.Options{
				Resource:             "https://mcp.example.com/mcp",
				AuthorizationServers: []string{"https://as.example.com"},
				Logger:               slog.New(slog.NewTextHandler(&log, nil)),
				Verify: func(context.Context, string) (*auth.Identity,
					error) {
					return nil, tt.err
				},
			}.New()
			assert.NilError(t, err)
			ask := func(remote string) {
				r := httptest.NewRequest("POST", "https://mcp.example.com/mcp", nil)
				r.Header.Set("Authorization", "Bearer abc")
				r.RemoteAddr = remote
				_, err := s.Authorize(r)
				assert.Assert(t, err != nil)
			}
			for port := range 1000 {
				ask(fmt.Sprintf("192.0.2.1:%d", port+1))
			}
			ask("192.0.2.2:1")
			time.Sleep(time.Second)
			ask("192.0.2.1:2000")
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			assert.Equal(t, len(lines), 3, "%d lines, the first: %s", len(lines), lines[0])
			for i, end := range []string{"remote=192.0.2.1:1", "remote=192.0.2.2:1",
				"remote=192.0.2.1:2000 suppressed=999"} {
				assert.Assert(t, strings.Contains(lines[i], tt.want) &&
					strings.HasSuffix(lines[i], end), lines[i])
			}
		})
	}
}
