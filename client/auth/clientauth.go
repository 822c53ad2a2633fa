package auth

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/jose"
)

const (
	methodNone          = "none"
	methodBasic         = "client_secret_basic"
	methodPost          = "client_secret_post"
	methodPrivateKeyJWT = "private_key_jwt"
)

// chooseAuthMethod returns the client authentication method to use. offered lists those that the
// authorization server supports; nil means unknown.
func (r *Registration) chooseAuthMethod(offered []string) (string, error) {
	if r.AuthMethod != "" {
		return r.AuthMethod, nil // the method is part of the registration
	}
	supported := []string{methodNone}
	switch {
	case r.Key != nil:
		supported = []string{methodPrivateKeyJWT}
	case r.Secret != "":
		supported = []string{methodBasic, methodPost, methodNone}
	}
	for _, m := range supported {
		if offered == nil || slices.Contains(offered, m) {
			return m, nil
		}
	}
	return "", fmt.Errorf(
		"the client can authenticate by %s, but the authorization server accepts only %s",
		strings.Join(supported, ", "), sanitize(strings.Join(offered, ", ")))
}

// authenticate adds the client's authentication to the header or form of a request (OAuth 2.1,
// section 2.4; RFC 7523, section 2.2).
func (r *Registration) authenticate(offered []string, audience string, header http.Header,
	form url.Values) error {
	method, err := r.chooseAuthMethod(offered)
	if err != nil {
		return err
	}
	switch method {
	case methodNone:
		form.Set("client_id", r.ClientID)
	case methodPost:
		form.Set("client_id", r.ClientID)
		form.Set("client_secret", r.Secret)
	case methodBasic:
		basic := url.QueryEscape(r.ClientID) + ":" + url.QueryEscape(r.Secret)
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(basic)))
	case methodPrivateKeyJWT:
		signer, err := r.signer()
		if err != nil {
			return err
		}
		const valid = time.Minute
		now := time.Now()
		assertion, err := signer.Sign(jose.Header{Type: "JWT", KeyID: r.KeyID}, jose.Claims{
			Issuer: r.ClientID, Subject: r.ClientID, Audience: jose.Audience{audience},
			ID:       rand.Text(),
			IssuedAt: jose.NumericDate{Time: now}, Expires: jose.NumericDate{Time: now.Add(valid)},
		})
		if err != nil {
			return err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	default:
		return fmt.Errorf("unsupported client authentication method %q", sanitize(method))
	}
	return nil
}

func (r *Registration) signer() (*jose.Signer, error) {
	if r.Key == nil {
		return nil, errors.New("private_key_jwt needs a Key")
	}
	return jose.NewSigner(r.Key, jose.Algorithm(r.Algorithm))
}
