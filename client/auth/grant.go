package auth

import (
	"context"
	"errors"

	"github.com/stdwire/stdwire/internal/oauth"
)

const (
	grantAuthorizationCode = "authorization_code"
	grantRefreshToken      = "refresh_token"
	grantClientCredentials = "client_credentials"
	grantJWTBearer         = "urn:ietf:params:oauth:grant-type:jwt-bearer"     // RFC 7523
	grantTokenExchange     = "urn:ietf:params:oauth:grant-type:token-exchange" // RFC 8693
)

// A Grant obtains tokens in the way of one OAuth grant type: [AuthorizationCode],
// [ClientCredentials], [JWTBearer], [IdentityAssertion] or [TokenExchange].
type Grant interface {
	check() error
	// grantType returns the grant type that is stored in [Key].Grant.
	grantType() string
	// unattended reports whether the grant works without a user.
	unattended() bool
	// checkServer returns an error if the grant cannot be used with an authorization server.
	checkServer(s *oauth.ServerMetadata) error
	// scopes returns the scopes to request, given those wanted.
	scopes(m *metadata, wanted []string) []string
	obtain(ctx context.Context, tr *tokenRequest) (*Credentials, error)
}

// isUnattended reports whether the configured grant works without a user.
func (a *Authorizer) isUnattended() bool {
	return a.options.Grant != nil && a.options.Grant.unattended()
}

// unattendedGrant is embedded in grants that work without a user.
type unattendedGrant struct{}

func (unattendedGrant) unattended() bool { return true }

func (unattendedGrant) checkServer(s *oauth.ServerMetadata) error {
	if s.TokenEndpoint == "" {
		return errors.New("the authorization server has no token endpoint")
	}
	return nil
}

func (unattendedGrant) scopes(_ *metadata, wanted []string) []string { return wanted }

// requireRegistration returns the registration in Options.Clients for the authorization server, and
// prepares the DPoP key.
func (tr *tokenRequest) requireRegistration() (*Registration, error) {
	r, err := tr.configuredRegistration()
	if err == nil && r == nil {
		err = errorf(StepRegistration, tr.metadata.authServer.Issuer,
			"Options.Clients has no registration for this authorization server")
	}
	if err == nil {
		err = tr.setDPoPKey()
	}
	return r, err
}
