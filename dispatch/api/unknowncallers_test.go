package api_test

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

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
)

// Who is not known fills no log: there is one line a second for each address, which says how many
// were left out.
func TestUnknownCallersFillNoLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		h := api.Options{
			Principal: func(*http.Request) (string, error) { return "", errors.New("no token") },
			Logger:    slog.New(slog.NewTextHandler(&log, nil)),
		}.New(dispatch.Options{}.New(dispatch.NewCatalog()))
		ask := func(remote string) {
			r := httptest.NewRequest("GET", "http://127.0.0.1/v1/openapi.json", nil)
			r.RemoteAddr = remote
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			assert.Equal(t, w.Code, 401)
		}
		for port := range 1000 {
			ask(fmt.Sprintf("192.0.2.1:%d", port+1))
		}
		ask("192.0.2.2:1")
		time.Sleep(time.Second)
		ask("192.0.2.1:2000")
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		assert.Equal(t, len(lines), 3, log.String())
		for i, want := range []string{"remote=192.0.2.1:1 ", "remote=192.0.2.2:1 ",
			"remote=192.0.2.1:2000 suppressed=999 "} {
			assert.Assert(t,
				strings.Contains(lines[i], `msg="the caller is not known" error="no token" `+want),
				lines[i])
		}
	})
}
