package target

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/internal/userfile"
)

// OpenCredentials returns the store of the user's credentials for servers at a URL.
func OpenCredentials() (auth.FileStore, error) {
	dir, err := StateFile("credentials")
	return auth.FileStore{Dir: dir}, err
}

// Authorizer returns the authorizer of requests to the server at e.URL. byUser obtains a token from
// the user; with nil, only stored credentials are used. The authorization server is trusted by the
// authorities of e.TLS and those of the system; it is not shown the certificate of e.TLS.
func Authorizer(e *config.Endpoint, byUser auth.Grant) (*auth.Authorizer, error) {
	var ca []byte
	if e.TLS.CA != "" {
		var err error
		if ca, err = userfile.Read(e.TLS.CA, userfile.MaxPEM); err != nil {
			return nil, fmt.Errorf("tlsCA: %w", err)
		}
	}
	return authorizer(e, ca, byUser)
}

// authorizer is Authorizer with the content of the file of authorities.
func authorizer(e *config.Endpoint, ca []byte, byUser auth.Grant) (*auth.Authorizer, error) {
	store, err := OpenCredentials()
	if err != nil {
		return nil, err
	}
	options := auth.Options{Name: "stdwire", Store: store, Grant: byUser, TLS: authorityTLS(ca)}
	if o := e.OAuth; o != nil {
		options.Scopes, options.AllowPrivate = strings.Fields(o.Scope), o.AllowPrivate
		options.Issuer = o.Issuer
		if o.ClientID != "" {
			options.Clients = []auth.Registration{
				{Issuer: o.Issuer, ClientID: o.ClientID, Secret: o.ClientSecret}}
		}
		if o.ClientCredentials {
			options.Grant = auth.ClientCredentials{}
		}
	}
	return options.New(e.URL)
}

// authorityTLS returns a configuration that trusts the certificates in the content of a file, in
// addition to those of the system. It returns nil without a file.
func authorityTLS(ca []byte) *tls.Config {
	if ca == nil {
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // the system has none
	}
	pool.AppendCertsFromPEM(ca) // loadTLS has reported a file without certificates
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
}

// dialAuthorized returns the transport to the server at e.URL, with the stored credentials for it.
// observe, if not nil, wraps the transport of the requests, which then have their credentials.
// c is the content of e.TLS, and ca that of its file of authorities, or nil.
func dialAuthorized(e *config.Endpoint, header http.Header, c *tls.Config, ca []byte,
	observe func(http.RoundTripper) http.RoundTripper) client.Transport {
	options := streamable.Options{Header: header, TLS: c, Wrap: observe}
	if e.OAuth == nil || !e.OAuth.Disabled {
		// Without a home directory there are no credentials; Dial reports an invalid URL.
		if a, err := authorizer(e, ca, nil); err == nil {
			options.Wrap = a.Wrap
			if observe != nil {
				options.Wrap = func(rt http.RoundTripper) http.RoundTripper {
					return a.Wrap(observe(rt))
				}
			}
		}
	}
	return options.Dial(e.URL)
}
