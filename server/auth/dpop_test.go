package auth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jose"
	"github.com/stdwire/stdwire/server/auth"
)

const noProof = `Bearer resource_metadata="` + metadata +
	`", scope="mcp", DPoP resource_metadata="` + metadata +
	`", scope="mcp", algs="ES256 EdDSA PS256 RS256"`

func badProof(description string) string {
	return noProof + `, error="invalid_dpop_proof", error_description="` + description + `"`
}

// A holder has a key, and tokens that are bound to it.
type holder struct {
	t      *testing.T
	signer *jose.Signer
	token  string
}

func (w *fixture) holder(t *testing.T, alg jose.Algorithm) *holder {
	s := newSigner(t, alg)
	return &holder{t, s, w.issuer.token(claims{"cnf": map[string]any{"jkt": s.Key().Thumbprint()}})}
}

var proofs atomic.Int64

// proof returns a good proof for a POST, with changes: nil takes a claim away.
func (h *holder) proof(changes claims) string {
	h.t.Helper()
	return h.proofOf(jose.Header{Type: "dpop+jwt", Key: h.signer.Key()}, changes)
}

func (h *holder) proofOf(head jose.Header, changes claims) string {
	h.t.Helper()
	hash := sha256.Sum256([]byte(h.token))
	c := claims{
		"jti": time.Duration(proofs.Add(1)).String(), "htm": "POST", "htu": resource,
		"iat": time.Now().Unix(), "ath": base64.RawURLEncoding.EncodeToString(hash[:]),
	}
	for name, value := range changes {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return sign(h.t, h.signer, head, c)
}

func (h *holder) with(proof string) header {
	return header("Authorization: DPoP " + h.token + "\nDPoP: " + proof)
}

func TestProofsMustBeVerified(t *testing.T) {
	in(t, auth.Options{DPoP: &auth.DPoPOptions{}}, func(t *testing.T, w *fixture) {
		h, other := w.holder(t, jose.ES256), w.holder(t, jose.ES256)
		now := time.Now().Unix()
		for name, tc := range map[string]struct {
			header header
			reason string // "": it is good
		}{
			"good":           {h.with(h.proof(nil)), ""},
			"a minute ago":   {h.with(h.proof(claims{"iat": now - 60})), ""},
			"a little ahead": {h.with(h.proof(claims{"iat": now + 30})), ""},
			"address in another form": {
				h.with(h.proof(claims{"htu": "HTTPS://MCP.EXAMPLE.COM:443/mcp?x=1#y"})), ""},
			"scheme in another case": {
				header("Authorization: dpop " + h.token + "\nDPoP: " + h.proof(nil)), ""},
			"none": {header("Authorization: DPoP " + h.token),
				"there must be one DPoP header of at most 8 KiB"},
			"two": {h.with(h.proof(nil)) + "\nDPoP: " +
				header(h.proof(nil)),
				"there must be one DPoP header of at most 8 KiB"},
			"huge": {
				h.with(h.proof(claims{"x": strings.Repeat("x", 8<<10)})),
				"there must be one DPoP header of at most 8 KiB"},
			"no JWT": {h.with("x"), "the proof is not a JWT"},
			"two in one": {h.with(h.proof(nil) + "," + h.proof(nil)),
				"the proof is not a JWT"},
			"another typ": {
				h.with(h.proofOf(jose.Header{Type: "JWT", Key: h.signer.Key()}, nil)),
				"the proof does not have the typ dpop+jwt and a jwk"},
			"no typ": {
				h.with(h.proofOf(jose.Header{Key: h.signer.Key()}, nil)),
				"the proof does not have the typ dpop+jwt and a jwk"},
			"no jwk": {h.with(h.proofOf(jose.Header{Type: "dpop+jwt"}, nil)),
				"the proof does not have the typ dpop+jwt and a jwk"},
			"the key of another": {
				h.with(h.proofOf(jose.Header{Type: "dpop+jwt", Key: other.signer.Key()}, nil)),
				"the proof is not signed by its jwk with a supported algorithm"},
			"alg none": {
				h.with(withHeader(h.proof(nil), `{"typ":"dpop+jwt","alg":"none","jwk":`+
					jwk(t, h.signer, "")+`}`)),
				"the proof is not signed by its jwk with a supported algorithm"},
			"HMAC": {
				h.with(withHeader(h.proof(nil),
					`{"typ":"dpop+jwt","alg":"HS256","jwk":{"kty":"oct","k":"AAAA"}}`)),
				"the proof is not a JWT"},
			"with its private half": {
				h.with(withHeader(h.proof(nil), `{"typ":"dpop+jwt","alg":"ES256","jwk":`+
					strings.TrimSuffix(jwk(t, h.signer, ""), "}")+`,"d":"AA"}}`)),
				"the proof is not a JWT"},
			"no jti": {h.with(h.proof(claims{"jti": nil})),
				"the proof's jti is missing or too long"},
			"huge jti": {
				h.with(h.proof(claims{"jti": strings.Repeat("x", 257)})),
				"the proof's jti is missing or too long"},
			"another method": {h.with(h.proof(claims{"htm": "GET"})),
				"the proof's htm does not match the method"},
			"method in lower case": {h.with(h.proof(claims{"htm": "post"})),
				"the proof's htm does not match the method"},
			"no method": {h.with(h.proof(claims{"htm": nil})),
				"the proof's htm does not match the method"},
			"method of another type": {h.with(h.proof(claims{"htm": []string{"POST"}})),
				"the proof's htm does not match the method"},
			"another host": {
				h.with(h.proof(claims{"htu": "https://evil.example/mcp"})),
				"the proof's htu does not match the URL"},
			"another port": {
				h.with(h.proof(claims{"htu": "https://mcp.example.com:8443/mcp"})),
				"the proof's htu does not match the URL"},
			"another scheme": {
				h.with(h.proof(claims{"htu": "http://mcp.example.com/mcp"})),
				"the proof's htu does not match the URL"},
			"another path": {h.with(h.proof(claims{"htu": resource + "/x"})),
				"the proof's htu does not match the URL"},
			"no address": {h.with(h.proof(claims{"htu": nil})),
				"the proof's htu does not match the URL"},
			"a user in the address": {
				h.with(h.proof(claims{"htu": "https://a@mcp.example.com/mcp"})),
				"the proof's htu does not match the URL"},
			"too old": {h.with(h.proof(claims{"iat": now - 61})),
				"the proof's iat is not recent"},
			"of the future": {h.with(h.proof(claims{"iat": now + 31})),
				"the proof's iat is not recent"},
			"no iat": {h.with(h.proof(claims{"iat": nil})),
				"the proof's iat is not recent"},
			"iat of another type": {h.with(h.proof(claims{"iat": "now"})),
				"the proof's claims are malformed"},
			"of another token": {h.with(h.proof(claims{"ath": encode("x")})),
				"the proof's ath does not match the token"},
			"of no token": {h.with(h.proof(claims{"ath": nil})),
				"the proof's ath does not match the token"},
			"a claim that is there twice": {
				h.with(sign(t, h.signer, jose.Header{Type: "dpop+jwt", Key: h.signer.Key()},
					raw(`{"jti":"x","jti":"y"}`))), "the proof's claims are malformed"},
		} {
			t.Log(name)
			rec := w.call("read", tc.header)
			if tc.reason == "" {
				w.wants(rec, 200, "")
				assert.Equal(t, len(w.called()), 1)
			} else {
				w.wants(rec, 401, badProof(tc.reason))
				assert.Equal(t, len(w.called()), 0)
			}
		}
		for _, alg := range []jose.Algorithm{jose.RS256, jose.PS256, jose.EdDSA} {
			h := w.holder(t, alg)
			w.wants(w.call("read", h.with(h.proof(nil))), 200, "")
		}
		// The proof of another, who has stolen the token, is good for nothing; neither is the token
		// alone.
		stolen := &holder{t, other.signer, h.token}
		w.wants(w.call("read", stolen.with(stolen.proof(nil))), 401, noProof+
			`, error="invalid_token", error_description="the token is bound to a different key than the proof's"`)
		assert.Equal(t, w.call("read", bearer(h.token)).Code, 401)
		assert.Equal(t, w.call("read", bearer(h.token)+"\nDPoP: "+header(h.proof(nil))).Code, 401)
		// An unbound token is refused with the scheme DPoP.
		plain := &holder{t, h.signer, w.issuer.token(nil)}
		assert.Equal(t, w.call("read", plain.with(plain.proof(nil))).Code, 401)
		w.wants(w.call("read", bearer(plain.token)), 200, "")
		w.wants(w.call("read", ""), 401, noProof)
		w.keepsSecret(h.token, plain.token)
	})
}

// withHeader puts another header before the rest of a token.
func withHeader(token, head string) string {
	_, rest, _ := strings.Cut(token, ".")
	return encode(head) + "." + rest
}

func TestProofsAreAcceptedOnce(t *testing.T) {
	in(t, auth.Options{DPoP: &auth.DPoPOptions{}}, func(t *testing.T, w *fixture) {
		h := w.holder(t, jose.ES256)
		replayed := badProof("the proof was used before")
		proof := h.proof(nil)
		results := make(chan int, 50)
		var all sync.WaitGroup
		for range cap(results) { // one of many that come at a time
			all.Go(func() { results <- w.call("read", h.with(proof)).Code })
		}
		all.Wait()
		close(results)
		good := 0
		for code := range results {
			if code == 200 {
				good++
			}
		}
		assert.Equal(t, good, 1)
		// For as long as it could be good at all.
		ahead := h.proof(claims{"iat": time.Now().Add(30 * time.Second).Unix(), "jti": "the one"})
		w.wants(w.call("read", h.with(ahead)), 200, "")
		for range 9 {
			time.Sleep(10 * time.Second)
			w.wants(w.call("read", h.with(ahead)), 401, replayed)
		}
		time.Sleep(time.Second)
		w.wants(w.call("read", h.with(ahead)), 401, badProof("the proof's iat is not recent"))
		// The same jti in another's proof is another.
		other := w.holder(t, jose.ES256)
		w.wants(w.call("read", h.with(h.proof(claims{"jti": "same"}))), 200, "")
		w.wants(w.call("read", other.with(other.proof(claims{"jti": "same"}))), 200, "")
	})
}

func TestNonces(t *testing.T) {
	in(t, auth.Options{DPoP: &auth.DPoPOptions{NonceKey: []byte(strings.Repeat("k", 32))}},
		func(t *testing.T, w *fixture) {
			h := w.holder(t, jose.ES256)
			wanted := noProof +
				`, error="use_dpop_nonce", error_description="the proof must have the nonce of this answer"`
			try := func(nonce any) *httptest.ResponseRecorder {
				return w.call("read", h.with(h.proof(claims{"nonce": nonce})))
			}
			rec := try(nil)
			w.wants(rec, 401, wanted)
			nonce := rec.Header().Get("DPoP-Nonce")
			assert.Equal(t, len(nonce), 22)
			rec = try(nonce)
			w.wants(rec, 200, "")
			assert.Equal(t, rec.Header().Get("DPoP-Nonce"), "")
			w.wants(try("x"), 401, wanted)
			w.wants(try([]string{nonce}), 401, wanted)

			time.Sleep(3 * time.Minute)
			rec = try(nonce) // good for a while, and told the next one
			w.wants(rec, 200, "")
			next := rec.Header().Get("DPoP-Nonce")
			assert.Assert(t, next != "" && next != nonce)
			w.wants(try(next), 200, "")
			time.Sleep(3 * time.Minute)
			w.wants(try(nonce), 401, wanted)
		})
}

func TestRequiredProofs(t *testing.T) {
	in(t, auth.Options{DPoP: &auth.DPoPOptions{Required: true}}, func(t *testing.T, w *fixture) {
		only := `DPoP resource_metadata="` + metadata +
			`", scope="mcp", algs="ES256 EdDSA PS256 RS256"`
		w.wants(w.call("read", ""), 401, only)
		w.wants(w.call("read", bearer(w.issuer.token(nil))), 401, only+
			`, error="invalid_token", error_description="the token is not bound to a key"`)
		h := w.holder(t, jose.ES256)
		w.wants(w.call("read", h.with(h.proof(nil))), 200, "")
		w.wants(w.call("read", bearer(h.token)), 401, only+
			`, error="invalid_token", error_description="the token is bound to a key, and was sent without a DPoP proof"`)
		document := object(t, w.do("GET", metadata, "", "").Body.Bytes())
		assert.Equal(t, document["dpop_bound_access_tokens_required"], true)
	})
}

// A proof is for the method and path that were really asked for.
func TestProofsOfOtherMethods(t *testing.T) {
	in(t, auth.Options{DPoP: &auth.DPoPOptions{}}, func(t *testing.T, w *fixture) {
		h := w.holder(t, jose.ES256)
		w.wants(w.do("DELETE", resource, "", "Mcp-Session-Id: x\n"+h.with(h.proof(nil))), 401,
			badProof("the proof's htm does not match the method"))
		assert.Equal(t, w.do("DELETE", resource, "", "Mcp-Session-Id: x\n"+
			h.with(h.proof(claims{"htm": "DELETE"}))).Code, 404)
	})
}
