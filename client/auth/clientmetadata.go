package auth

import (
	"cmp"
	"errors"

	"github.com/stdwire/stdwire/internal/jsonexact"
)

// MetadataDocument returns the JSON document to serve at MetadataURL (OAuth Client ID Metadata
// Document, section 4; 2026-07-28, Client Registration). Grant must be an [AuthorizationCode]. If
// its RedirectURL is an http: URL, it should have a port, because authorization servers may accept
// only the exact redirect URIs of the document.
func (o Options) MetadataDocument() ([]byte, error) {
	g, ok := o.Grant.(AuthorizationCode)
	switch {
	case !ok:
		return nil, errors.New("auth: a metadata document needs the Grant AuthorizationCode")
	case o.MetadataURL == "":
		return nil, errors.New("auth: a metadata document needs Options.MetadataURL")
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
	}{
		ClientID:     o.MetadataURL,
		Name:         cmp.Or(o.Name, defaultName),
		RedirectURIs: []string{cmp.Or(g.RedirectURL, defaultRedirect)},
		Grants:       []string{grantAuthorizationCode, grantRefreshToken},
		Responses:    []string{"code"},
		Method:       methodNone,
	})
}
