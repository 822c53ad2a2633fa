package auth

import (
	"cmp"
	"errors"

	"github.com/stdwire/stdwire/internal/jsonexact"
)

// MetadataDocument is what has to be served at MetadataURL, as JSON (OAuth Client ID Metadata Document, section 4; 2026-07-28, Client Registration). The Grant
// is an [AuthorizationCode], and its RedirectURL should have a port, if it is not an https: URL: authorization servers may take no other than the one that is
// written there.
func (o Options) MetadataDocument() ([]byte, error) {
	g, ok := o.Grant.(AuthorizationCode)
	switch {
	case !ok:
		return nil, errors.New("auth: a metadata document is for a client with the Grant AuthorizationCode")
	case o.MetadataURL == "":
		return nil, errors.New("auth: without Options.MetadataURL there is no metadata document")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return jsonexact.Marshal(struct {
		ClientID     string   `json:"client_id"`
		Name         string   `json:"client_name"`
		RedirectURIs []string `json:"redirect_uris"`
		Grants       []string `json:"grant_types"`
		Responses    []string `json:"response_types"`
		Method       string   `json:"token_endpoint_auth_method"`
	}{o.MetadataURL, cmp.Or(o.Name, defaultName), []string{cmp.Or(g.RedirectURL, defaultRedirect)}, []string{grantAuthorizationCode, grantRefreshToken}, []string{"code"}, methodNone})
}
