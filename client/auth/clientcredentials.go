package auth

import (
	"context"
	"net/url"
)

// ClientCredentials obtains tokens for the program itself. The program authenticates with the
// secret or key of a registration in Options.Clients (OAuth 2.1, section 4.2; MCP extension OAuth
// Client Credentials).
type ClientCredentials struct{ unattendedGrant }

func (ClientCredentials) check() error { return nil }

func (ClientCredentials) grantType() string { return grantClientCredentials }

func (ClientCredentials) obtain(ctx context.Context, tr *tokenRequest) (*Credentials, error) {
	r, err := tr.requireRegistration()
	if err != nil {
		return nil, err
	}
	form := url.Values{"grant_type": {grantClientCredentials}}
	return tr.obtainCredentials(ctx, r, r.ClientID, form)
}
