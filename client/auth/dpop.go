package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"net/url"
	"time"

	"github.com/stdwire/stdwire/internal/jose"
)

const (
	headerDPoP  = "Dpop" // in the form that net/http keeps it in
	headerNonce = "Dpop-Nonce"
	maxNonce    = 1 << 10
	maxOrigins  = 16 // whose nonces are kept
)

// setDPoPKey makes the key that a token is bound to, or takes the one that there is.
func (e *tokenRequest) setDPoPKey() error {
	switch {
	case !e.metadata.dpopRequired:
		return nil
	case e.old != nil && e.old.signer != nil:
		e.dpopSigner, e.dpopKey = e.old.signer, e.old.DPoPKey
		return nil
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return newError(StepAssertion, "", err)
	}
	if e.dpopKey, err = x509.MarshalPKCS8PrivateKey(private); err != nil {
		return newError(StepAssertion, "", err)
	}
	if e.dpopSigner, err = jose.NewSigner(private, jose.ES256); err != nil {
		return newError(StepAssertion, "", err)
	}
	return nil
}

// dpopProof shows that whoever makes a request has the key (RFC 9449, section 4.2). With an access token it is for that one only.
func (a *Authorizer) dpopProof(signer *jose.Signer, method string, at *url.URL, accessToken, nonce string) (string, error) {
	claims := struct {
		ID       string `json:"jti"`
		Method   string `json:"htm"`
		URL      string `json:"htu"`
		IssuedAt int64  `json:"iat"`
		Hash     string `json:"ath,omitempty"`
		Nonce    string `json:"nonce,omitempty"`
	}{ID: rand.Text(), Method: method, IssuedAt: time.Now().Unix(), Nonce: nonce}
	plain := *at
	plain.User, plain.RawQuery, plain.ForceQuery, plain.Fragment, plain.RawFragment = nil, "", false, "", ""
	if plain.Path == "" {
		plain.Path = "/"
	}
	claims.URL = plain.String()
	if accessToken != "" {
		sum := sha256.Sum256([]byte(accessToken))
		claims.Hash = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return signer.Sign(jose.Header{Type: "dpop+jwt", Key: signer.Key()}, claims)
}

// dpopNonce is the last one that a server wants in proofs; "" if it wants none.
func (a *Authorizer) dpopNonce(at *url.URL) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nonces[origin(at)]
}

// saveNonce keeps the nonce that an answer brings (RFC 9449, sections 8 and 9).
func (a *Authorizer) saveNonce(at *url.URL, h http.Header) {
	nonce := h.Get(headerNonce)
	if !isToken(nonce) || len(nonce) > maxNonce {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.nonces[origin(at)] != "" || len(a.nonces) < maxOrigins {
		a.nonces[origin(at)] = nonce
	}
}
