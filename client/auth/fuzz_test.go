package auth_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
)

// Whatever the servers respond at each step, the result is an error of a step or a valid token, and
// the server receives no other.
func FuzzResponses(f *testing.F) {
	paths := []string{prmPath, asmPath, "/register", "/token"}
	for i, text := range []string{
		`{"resource":"https://mcp.example/mcp","authorization_servers":["https://as.example/t"]}`,
		`{"issuer":"https://as.example/t","authorization_endpoint":"https://as.example/authorize","token_endpoint":"https://as.example/token","code_challenge_methods_supported":["S256"]}`,
		`{"client_id":"x","client_secret":"y","token_endpoint_auth_method":"client_secret_basic","client_secret_expires_at":1}`,
		`{"access_token":"T","token_type":"Bearer","expires_in":"3600","refresh_token":"R","scope":"a b"}`,
	} {
		f.Add(uint8(i), 200, text)
		f.Add(uint8(i), 400, `{"error":"invalid_grant","error_description":"\u001b[1m"}`)
		f.Add(uint8(i), 200, text[:len(text)/2])
	}
	f.Fuzz(func(t *testing.T, at uint8, status int, text string) {
		w := newWorld(t)
		status = 200 + (status%400+400)%400
		path := paths[int(at)%len(paths)]
		for host, h := range w.hosts {
			w.hosts[host] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == path && r.Method != "HEAD" {
					response(rw, status, text)
					return
				}
				h.ServeHTTP(rw, r)
			})
		}
		w.accepts = func(r *http.Request) int {
			kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			assert.Assert(t, kind == "Bearer" && token != "" &&
				!strings.ContainsFunc(token, func(c rune) bool {
					return c <= ' ' || c > '~'
				}))
			return 200
		}
		_, err := w.client(w.options()).call()
		if err != nil {
			assert.Assert(t, !strings.ContainsFunc(err.Error(), func(c rune) bool {
				return c < ' ' || c == 0x7f
			}), "%q", err)
			assert.Assert(t, len(err.Error()) < 3000, "%d", len(err.Error()))
		}
	})
}

// Whatever the browser is redirected to, the code of another request is sent nowhere.
func FuzzRedirect(f *testing.F) {
	for _, text := range []string{redirect + "?code=a&state=b", redirect + "?STATE&code=a&iss=" +
		url.QueryEscape(issuer), redirect + "?error=x&STATE", "%", redirect + "?STATE&STATE",
		redirect + "?STATE;code=a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w := newWorld(t)
		o := w.options()
		told := ""
		o.Grant = auth.AuthorizationCode{RedirectURL: redirect,
			FetchRedirect: func(_ context.Context, page string) (string, error) {
				u, err := url.Parse(page)
				told = strings.ReplaceAll(text, "STATE", "state="+u.Query().Get("state"))
				return told, err
			}}
		_, err := w.client(o).call()
		assert.Assert(t, err != nil, "no code here is good")
		if w.count("/token") > 0 {
			u, err := url.Parse(told)
			assert.NilError(t, err)
			q := u.Query()
			assert.Assert(t, len(q["state"]) == 1 && len(q["iss"]) == 1 && q.Get("iss") == issuer &&
				len(q["code"]) == 1 && !q.Has("error"), told)
			assert.Assert(t, strings.HasPrefix(told, redirect+"?") ||
				strings.HasPrefix(strings.ToLower(told), redirect+"?"), told)
		}
	})
}

// Whatever a store's file contains, only valid credentials are used, and errors quote nothing of
// it.
func FuzzStore(f *testing.F) {
	good := testCredentials("https://as.example", "https://a.example", "")
	s := auth.FileStore{Dir: f.TempDir()}
	assert.NilError(f, s.Put(good))
	all, err := filepath.Glob(filepath.Join(s.Dir, "*.json"))
	assert.NilError(f, err)
	path := all[0]
	f.Add([]byte(`{"issuer":"https://as.example"}`))
	f.Add([]byte(`{"endpoint":"https://a.example/mcp","issuer":"https://as.example","resource":"https://a.example","grant":"authorization_code","token_type":"DPoP","access_token":"s3cret","dpop_key":"AAAA"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		assert.NilError(t, os.WriteFile(path, text, 0o600))
		found, err := s.All()
		assert.Assert(t, (err == nil) == (len(found) == 1))
		if err != nil {
			assert.Assert(t, !strings.Contains(err.Error(), "s3cret"))
			return
		}
		assert.Equal(t, found[0].Key, good.Key)
		assert.Assert(t, !strings.ContainsFunc(found[0].AccessToken, func(c rune) bool {
			return c <= ' ' || c > '~'
		}))
	})
}
