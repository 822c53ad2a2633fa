package auth_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jose"
	"github.com/stdwire/stdwire/server/auth"
)

func TestClaimsMustBeValidated(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		now := time.Now().Unix()
		for name, tc := range map[string]struct {
			changes claims
			reason  string // "": the token is good
		}{
			"good": {nil, ""},
			"audience among others": {
				claims{"aud": []string{"https://other.example", resource}}, ""},
			"audience in another case": {claims{"aud": "HTTPS://MCP.example.com/mcp"}, ""},
			"another audience": {claims{"aud": "https://mcp.example.com/other"},
				"the token is for another resource"},
			"audience above": {claims{"aud": "https://mcp.example.com"},
				"the token is for another resource"},
			"audience below": {claims{"aud": resource + "/x"},
				"the token is for another resource"},
			"audience with a slash": {claims{"aud": resource + "/"},
				"the token is for another resource"},
			"path in another case": {claims{"aud": "https://mcp.example.com/MCP"},
				"the token is for another resource"},
			"no audience": {claims{"aud": nil}, "the token is for another resource"},
			"empty audience": {claims{"aud": []string{}},
				"the token is for another resource"},
			"audience of another type": {claims{"aud": 1},
				"the token's claims are invalid"},
			"another issuer": {claims{"iss": "https://evil.example"},
				"the token is from another issuer"},
			"issuer with a slash": {claims{"iss": issuerURL + "/"},
				"the token is from another issuer"},
			"no issuer":  {claims{"iss": nil}, "the token is from another issuer"},
			"no subject": {claims{"sub": nil}, "the token has no subject"},
			"no exp":     {claims{"exp": nil}, "the token has no exp"},
			"exp as text": {claims{"exp": "9999999999"},
				"the token's claims are invalid"},
			"expired":            {claims{"exp": now - 30}, "the token has expired"},
			"within the skew":    {claims{"exp": now - 29}, ""},
			"not yet":            {claims{"nbf": now + 31}, "the token is not valid yet"},
			"almost":             {claims{"nbf": now + 30}, ""},
			"of the future":      {claims{"iat": now + 31}, "the token was issued in the future"},
			"no iat":             {claims{"iat": nil}, ""},
			"scopes in an array": {claims{"scope": []string{"x", "mcp"}}, ""},
			"scp as text":        {claims{"scope": nil, "scp": "x mcp"}, ""},
			"scp in an array":    {claims{"scope": nil, "scp": []string{"mcp"}}, ""},
			"scope of another type": {claims{"scope": 1},
				"the token's scope is neither a string nor an array of strings"},
			"many scopes": {claims{"scope": strings.Repeat("x ", 257)},
				"the token has more than 256 scopes"},
			"client_id of another type": {claims{"client_id": 7},
				"the token's client_id is not a string"},
			"bound to a certificate": {claims{"cnf": map[string]any{"x5t#S256": "AAAA"}},
				"the token is bound to its sender by an unsupported method"},
			"bound to both": {claims{"cnf": map[string]any{"jkt": "AAAA", "x5t#S256": "AAAA"}},
				"the token is bound to its sender by an unsupported method"},
			"bound to nothing": {claims{"cnf": map[string]any{}},
				"the token is bound to its sender by an unsupported method"},
			"bound to null": {claims{"cnf": nil, "x": nil}, ""},
			"bound to a key": {claims{"cnf": map[string]any{"jkt": "AAAA"}},
				"the token is bound to a key, and was sent without a DPoP proof"},
		} {
			t.Log(name)
			rec := w.call("read", bearer(w.issuer.token(tc.changes)))
			if tc.reason == "" {
				w.wants(rec, 200, "")
				assert.DeepEqual(t, w.called(), []string{"read " + issuerURL + "#alice app"})
				continue
			}
			w.wants(rec, 401, refusal(tc.reason))
			assert.Equal(t, len(w.called()), 0)
		}
	})
}

// A claim that is there twice is one that two readers may read in two ways.
func TestDuplicateClaims(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		payload := raw(`{"iss":"` + issuerURL + `","sub":"alice","sub":"root","aud":"` + resource +
			`","exp":9999999999,"scope":"mcp"}`)
		token := sign(t, w.issuer.signer, jose.Header{KeyID: "k1"}, payload)
		w.wants(w.call("read", bearer(token)), 401,
			refusal("the token's claims are invalid"))
		w.keepsSecret(token)
	})
}

// raw is JSON as it stands.
type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func TestTypesOfTokens(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		for typ, status := range map[string]int{
			"at+jwt": 200, "AT+JWT": 200, "application/at+jwt": 200, "JWT": 200, "jwt": 200,
			"":         200,
			"dpop+jwt": 401, "logout+jwt": 401, "secevent+jwt": 401, "at+jwt ": 401,
			"oauth-authz-req+jwt": 401,
		} {
			token := sign(t, w.issuer.signer, jose.Header{Type: typ, KeyID: "k1"}, good(nil))
			assert.Equal(t, w.call("read", bearer(token)).Code, status, typ)
		}
	})
}

func TestAlgorithmsOfTokens(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		keys, signers := []string{jwk(t, w.issuer.signer, "k1")},
			map[string]*jose.Signer{"k1": w.issuer.signer}
		for _, alg := range []jose.Algorithm{jose.RS256, jose.PS256, jose.ES256, jose.EdDSA} {
			signers[string(alg)] = newSigner(t, alg)
			if alg != jose.PS256 { // the same key as of RS256
				keys = append(keys, jwk(t, signers[string(alg)], string(alg)))
			}
		}
		signers["RS256"], _ = jose.NewSigner(rsaKey(), jose.RS256)
		w.issuer.publish(keys...)
		for name, tc := range map[string]struct {
			signer *jose.Signer
			kid    string
			status int
		}{
			"ES256": {signers["ES256"], "ES256", 200}, "RS256": {signers["RS256"], "RS256", 200},
			"EdDSA":                     {signers["EdDSA"], "EdDSA", 200},
			"PS256":                     {signers["PS256"], "RS256", 200},
			"no kid":                    {signers["ES256"], "", 200},
			"ES256 with the kid of RSA": {signers["ES256"], "RS256", 401},
			"RS256 with the kid of EC":  {signers["RS256"], "ES256", 401},
			"EdDSA with the kid of EC":  {signers["EdDSA"], "k1", 401},
			"another key":               {newSigner(t, jose.ES256), "k1", 401},
			"another key, no kid":       {newSigner(t, jose.ES256), "", 401},
		} {
			token := sign(t, tc.signer, jose.Header{Type: "at+jwt", KeyID: tc.kid}, good(nil))
			assert.Equal(t, w.call("read", bearer(token)).Code, tc.status, name)
		}
		before := w.issuer.count(keysPath)

		// A public key is no secret to be used with HMAC; and where no signature is wanted, there
		// is none.
		der, err := x509.MarshalPKIXPublicKey(&rsaKey().PublicKey)
		assert.NilError(t, err)
		body := encode(`{"iss":"` + issuerURL + `","sub":"root","aud":"` + resource +
			`","exp":9999999999,"scope":"mcp"}`)
		for _, secret := range [][]byte{der,
			pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), []byte(keys[1])} {
			signed := encode(`{"alg":"HS256","typ":"at+jwt","kid":"RS256"}`) + "." + body
			mac := hmac.New(sha256.New, secret)
			mac.Write([]byte(signed))
			forged := signed + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
			w.wants(w.call("read", bearer(forged)), 401,
				refusal("the token is signed with an unsupported algorithm"))
		}
		for _, alg := range []string{"none", "None", "", "HS512", "ES384"} {
			for _, end := range []string{".", "." + encode("x")} {
				w.wants(w.call("read", bearer(encode(`{"alg":"`+alg+`","kid":"k1"}`)+"."+body+end)),
					401, refusal("the token is signed with an unsupported algorithm"))
			}
		}
		// The key in the header is nobody's, and the places that it names are not visited.
		thief := newSigner(t, jose.ES256)
		for _, head := range []string{`"jwk":` + jwk(t, thief, "k1"),
			`"jku":"https://evil.example/keys","kid":"k1"`,
			`"x5u":"https://evil.example/c","kid":"k1"`} {
			text := sign(t, thief, jose.Header{Type: "at+jwt", Key: thief.Key()}, good(nil))
			_, rest, _ := strings.Cut(text, ".")
			assert.Equal(t, w.call("read", bearer(text)).Code, 401)
			assert.Equal(t, w.call("read",
				bearer(encode(`{"alg":"ES256",`+head+`}`)+"."+rest)).Code, 401)
		}
		assert.Equal(t, w.issuer.count(keysPath), before, "nothing of that is worth a look")
		assert.Equal(t, len(w.called()), 5)
	})
}

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// What a token has for a kid is compared, and nothing else: it is no path and no address.
func TestKeyIDsAreOnlyCompared(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		_ = w.call("read", bearer(w.issuer.token(nil)))
		for _, kid := range []string{"../../../../dev/null", "/etc/passwd",
			"https://evil.example/keys", "k1' OR '1'='1", "K1", "k1\x00", "k1 ",
			strings.Repeat("k", 256)} {
			token := sign(t, w.issuer.signer, jose.Header{Type: "at+jwt", KeyID: kid}, good(nil))
			w.wants(w.call("read", bearer(token)), 401,
				refusal("the token is signed with an unknown key"))
		}
		huge := sign(t, w.issuer.signer,
			jose.Header{Type: "at+jwt", KeyID: strings.Repeat("k", 257)}, good(nil))
		w.wants(w.call("read", bearer(huge)), 401, refusal("the token is not a JWT"))
		assert.Equal(t, w.issuer.count(keysPath), 2, "once more, for nothing")
		for path := range w.issuer.asked {
			assert.Assert(t, path == keysPath || path == metaPath, path)
		}
	})
}

func TestRotation(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		old := w.issuer.token(nil)
		assert.Equal(t, w.call("read", bearer(old)).Code, 200)
		next := newSigner(t, jose.ES256)
		token := sign(t, next, jose.Header{Type: "at+jwt", KeyID: "k2"}, good(nil))
		w.issuer.publish(jwk(t, w.issuer.signer, "k1"), jwk(t, next, "k2"))
		assert.Equal(t, w.call("read", bearer(token)).Code, 200,
			"an issuer may change its keys at any time")
		assert.Equal(t, w.call("read", bearer(old)).Code, 200)
		assert.Equal(t, w.issuer.count(keysPath), 2)

		w.issuer.publish(jwk(t, next, "k2"))
		assert.Equal(t, w.call("read", bearer(old)).Code, 200, "keys are fresh for ten minutes")
		time.Sleep(10 * time.Minute)
		assert.Equal(t, w.call("read", bearer(token)).Code, 200)
		assert.Equal(t, w.call("read", bearer(old)).Code, 401, "k1 has been withdrawn")
		assert.Equal(t, w.issuer.count(keysPath), 4, "nothing was known of k1 any more")

		third := newSigner(t, jose.ES256)
		token = sign(t, third, jose.Header{Type: "at+jwt", KeyID: "k3"}, good(nil))
		w.issuer.publish(jwk(t, third, "k3"))
		assert.Equal(t, w.call("read", bearer(token)).Code, 401,
			"the last fetch was just now, and brought nothing")
		time.Sleep(30 * time.Second)
		assert.Equal(t, w.call("read", bearer(token)).Code, 200)
		assert.Equal(t, w.issuer.count(keysPath), 5)
	})
}

// Whoever sends many tokens with keys that nobody has gets no more out of it than one fetch each 30
// seconds.
func TestUnknownKeysDoNotAmplify(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		thief := newSigner(t, jose.ES256)
		tokens := make([]string, 200)
		for i := range tokens {
			tokens[i] = sign(t, thief, jose.Header{Type: "at+jwt", KeyID: strings.Repeat("x", i+1)},
				good(nil))
		}
		var all sync.WaitGroup
		for _, token := range tokens {
			all.Go(func() { assert.Check(t, w.call("read", bearer(token)).Code == 401) })
		}
		all.Wait()
		assert.Equal(t, w.issuer.count(keysPath), 1)
		for range 5 {
			time.Sleep(30 * time.Second)
			for _, token := range tokens {
				assert.Equal(t, w.call("read", bearer(token)).Code, 401)
			}
		}
		assert.Equal(t, w.issuer.count(keysPath), 6)
		assert.Equal(t, w.issuer.count(metaPath), 6)
	})
}

// While keys are being fetched, and that takes its time, whoever's key is known does not wait; and
// they are not waited for without end.
func TestSlowKeys(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		token := w.issuer.token(nil)
		assert.Equal(t, w.call("read", bearer(token)).Code, 200)
		time.Sleep(time.Minute)
		release := make(chan struct{})
		w.issuer.answer(keysPath, func(r *http.Request) *response {
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return &response{200, nil, `{"keys":[` + jwk(t, w.issuer.signer, "k9") + `]}`}
		})
		unknown := sign(t, w.issuer.signer, jose.Header{Type: "at+jwt", KeyID: "k9"}, good(nil))
		results := make(chan int, 10)
		for range 3 {
			go func() { results <- w.call("read", bearer(unknown)).Code }()
		}
		synctest.Wait()
		assert.Equal(t, len(results), 0)
		begun := time.Now()
		assert.Equal(t, w.call("read", bearer(token)).Code, 200)
		assert.Equal(t, time.Since(begun), time.Duration(0))
		close(release)
		for range 3 {
			assert.Equal(t, <-results, 200)
		}
		assert.Equal(t, w.issuer.count(keysPath), 2)
	})
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		w.issuer.answer(keysPath, func(r *http.Request) *response {
			<-r.Context().Done() // it never answers
			return nil
		})
		begun := time.Now()
		assert.Equal(t, w.call("read", bearer(w.issuer.token(nil))).Code, 503)
		assert.Equal(t, time.Since(begun), 5*time.Second)
	})
}

// Cached keys are used for a while if they cannot be fetched.
func TestStaleKeys(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		token := w.issuer.token(claims{"exp": time.Now().Add(24 * time.Hour).Unix()})
		assert.Equal(t, w.call("read", bearer(token)).Code, 200)
		w.issuer.answer(keysPath, func(*http.Request) *response { return nil })
		for range 4*6 - 1 {
			time.Sleep(10 * time.Minute)
			assert.Equal(t, w.call("read", bearer(token)).Code, 200)
			assert.Equal(t, w.call("read", bearer(token)).Code, 200)
		}
		assert.Equal(t, w.issuer.count(keysPath), 24)
		time.Sleep(10 * time.Minute)
		rec := w.call("read", bearer(token))
		w.wants(rec, 503, "")
		assert.Equal(t, rec.Header().Get("Retry-After"), "10")
		w.issuer.answer(keysPath, nil)
		assert.Equal(t, w.call("read", bearer(token)).Code, 503, "too early to try again")
		time.Sleep(30 * time.Second)
		assert.Equal(t, w.call("read", bearer(token)).Code, 200)
	})
}

// What comes instead of keys makes no token good, and none bad either.
func TestBrokenKeys(t *testing.T) {
	for name, answer := range map[string]*response{
		"redirect":    {302, http.Header{"Location": {"https://evil.example/keys"}}, ""},
		"moved":       {308, http.Header{"Location": {issuerURL + "/other"}}, ""},
		"error":       {500, nil, ""},
		"not found":   {404, nil, ""},
		"no JSON":     {200, nil, "<html>"},
		"oversized":   {200, nil, `{"keys":[]` + strings.Repeat(" ", jose.MaxKeySet) + `}`},
		"none of use": {200, nil, `{"keys":[{"kty":"oct","k":"AAAA","kid":"k1"}]}`},
		"keys twice":  {200, nil, `{"keys":[],"keys":[]}`},
		"no keys":     {200, nil, `{}`},
		"many": {200, nil, `{"keys":[` +
			strings.TrimSuffix(strings.Repeat(`{"kty":"x"},`, 101), ",") + `]}`},
		"no connection": nil,
	} {
		in(t, auth.Options{}, func(t *testing.T, w *fixture) {
			w.issuer.answer(keysPath, func(*http.Request) *response { return answer })
			token := w.issuer.token(nil)
			assert.Equal(t, w.call("read", bearer(token)).Code, 503, name)
			assert.Equal(t, w.call("read", bearer(token)).Code, 503, name)
			assert.Equal(t, w.issuer.count(keysPath), 1, name)
			assert.Equal(t, w.issuer.count("/other"), 0)
			w.issuer.answer(keysPath, nil)
			time.Sleep(30 * time.Second)
			assert.Equal(t, w.call("read", bearer(token)).Code, 200, name)
			w.keepsSecret(token)
		})
	}
}

func TestDiscovery(t *testing.T) {
	document := func(issuer, keys string) func(*http.Request) *response {
		return func(*http.Request) *response {
			return &response{200, nil, `{"issuer":"` + issuer + `","jwks_uri":"` + keys + `"}`}
		}
	}
	gone := func(*http.Request) *response { return &response{404, nil, ""} }
	for name, tc := range map[string]struct {
		issuer string
		set    map[string]func(*http.Request) *response
		status int
	}{
		"OAuth": {issuerURL, nil, 200},
		"OpenID": {issuerURL,
			map[string]func(*http.Request) *response{metaPath: gone,
				oidcPath: document(issuerURL, issuerURL+keysPath)}, 200},
		"a page for what is not": {issuerURL,
			map[string]func(*http.Request) *response{metaPath: func(*http.Request) *response {
				return &response{200, nil, "<html>"}
			}, oidcPath: document(issuerURL, issuerURL+keysPath)}, 200},
		"with a path": {issuerURL + "/t",
			map[string]func(*http.Request) *response{metaPath +
				"/t": document(issuerURL+"/t", issuerURL+keysPath)}, 200},
		"OpenID with a path": {issuerURL + "/t",
			map[string]func(*http.Request) *response{oidcPath +
				"/t": document(issuerURL+"/t", issuerURL+keysPath)}, 200},
		"OpenID behind a path": {issuerURL + "/t",
			map[string]func(*http.Request) *response{"/t" +
				oidcPath: document(issuerURL+"/t", issuerURL+keysPath)}, 200},
		"of another issuer": {issuerURL,
			map[string]func(*http.Request) *response{
				metaPath: document("https://honest.example", issuerURL+keysPath)}, 503},
		"of almost the same issuer": {issuerURL,
			map[string]func(*http.Request) *response{
				metaPath: document(issuerURL+"/", issuerURL+keysPath)}, 503},
		"no keys": {issuerURL,
			map[string]func(*http.Request) *response{metaPath: document(issuerURL, "")}, 503},
		"keys without TLS": {issuerURL,
			map[string]func(*http.Request) *response{
				metaPath: document(issuerURL, "http://auth.example.com/keys")}, 503},
		"keys on this machine": {issuerURL,
			map[string]func(*http.Request) *response{
				metaPath: document(issuerURL, "http://127.0.0.1"+keysPath)}, 503},
		"keys of a file": {issuerURL,
			map[string]func(*http.Request) *response{
				metaPath: document(issuerURL, "file:///etc/passwd")}, 503},
		"nothing": {issuerURL, map[string]func(*http.Request) *response{metaPath: gone}, 503},
		"redirect": {issuerURL,
			map[string]func(*http.Request) *response{metaPath: func(*http.Request) *response {
				return &response{302, http.Header{"Location": {issuerURL + "/elsewhere"}}, ""}
			}, "/elsewhere": document(issuerURL, issuerURL+keysPath)}, 503},
		"oversized": {issuerURL,
			map[string]func(*http.Request) *response{metaPath: func(*http.Request) *response {
				return &response{200, nil, `{"issuer":"` + issuerURL + `","jwks_uri":"` +
					issuerURL + keysPath + `"}` + strings.Repeat(" ", 256<<10)}
			}}, 503},
	} {
		synctest.Test(t, func(t *testing.T) {
			i := newIssuer(t)
			for path, with := range tc.set {
				i.answer(path, with)
			}
			verify, err := auth.JWTOptions{Issuer: tc.issuer, Audience: resource,
				Client: i.client()}.New()
			assert.NilError(t, err)
			w := newFixture(t,
				auth.Options{Verify: verify, AuthorizationServers: []string{tc.issuer}})
			token := i.token(claims{"iss": tc.issuer})
			assert.Equal(t, w.call("read", bearer(token)).Code, tc.status, name)
			w.handler.Close()
		})
	}
}

// With the address of the keys configured, nothing else is asked for.
func TestKeysURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		verify, err := auth.JWTOptions{Issuer: issuerURL, Audience: "api://name",
			KeysURL: issuerURL + keysPath, Client: i.client(), Algorithms: []string{"ES256"}}.New()
		assert.NilError(t, err)
		id, err := verify(t.Context(),
			i.token(claims{"aud": "api://name", "azp": "x", "client_id": nil, "role": "admin"}))
		assert.NilError(t, err)
		assert.Equal(t, id.ClientID, "x")
		assert.Equal(t, string(id.Claims["role"]), `"admin"`)
		assert.Equal(t, i.count(metaPath), 0)
		rsa := newSigner(t, jose.RS256)
		i.publish(jwk(t, rsa, "k1"))
		time.Sleep(time.Minute)
		_, err = verify(t.Context(),
			sign(t, rsa, jose.Header{KeyID: "k1"}, good(claims{"aud": "api://name"})))
		assert.ErrorContains(t, err, "an unsupported algorithm")
	})
}

// The query of a configured URL may be secret, and is not in errors.
func TestKeysURLIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		verify, err := auth.JWTOptions{Issuer: issuerURL, Audience: "api://name",
			KeysURL: issuerURL + keysPath + "?key=secret", Client: i.client()}.New()
		assert.NilError(t, err)
		i.answer(keysPath, func(*http.Request) *response { return &response{status: 500} })
		_, err = verify(t.Context(), i.token(claims{"aud": "api://name"}))
		assert.ErrorContains(t, err, issuerURL+keysPath+": status 500")
		assert.Assert(t, !strings.Contains(err.Error(), "secret"), "%v", err)
	})
}
