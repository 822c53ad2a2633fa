package oauth

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/stdwire/stdwire/internal/jsonexact"
)

// MaxDocument is the maximal size of a metadata document in bytes.
const MaxDocument = 256 << 10

// ResourceMetadata is the metadata of a protected resource (RFC 9728, section 2).
type ResourceMetadata struct {
	Resource              string   `json:"resource"`
	AuthorizationServers  []string `json:"authorization_servers,omitempty"`
	ScopesSupported       []string `json:"scopes_supported,omitempty"`
	BearerMethods         Texts    `json:"bearer_methods_supported,omitempty"`
	Name                  Text     `json:"resource_name,omitempty"`
	Documentation         Text     `json:"resource_documentation,omitempty"`
	DPoPSigningAlgs       []string `json:"dpop_signing_alg_values_supported,omitempty"`
	DPoPBoundTokensNeeded bool     `json:"dpop_bound_access_tokens_required,omitempty"`
}

// ServerMetadata is the metadata of an authorization server (RFC 8414, section 2; OpenID Connect
// Discovery 1.0, section 3; RFC 9207, section 3; RFC 9449, section 5.1).
type ServerMetadata struct {
	Issuer                   string   `json:"issuer"`
	AuthorizationEndpoint    string   `json:"authorization_endpoint,omitempty"`
	TokenEndpoint            string   `json:"token_endpoint,omitempty"`
	RegistrationEndpoint     string   `json:"registration_endpoint,omitempty"`
	IntrospectionEndpoint    Text     `json:"introspection_endpoint,omitempty"`
	RevocationEndpoint       Text     `json:"revocation_endpoint,omitempty"`
	JWKSURI                  Text     `json:"jwks_uri,omitempty"`
	ScopesSupported          []string `json:"scopes_supported,omitempty"`
	TokenAuthMethods         []string `json:"token_endpoint_auth_methods_supported,omitempty"`
	CodeChallengeMethods     []string `json:"code_challenge_methods_supported,omitempty"`
	DPoPSigningAlgs          []string `json:"dpop_signing_alg_values_supported,omitempty"`
	IssParameter             bool     `json:"authorization_response_iss_parameter_supported,omitempty"`
	ClientIDMetadataDocument bool     `json:"client_id_metadata_document_supported,omitempty"`
}

// Text is a member that not every reader of a document uses. A value of another type counts as
// absent, so that it does not disable the rest.
type Text string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Text) UnmarshalJSON(data []byte) error {
	var text string
	if jsonexact.Unmarshal(data, &text) == nil {
		*t = Text(text)
	}
	return nil
}

// Texts is a list as [Text] is a string.
type Texts []string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Texts) UnmarshalJSON(data []byte) error {
	var texts []string
	if jsonexact.Unmarshal(data, &texts) == nil {
		*t = texts
	}
	return nil
}

// ErrNotMetadata means that a JSON document has nothing of a metadata document, such as the one
// with which a site answers all URLs that it does not know.
var ErrNotMetadata = errors.New("the document is not metadata")

// ParseResourceMetadata parses the metadata of a protected resource. It ignores unknown members. It
// fails for a key that occurs twice, a value of the wrong type other than of a [Text] or [Texts],
// more than [MaxDocument] bytes, and a resource that is not an absolute URL or has a fragment. The
// error wraps [ErrNotMetadata] if the document is any other object. The caller must compare the
// resource with the one it expects.
func ParseResourceMetadata(data []byte) (*ResourceMetadata, error) {
	m := new(ResourceMetadata)
	if err := parse(data, m); err != nil {
		return nil, err
	}
	if m.Resource == "" && m.AuthorizationServers == nil {
		return nil, fmt.Errorf("%w: resource is missing", ErrNotMetadata)
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

// ParseServerMetadata parses the metadata of an authorization server as [ParseResourceMetadata]
// does. The caller must compare the issuer, byte by byte, with the one it expects.
func ParseServerMetadata(data []byte) (*ServerMetadata, error) {
	m := new(ServerMetadata)
	if err := parse(data, m); err != nil {
		return nil, err
	}
	if m.Issuer == "" && m.AuthorizationEndpoint == "" && m.TokenEndpoint == "" {
		return nil, fmt.Errorf("%w: issuer is missing", ErrNotMetadata)
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
		return fmt.Errorf("the document is not valid: %w", err)
	}
	return nil
}

// identifier checks the identifier of a resource or a server: an absolute URL without a fragment
// (RFC 8707, section 2; RFC 8414, section 2).
func identifier(member, value string) error {
	switch u, err := url.Parse(value); {
	case value == "":
		return fmt.Errorf("%s is missing", member)
	case err != nil:
		return fmt.Errorf("%s is not a URL", member)
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return fmt.Errorf("%s is not an absolute URL of https: or http:", member)
	case u.Fragment != "" || value[len(value)-1] == '#':
		return fmt.Errorf("%s has a fragment", member)
	case u.User != nil:
		return errors.New(member + " names a user")
	}
	return nil
}
