package auth

import (
	"errors"
	"net/url"

	"github.com/stdwire/stdwire/internal/httpurl"
)

// checkURL rejects URLs that must not receive secrets and whose responses must not be trusted:
// those without TLS, except on the loopback interface (OAuth 2.1, section 1.5).
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("not a URL")
	case u.Host == "" || u.Opaque != "":
		return errors.New("the URL has no host")
	case u.User != nil:
		return errors.New("the URL must not contain a user")
	case u.Fragment != "":
		return errors.New("the URL must not have a fragment")
	case httpurl.IsSecure(u):
		return nil
	}
	return errors.New("the URL must be https:, or http: on this machine")
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }
