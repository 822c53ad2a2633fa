package oauth

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/stdwire/stdwire/internal/jsonexact"
)

// MaxDocument is how many bytes a metadata document may have.
const MaxDocument = 256 << 10

// ResourceMetadata is what a protected resource says of itself (RFC 9728, section 2).
type ResourceMetadata struct {
	Resource              string   `json:"resource"`
	AuthorizationServers  []string `json:"authorization_servers,omitempty"`
	JWKSURI               string   `json:"jwks_uri,omitempty"`
	ScopesSupported       []string `json:"scopes_supported,omitempty"`
	BearerMethods         []string `json:"bearer_methods_supported,omitempty"`
	Name                  string   `json:"resource_name,omitempty"`
	Documentation         string   `json:"resource_documentation,omitempty"`
	PolicyURI             string   `json:"resource_policy_uri,omitempty"`
	TermsOfServiceURI     string   `json:"resource_tos_uri,omitempty"`
	DPoPSigningAlgs       []string `json:"dpop_signing_alg_values_supported,omitempty"`
	DPoPBoundTokensNeeded bool     `json:"dpop_bound_access_tokens_required,omitempty"`
}

// ServerMetadata is what an authorization server says of itself (RFC 8414, section 2; OpenID Connect Discovery 1.0, section 3; RFC 9207, section 3; RFC 9449, section 5.1).
type ServerMetadata struct {
	Issuer                   string   `json:"issuer"`
	AuthorizationEndpoint    string   `json:"authorization_endpoint,omitempty"`
	TokenEndpoint            string   `json:"token_endpoint,omitempty"`
	RegistrationEndpoint     string   `json:"registration_endpoint,omitempty"`
	IntrospectionEndpoint    string   `json:"introspection_endpoint,omitempty"`
	RevocationEndpoint       string   `json:"revocation_endpoint,omitempty"`
	JWKSURI                  string   `json:"jwks_uri,omitempty"`
	ScopesSupported          []string `json:"scopes_supported,omitempty"`
	ResponseTypes            []string `json:"response_types_supported,omitempty"`
	GrantTypes               []string `json:"grant_types_supported,omitempty"`
	TokenAuthMethods         []string `json:"token_endpoint_auth_methods_supported,omitempty"`
	TokenAuthSigningAlgs     []string `json:"token_endpoint_auth_signing_alg_values_supported,omitempty"`
	CodeChallengeMethods     []string `json:"code_challenge_methods_supported,omitempty"`
	DPoPSigningAlgs          []string `json:"dpop_signing_alg_values_supported,omitempty"`
	IssParameter             bool     `json:"authorization_response_iss_parameter_supported,omitempty"`
	ClientIDMetadataDocument bool     `json:"client_id_metadata_document_supported,omitempty"`
}

// ParseResourceMetadata reads the document of a protected resource. Unknown members are skipped; a key that occurs twice, a value of another type, and more than [MaxDocument] bytes are
// refused, and so is a resource that is no absolute URL, or one with a fragment. Whether it is the resource that was meant is for the caller to compare.
func ParseResourceMetadata(data []byte) (*ResourceMetadata, error) {
	m := new(ResourceMetadata)
	if err := parse(data, m); err != nil {
		return nil, err
	}
	if err := identifier("resource", m.Resource); err != nil {
		return nil, err
	}
	for _, issuer := range m.AuthorizationServers {
		if err := identifier("authorization_servers", issuer); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// ParseServerMetadata reads the document of an authorization server, as [ParseResourceMetadata] does. Whether its issuer is the one that was asked is for the caller to compare, byte by byte.
func ParseServerMetadata(data []byte) (*ServerMetadata, error) {
	m := new(ServerMetadata)
	if err := parse(data, m); err != nil {
		return nil, err
	}
	if err := identifier("issuer", m.Issuer); err != nil {
		return nil, err
	}
	return m, nil
}

func parse(data []byte, v any) error {
	if len(data) > MaxDocument {
		return fmt.Errorf("the document has more than %d bytes", MaxDocument)
	}
	if err := jsonexact.Unmarshal(data, v); err != nil {
		return fmt.Errorf("the document is none: %w", err)
	}
	return nil
}

// identifier checks what identifies a resource or a server: an absolute URL without fragment (RFC 8707, section 2; RFC 8414, section 2).
func identifier(member, value string) error {
	switch u, err := url.Parse(value); {
	case value == "":
		return fmt.Errorf("%s is missing", member)
	case err != nil:
		return fmt.Errorf("%s is no URL", member)
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return fmt.Errorf("%s is not an absolute URL of https: or http:", member)
	case u.Fragment != "" || value[len(value)-1] == '#':
		return fmt.Errorf("%s has a fragment", member)
	case u.User != nil:
		return errors.New(member + " names a user")
	}
	return nil
}
