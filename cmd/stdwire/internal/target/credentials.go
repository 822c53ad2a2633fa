package target

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/streamable"
)

// OpenCredentials returns the store of the user's credentials for servers at a URL.
func OpenCredentials() (auth.FileStore, error) {
	dir, err := StateFile("credentials")
	return auth.FileStore{Dir: dir}, err
}

// Authorizer returns the authorizer of requests to the server at a URL. o is the oauth member of
// its configuration, or nil. byUser obtains a token from the user; with nil, only stored
// credentials are used.
func Authorizer(endpoint string, o *config.OAuth, byUser auth.Grant) (*auth.Authorizer, error) {
	store, err := OpenCredentials()
	if err != nil {
		return nil, err
	}
	options := auth.Options{Name: "stdwire", Store: store, Grant: byUser}
	if o != nil {
		options.Scopes, options.AllowPrivate = strings.Fields(o.Scope), o.AllowPrivate
		if o.ClientID != "" {
			options.Clients = []auth.Registration{
				{Issuer: o.Issuer, ClientID: o.ClientID, Secret: o.ClientSecret}}
		}
		if o.ClientCredentials {
			options.Grant = auth.ClientCredentials{}
		}
	}
	return options.New(endpoint)
}

// dialAuthorized returns the transport to the server at a URL, with the stored credentials for it.
// observe, if not nil, wraps the transport of the requests, which then have their credentials.
// c is nil for the default.
func dialAuthorized(endpoint string, header http.Header, c *tls.Config,
	o *config.OAuth, observe func(http.RoundTripper) http.RoundTripper) client.Transport {
	options := streamable.Options{Header: header, TLS: c, Wrap: observe}
	if o == nil || !o.Disabled {
		// Without a home directory there are no credentials; Dial reports an invalid URL.
		if a, err := Authorizer(endpoint, o, nil); err == nil {
			options.Wrap = a.Wrap
			if observe != nil {
				options.Wrap = func(rt http.RoundTripper) http.RoundTripper {
					return a.Wrap(observe(rt))
				}
			}
		}
	}
	return options.Dial(endpoint)
}

// PublicURL returns a URL without user, password, query and fragment, which may be secret, and
// whether that is the whole URL.
func PublicURL(text string) (shown string, whole bool) {
	u, err := url.Parse(text)
	if err != nil {
		return "", false
	}
	shown = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
	return shown, shown == text
}
