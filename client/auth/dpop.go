package auth

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"net/url"
	"time"

	"github.com/stdwire/stdwire/internal/httpurl"
	"github.com/stdwire/stdwire/internal/jose"
)

const (
	headerDPoP  = "Dpop" // canonical form for net/http
	headerNonce = "Dpop-Nonce"
	maxNonce    = 1 << 10
	maxOrigins  = 16 // that nonces are kept for
)

// setDPoPKey reuses the DPoP key of the old credentials, or creates one. It does nothing if tokens
// need not be bound to a key.
func (tr *tokenRequest) setDPoPKey() error {
	switch {
	case !tr.metadata.dpopRequired:
		return nil
	case tr.old != nil && tr.old.signer != nil:
		tr.dpopSigner, tr.dpopKey = tr.old.signer, tr.old.DPoPKey
		return nil
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return newError(StepAssertion, "", err)
	}
	if tr.dpopKey, err = x509.MarshalPKCS8PrivateKey(private); err != nil {
		return newError(StepAssertion, "", err)
	}
	if tr.dpopSigner, err = jose.NewSigner(private, jose.ES256); err != nil {
		return newError(StepAssertion, "", err)
	}
	return nil
}

// dpopProof returns a DPoP proof for a request, signed with the key of the token (RFC 9449, section
// 4.2). It is bound to accessToken unless that is empty.
func (a *Authorizer) dpopProof(signer *jose.Signer, method string, u *url.URL, accessToken,
	nonce string) (string, error) {
	claims := struct {
		ID       string `json:"jti"`
		Method   string `json:"htm"`
		URL      string `json:"htu"`
		IssuedAt int64  `json:"iat"`
		Hash     string `json:"ath,omitempty"`
		Nonce    string `json:"nonce,omitempty"`
	}{ID: rand.Text(), Method: method, IssuedAt: time.Now().Unix(), Nonce: nonce}
	plain := httpurl.Public(u)
	plain.Path = cmp.Or(plain.Path, "/")
	claims.URL = plain.String()
	if accessToken != "" {
		sum := sha256.Sum256([]byte(accessToken))
		claims.Hash = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return signer.Sign(jose.Header{Type: "dpop+jwt", Key: signer.Key()}, claims)
}

// dpopNonce returns the latest nonce of the server at u, "" if it has sent none.
func (a *Authorizer) dpopNonce(u *url.URL) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nonces[origin(u)]
}

// saveNonce saves the nonce in the header of a response (RFC 9449, sections 8 and 9).
func (a *Authorizer) saveNonce(u *url.URL, h http.Header) {
	nonce := h.Get(headerNonce)
	if !isVisible(nonce) || len(nonce) > maxNonce {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.nonces[origin(u)] != "" || len(a.nonces) < maxOrigins {
		a.nonces[origin(u)] = nonce
	}
}
