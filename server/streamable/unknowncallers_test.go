package streamable_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// Who is not known fills no log: there is one line a second for each address, which says how many
// were left out.
func TestRefusedCallersAreLoggedRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := server.New(server.Info{Name: "x", Version: "1"}, nil)
		h := streamable.Options{
			Principal: func(*http.Request) (string, error) { return "", errors.New("no token") },
			Logger:    slog.New(slog.NewTextHandler(&log, nil)),
		}.New(s)
		ask := func(remote string) {
			r := httptest.NewRequest("POST", "http://127.0.0.1/mcp", strings.NewReader("{}"))
			r.RemoteAddr = remote
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			assert.Equal(t, w.Code, 401)
		}
		for port := range 1000 {
			ask(fmt.Sprintf("192.0.2.1:%d", port+1))
		}
		ask("192.0.2.2:1")
		lines := func() []string { return strings.Split(strings.TrimSpace(log.String()), "\n") }
		assert.Equal(t, len(lines()), 2, log.String())
		assert.Assert(t,
			strings.HasSuffix(lines()[0],
				`msg="the caller is not known" error="no token" remote=192.0.2.1:1`), log.String())
		time.Sleep(time.Second)
		ask("192.0.2.1:2000")
		assert.Equal(t, len(lines()), 3)
		assert.Assert(t, strings.HasSuffix(lines()[2], `remote=192.0.2.1:2000 suppressed=999`),
			log.String())
		h.Close()
		assert.NilError(t, s.Close(t.Context()))
	})
}
