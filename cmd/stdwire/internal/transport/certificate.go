package transport

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/stdwire/stdwire/server/auth"
)

var errCertificate = errors.New("the connection has no client certificate that is valid now")

// certificateIdentity returns the identity of the client whose certificate was verified.
func certificateIdentity(r *http.Request) (*auth.Identity, error) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil, errCertificate
	}
	chain := r.TLS.VerifiedChains[0]
	// A connection may live on after its certificate has expired.
	if !time.Now().Before(chain[0].NotAfter) {
		return nil, errCertificate
	}
	return identityOf(chain[0], chain[len(chain)-1]), nil
}

// identityOf returns the identity of a certificate that an authority of --tls-client-ca has issued,
// perhaps through others. The subject is the first of the names of the certificate for another
// purpose than display: a URI, a host, an e-mail address; or else its whole distinguished name,
// which is like none of these, so that no name of one kind passes for one of another.
func identityOf(c, authority *x509.Certificate) *auth.Identity {
	id := &auth.Identity{Issuer: "x509:" + strings.ReplaceAll(authority.Subject.String(), "#", "%23"),
		Groups: c.Subject.OrganizationalUnit, Expires: c.NotAfter,
		Claims: make(map[string]json.RawMessage)}
	var uris, addresses []string
	for _, u := range c.URIs {
		if u.Scheme != "" { // otherwise it could be taken for a name of another kind
			uris = append(uris, u.String())
		}
	}
	for _, ip := range c.IPAddresses {
		addresses = append(addresses, ip.String())
	}
	for _, names := range []struct {
		claim string
		names []string
		name  bool // can be the subject
	}{
		{"uri", uris, true},
		{"dns", c.DNSNames, true},
		{"email", c.EmailAddresses, true},
		{"ip", addresses, false},
		{"cn", nonEmpty(c.Subject.CommonName), false},
		{"o", c.Subject.Organization, false},
	} {
		if len(names.names) == 0 {
			continue
		}
		id.Claims[names.claim], _ = json.Marshal(names.names) // texts can be encoded
		if names.name && id.Subject == "" {
			id.Subject = names.names[0]
		}
	}
	if id.Subject == "" {
		id.Subject = c.Subject.String()
	}
	if id.Subject == "" {
		sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
		id.Subject = "sha256:" + hex.EncodeToString(sum[:])
	}
	return id
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
