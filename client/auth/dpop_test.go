package auth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/internal/jose"
)

// A proof is the content of a DPoP header.
type proof struct {
	ID     string `json:"jti"`
	Method string `json:"htm"`
	URL    string `json:"htu"`
	Issued int64  `json:"iat"`
	Hash   string `json:"ath"`
	Nonce  string `json:"nonce"`
	key    string // the key's thumbprint
}

func proofOf(t *testing.T, r *http.Request) proof {
	t.Helper()
	assert.Equal(t, len(r.Header.Values("DPoP")), 1)
	token, err := jose.Parse(r.Header.Get("DPoP"))
	assert.NilError(t, err)
	assert.Equal(t, token.Header.Type, "dpop+jwt")
	payload, err := token.Verify(token.Header.Key, jose.ES256)
	assert.NilError(t, err)
	p := proof{key: token.Header.Key.Thumbprint()}
	assert.NilError(t, json.Unmarshal(payload, &p))
	return p
}

// requireDPoP makes the servers require DPoP.
func (w *testServers) requireDPoP() {
	w.challenge = `DPoP algs="ES256", resource_metadata="https://mcp.example` + prmPath + `"`
	w.token = func(url.Values, *http.Request) (int, any) { return 200, w.issue("DPoP") }
}

// Each token request and each request with a token has a proof of its own, with the same key.
func TestDPoP(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		w.requireDPoP()
		store := &memoryStore{}
		o := w.options()
		o.Store = store
		c := w.client(o)
		c.ok()
		c.ok()
		sleep(3600)
		w.client(o).ok() // another run of the program refreshes
		ids := map[string]bool{}
		key := ""
		for _, r := range append(w.requestsTo("/token"), w.requestsTo("/mcp")[1:]...) {
			p := proofOf(t, r.Request)
			assert.Assert(t, !ids[p.ID] && p.ID != "", "each has another id")
			ids[p.ID] = true
			assert.Assert(t, key == "" || p.key == key, "and the same key")
			key = p.key
			assert.Equal(t, p.Method+" "+p.URL, r.Method+" "+r.URL.Scheme+"://"+r.URL.Host+
				r.URL.Path)
			assert.Assert(t, p.Issued > 0)
			if r.URL.Path == "/token" {
				assert.Equal(t, p.Hash, "")
				continue
			}
			scheme, token := r.Header.Get("Authorization")[:5], r.Header.Get("Authorization")[5:]
			assert.Equal(t, scheme, "DPoP ")
			sum := sha256.Sum256([]byte(token))
			assert.Equal(t, p.Hash, base64.RawURLEncoding.EncodeToString(sum[:]))
		}
		assert.Equal(t, len(ids), 5)
		assert.Equal(t, w.requestsTo("/authorize")[0].URL.Query().Get("dpop_jkt"), key)
		var made map[string]any
		assert.NilError(t, json.Unmarshal([]byte(w.requestsTo("/register")[0].body), &made))
		assert.Equal(t, made["dpop_bound_access_tokens"], true)
	})
}

// DPoP is used if the server requires it or both servers support it.
func TestWhenDPoPIsUsed(t *testing.T) {
	for name, tc := range map[string]struct {
		challenge string
		prm, asm  map[string]any
		want      bool
	}{
		"neither":                 {"Bearer", nil, nil, false},
		"the challenge":           {"DPoP", nil, nil, true},
		"the challenge has both":  {"DPoP, Bearer", nil, nil, false},
		"the challenge, reversed": {`Bearer scope="x", DPoP algs="ES256"`, nil, nil, false},
		"the metadata": {"Bearer",
			map[string]any{"dpop_bound_access_tokens_required": true}, nil, true},
		"both can": {"Bearer",
			map[string]any{"dpop_signing_alg_values_supported": []string{"ES256"}},
			map[string]any{"dpop_signing_alg_values_supported": []string{"ES256"}}, true},
		"both, another algorithm": {"Bearer",
			map[string]any{"dpop_signing_alg_values_supported": []string{"RS256"}},
			map[string]any{"dpop_signing_alg_values_supported": []string{"RS256"}}, false},
		"the authorization server": {"Bearer", nil,
			map[string]any{"dpop_signing_alg_values_supported": []string{"ES256"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if tc.want {
				w.requireDPoP()
			}
			w.challenge, w.prm, w.asm = tc.challenge, merged(w.prm, tc.prm), merged(w.asm, tc.asm)
			w.client(w.options()).ok()
			assert.Equal(t, w.requestsTo("/token")[0].Header.Get("DPoP") != "", tc.want)
		})
	}
	w := newWorld(t)
	w.challenge = "DPoP"
	w.client(w.options()).fails(auth.StepToken,
		"the token has the type Bearer, although the server requires DPoP")
}

// Both servers may require a nonce, and a new one at any time.
func TestDPoPNonces(t *testing.T) {
	w := newWorld(t)
	w.requireDPoP()
	n := 0
	wants := func(rw http.Header, r *http.Request, kind string) bool {
		if p := proofOf(t, r); p.Nonce != fmt.Sprint(kind, n) {
			rw.Set("DPoP-Nonce", fmt.Sprint(kind, n))
			return true
		}
		return false
	}
	mcp, as := w.hosts["https://mcp.example"], w.hosts["https://as.example"]
	w.hosts["https://mcp.example"] = http.HandlerFunc(
		func(rw http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" && wants(rw.Header(), r, "rs") {
				rw.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
				rw.WriteHeader(401)
				return
			}
			mcp.ServeHTTP(rw, r)
		})
	w.hosts["https://as.example"] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" && wants(rw.Header(), r, "as") {
			response(rw, 400, `{"error":"use_dpop_nonce"}`)
			return
		}
		as.ServeHTTP(rw, r)
	})
	c := w.client(w.options())
	c.ok()
	assert.Equal(t, w.count("/token"), 2)
	assert.Equal(t, w.count("/mcp"), 3)
	c.ok()
	assert.Equal(t, w.count("/mcp"), 4, "the nonce is known")
	n++
	c.ok()
	assert.Equal(t, w.count("/mcp"), 6)
	assert.Equal(t, w.count("/authorize"), 1)
}

// Concurrent requests that are refused because of a nonce are all sent again, and the token is
// kept.
func TestDPoPNoncesConcurrently(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		w.requireDPoP()
		mcp := w.hosts["https://mcp.example"]
		slow, wanted := false, ""
		w.hosts["https://mcp.example"] = http.HandlerFunc(
			func(rw http.ResponseWriter, r *http.Request) {
				if slow {
					sleep(1)
				}
				if r.Header.Get("Authorization") != "" && proofOf(t, r).Nonce != wanted {
					rw.Header().Set("DPoP-Nonce", wanted)
					rw.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
					rw.WriteHeader(401)
					return
				}
				mcp.ServeHTTP(rw, r)
			})
		c := w.client(w.options())
		c.ok()
		slow, wanted = true, "n1"
		var all sync.WaitGroup
		for range 16 {
			all.Go(c.ok)
		}
		all.Wait()
		assert.Equal(t, w.count("/token"), 1)
		assert.Equal(t, w.count("/mcp"), 2+2*16)
	})
}

// A new login keeps the key: the registration may be bound to it.
func TestDPoPKeyIsKept(t *testing.T) {
	w := newWorld(t)
	w.requireDPoP()
	c := w.client(w.options())
	assert.NilError(t, c.Login(t.Context()))
	assert.NilError(t, c.Login(t.Context()))
	first, second := w.requestsTo("/token")[0], w.requestsTo("/token")[1]
	assert.Equal(t, proofOf(t, first.Request).key, proofOf(t, second.Request).key)
}

// A server that accepts no nonce, or requires the one just used, is an error.
func TestDPoPNoncesAreBounded(t *testing.T) {
	for _, always := range []bool{true, false} {
		nonce := func(h http.Header, n int) {
			if !always {
				n = 0
			}
			h.Set("DPoP-Nonce", fmt.Sprint("n", n))
		}
		w := newWorld(t)
		w.requireDPoP()
		mcp := w.hosts["https://mcp.example"]
		w.hosts["https://mcp.example"] = http.HandlerFunc(
			func(rw http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "" {
					nonce(rw.Header(), w.count("/mcp"))
					rw.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
					rw.WriteHeader(401)
					return
				}
				mcp.ServeHTTP(rw, r)
			})
		status, err := w.client(w.options()).call()
		assert.NilError(t, err)
		assert.Equal(t, status, 401)
		assert.Equal(t, w.count("/authorize"), 1)
		assert.Assert(t, w.count("/mcp") <= 4, "%d", w.count("/mcp"))

		w = newWorld(t)
		w.requireDPoP()
		as := w.hosts["https://as.example"]
		w.hosts["https://as.example"] = http.HandlerFunc(
			func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/token" {
					nonce(rw.Header(), w.count("/token"))
					response(rw, 400, `{"error":"use_dpop_nonce"}`)
					return
				}
				as.ServeHTTP(rw, r)
			})
		w.client(w.options()).fails(auth.StepToken, "use_dpop_nonce")
		assert.Assert(t, w.count("/token") <= 3, "%d", w.count("/token"))
	}
	// An invalid nonce is ignored.
	w := newWorld(t)
	w.requireDPoP()
	mcp := w.hosts["https://mcp.example"]
	w.hosts["https://mcp.example"] = http.HandlerFunc(
		func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("DPoP-Nonce", "a b")
			mcp.ServeHTTP(rw, r)
		})
	c := w.client(w.options())
	c.ok()
	c.ok()
	assert.Equal(t, proofOf(t, w.requestsTo("/mcp")[2].Request).Nonce, "")
}
