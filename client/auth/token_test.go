package auth_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
)

// Valid and invalid token responses. Errors quote no token.
func TestTokenResponses(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		answer any
		want   string // "" if valid
	}{
		"small letters": {200, `{"access_token":"T","token_type":"bearer"}`, ""},
		"no lifetime":   {200, `{"access_token":"T","token_type":"Bearer"}`, ""},
		"a string": {200,
			`{"access_token":"T","token_type":"Bearer","expires_in":"3600"}`, ""},
		"more": {200,
			`{"access_token":"T","token_type":"Bearer","id_token":"x","x":{}}`, ""},
		"null": {200,
			`{"access_token":"T","token_type":"Bearer","refresh_token":null,"scope":null,"expires_in":null}`,
			""},
		"no token": {200, `{"token_type":"Bearer"}`, "no valid access_token"},
		"an empty one": {200, `{"access_token":"","token_type":"Bearer"}`,
			"no valid access_token"},
		"a line break": {200, `{"access_token":"s3cret\r\nX: y","token_type":"Bearer"}`,
			"no valid access_token"},
		"a blank": {200, `{"access_token":"s3cret s3cret","token_type":"Bearer"}`,
			"no valid access_token"},
		"no type": {200, `{"access_token":"s3cret"}`, `the unsupported type ""`},
		"another type": {200, `{"access_token":"s3cret","token_type":"mac"}`,
			`the unsupported type "mac"`},
		"DPoP, not asked for": {200, `{"access_token":"s3cret","token_type":"DPoP"}`,
			`the unsupported type "DPoP"`},
		"a number": {200, `{"access_token":3,"token_type":"Bearer"}`,
			"not the expected JSON"},
		"two": {200,
			`{"access_token":"s3cret1","access_token":"s3cret2","token_type":"Bearer"}`,
			"not the expected JSON"},
		"a bad lifetime": {200,
			`{"access_token":"s3cret","token_type":"Bearer","expires_in":-1}`,
			"not the expected JSON"},
		"a bad refresh token": {200,
			`{"access_token":"s3cret","token_type":"Bearer","refresh_token":"s3cret\n"}`,
			"an invalid refresh_token"},
		"a page":  {200, `<html>s3cret`, "not the expected JSON"},
		"nothing": {204, ``, "not the expected JSON"},
		"an error": {400,
			`{"error":"invalid_client","error_description":"who\u001b[1m are\nyou"}`,
			`400 Bad Request: invalid_client: "who are you"`},
		"a long error": {400, `{"error":"x","error_description":"` +
			strings.Repeat("é", 5000) + `"}`, "…"},
		"an error as a page": {500, `<html>s3cret`, "500 Internal Server Error"},
		"an error twice":     {400, `{"error":"a","error":"b"}`, "400 Bad Request"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.accepts = func(*http.Request) int { return 200 }
			w.token = func(url.Values, *http.Request) (int, any) { return tc.status, tc.answer }
			c := w.client(w.options())
			if tc.want == "" {
				c.ok()
				assert.Equal(t, w.requestsTo("/mcp")[1].Header.Get("Authorization"), "Bearer T")
				return
			}
			e := c.fails(auth.StepToken, tc.want)
			assert.Equal(t, e.URL, "https://as.example/token")
			assert.Assert(t, len(e.Error()) < 600, "%d", len(e.Error()))
			assert.Equal(t, w.count("/mcp"), 1)
		})
	}
}

// Requests with secrets are not redirected.
func TestSecretsAreNotRedirected(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, path := range []string{"/token", "/register"} {
			for _, to := range []string{"https://evil.example/steal?s3cret", "/elsewhere"} {
				w := newWorld(t)
				as := http.NewServeMux()
				as.HandleFunc(asmPath, document(&w.asm))
				as.HandleFunc("/authorize", w.serveAuthorize)
				as.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
					switch r.URL.Path {
					case path:
						http.Redirect(rw, r, to, status)
					case "/register":
						w.serveRegister(rw, r)
					default:
						w.serveToken(rw, r)
					}
				})
				w.hosts["https://as.example"] = as
				w.hosts["https://evil.example"] = http.HandlerFunc(w.serveToken)
				step := map[string]auth.Step{"/token": auth.StepToken,
					"/register": auth.StepRegistration}[path]
				w.client(w.options()).fails(step, "not followed")
				assert.Equal(t, len(w.requestsAt("evil.example"))+w.count("/elsewhere"), 0)
			}
		}
	}
}

// Slow, endless and missing responses are bounded at each step.
func TestSlowAndLargeResponses(t *testing.T) {
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	dripping := func(rw http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := io.WriteString(rw, " "); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}
	flooding := func(rw http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := io.WriteString(rw, strings.Repeat(" ", 1<<10)); err != nil {
				return
			}
		}
	}
	for kind, handler := range map[string]http.HandlerFunc{"silent": silent, "dripping": dripping,
		"flooding": flooding} {
		for _, at := range []string{"mcp.example" + prmPath, "as.example" + asmPath,
			"as.example/register", "as.example/token"} {
			t.Run(kind+" "+at, func(t *testing.T) {
				runSynctest(t, func(t *testing.T, w *testServers) {
					for host, h := range w.hosts {
						w.hosts[host] = http.HandlerFunc(
							func(rw http.ResponseWriter, r *http.Request) {
								if r.URL.Host+r.URL.Path == at {
									handler(rw, r)
									return
								}
								h.ServeHTTP(rw, r)
							})
					}
					began := time.Now()
					_, err := w.client(w.options()).call()
					want := "no response within 30s"
					if kind == "flooding" {
						want = "the response is larger than 262144 bytes"
					}
					assert.ErrorContains(t, err, want)
					assert.ErrorContains(t, err, "https://"+at)
					assert.Assert(t, time.Since(began) <= 31*time.Second)
					sleep(2) // until the handler returns
				})
			})
		}
	}
}

// A 401 with an endless body is not read to its end.
func TestLargeUnauthorizedResponse(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		mux := w.hosts["https://mcp.example"]
		first := true
		w.hosts["https://mcp.example"] = http.HandlerFunc(
			func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/mcp" && first {
					first = false
					rw.Header().Set("WWW-Authenticate", w.challenge)
					rw.WriteHeader(401)
					<-r.Context().Done()
					return
				}
				mux.ServeHTTP(rw, r)
			})
		began := time.Now()
		req, err := http.NewRequest("POST", endpoint, strings.NewReader("message"))
		assert.NilError(t, err)
		ctx, cancel := contextWithCancel()
		resp, err := w.client(w.options()).RoundTrip(req.WithContext(ctx))
		assert.NilError(t, err)
		assert.Equal(t, resp.StatusCode, 200)
		assert.NilError(t, resp.Body.Close())
		assert.Assert(t, time.Since(began) <= 2*time.Second)
		cancel()
	})
}

// Errors name the step and the URL without its query, and nothing that was sent.
func TestErrorText(t *testing.T) {
	w := newWorld(t)
	w.asm["token_endpoint"] = "https://as.example/token?key=s3cret"
	w.token = func(url.Values, *http.Request) (int, any) { return 400, `{"error":"invalid_grant"}` }
	e := w.client(w.options()).fails(auth.StepToken, "")
	assert.Equal(t, e.Error(), "token: https://as.example/token: 400 Bad Request: invalid_grant")
	assert.Equal(t, fmt.Sprint(e.Status, " ", e.Code), "400 invalid_grant")

	delete(w.hosts, "https://as.example")
	w = newWorld(t)
	delete(w.hosts, "https://as.example")
	e = w.client(w.options()).fails(auth.StepServer, "")
	assert.Equal(t, e.Error(),
		"authorization server metadata: https://as.example/.well-known/oauth-authorization-server/t: there is no such host")
}
