package auth_test

import (
	"testing"

	"github.com/stdwire/stdwire/internal/conformance"
)

// A requirement is a MUST or SHOULD of MCP's authorization pages for clients, in few words, with
// the tests that cover it. Text after a dash says why there is no test, or what the tests leave
// open.
type requirement = conformance.Claim

const noServer = "- of servers and authorization servers: this is a client"

var requirements = map[string][]requirement{
	"2026-07-28 basic/authorization": {
		{"other transports follow the security practices of their protocol",
			"- there is no authorization but over HTTP"},
		{"SHOULD: client ID metadata documents are supported",
			"TestOrderOfRegistrations TestMetadataDocumentMustBeComplete"},
		{"the authorization server is found by the metadata of the protected resource",
			"TestFlow TestResourceMetadataURLs"},
		{"both well-known URLs of authorization server metadata are supported",
			"TestServerMetadataURLs"},
		{"the client id comes from a registration, a metadata document or dynamic registration",
			"TestOrderOfRegistrations"},
		{"the scopes of the challenge are authoritative, whatever scopes_supported says",
			"TestScopeSelection"},
		{"SHOULD: request the challenge's scopes, or else all of scopes_supported, or else none",
			"TestScopeSelection"},
		{"SHOULD: previous scopes are requested with those of a challenge", "TestStepUp"},
		{"the issuer of validated metadata is recorded with verifier and state before the redirect",
			"TestAuthorizationResponsesMustBeValidated TestIssuerMustMatch"},
		{"iss is validated before the code is sent anywhere: each row of the table",
			"TestAuthorizationResponsesMustBeValidated"},
		{"iss is compared without any normalization", "TestAuthorizationResponsesMustBeValidated"},
		{"an error from another issuer is neither acted on nor displayed",
			"TestAuthorizationResponsesMustBeValidated"},
		{"resource is in authorization and token requests to every authorization server",
			"TestFlow TestServersOf20250326 TestRefresh TestClientCredentials TestJWTBearer TestIdentityAssertion"},
		{"resource is the canonical URI of the MCP server",
			"TestResourceMustMatchTheEndpoint"},
		{"the token is in the Authorization header", "TestFlow"},
		{"the token is in every request", "TestEveryRequestMustBeAuthorized"},
		{"no token is in a query", "TestFlow TestEveryRequestMustBeAuthorized"},
		{"only tokens of the server's authorization server are sent",
			"TestTokensMustBeSentToTheirServerOnly TestMigration TestRegistrationsAreBound"},
		{"refresh tokens are kept confidential",
			"TestFileStore TestDamagedFiles TestCredentialsAreNotPrinted TestSecretsAreNotRedirected TestURLsMustBeSafe"},
		{"SHOULD: refresh_token is in grant_types", "TestFlow TestMetadataDocumentMustBeComplete"},
		{"a refresh token is not assumed to be issued", "TestRefreshTokensMustNotBeAssumed"},
		{"SHOULD: insufficient_scope leads to a step-up authorization", "TestStepUp"},
		{"SHOULD: retries are limited, and failed step-ups remembered",
			"TestStepUpsAreBounded TestRefusalsAreBounded"},
		{"the security considerations are followed",
			"TestAuthorizationResponsesMustBeValidated TestTokensMustBeSentOverTLS - see their page below"},
	},
	"2026-07-28 basic/authorization/authorization-server-discovery": {
		{"registrations and tokens are kept by authorization server",
			"TestFileStore TestMigration TestRegistrationsAreBound"},
		{"credentials of one authorization server are not assumed to be valid at another",
			"TestMigration TestRegistrationsAreBound"},
		{"resource metadata is at the challenge's URL, or at the well-known URLs, in this order",
			"TestResourceMetadataURLs"},
		{"WWW-Authenticate is parsed, and 401 handled",
			"TestResourceMetadataURLs TestFlow TestWithoutGrant"},
		{"the well-known URLs of the issuer are tried in order",
			"TestServerMetadataURLs"},
		{"metadata with another issuer is not used",
			"TestIssuerMustMatch"},
	},
	"2026-07-28 basic/authorization/client-registration": {
		{"SHOULD: prefer pre-registration, then the metadata document, then dynamic registration",
			"TestOrderOfRegistrations"},
		{"SHOULD: without any of these, the user is asked for client information",
			"TestBadServerMetadata - the error says so; asking is the application's"},
		{"the document's URL is https and has a path", "TestOptionsAreChecked"},
		{"the document has client_id, client_name and redirect_uris, and the client_id is its URL",
			"TestMetadataDocumentMustBeComplete - serving it is the application's"},
		{"SHOULD: check that the authorization server supports metadata documents",
			"TestOrderOfRegistrations"},
		{"dynamic registration has the right application_type",
			"TestApplicationTypeMustBeSent"},
		{"refused registrations are handled, and the error says why",
			"TestRegistrationResponses"},
		{"registrations are bound to their issuer, and not used with another",
			"TestRegistrationsAreBound TestMigration"},
		{"the client registers again at another authorization server", "TestMigration"},
		{"SHOULD: a registration that does not fit is an error", "TestRegistrationsAreBound"},
	},
	"2026-07-28 basic/authorization/security-considerations": {
		{"resource is in authorization and token requests",
			"TestFlow TestResourceMustMatchTheEndpoint"},
		{"tokens are stored securely",
			"TestFileStore TestDamagedFiles TestSymbolicLinkInAStore TestCredentialsAreNotPrinted TestConfiguredSecretsAreNotKept"},
		{"all endpoints of the authorization server are https",
			"TestURLsMustBeSafe TestBadServerMetadata TestBadResourceMetadata TestTokensMustBeSentOverTLS"},
		{"redirect URIs are loopback or https", "TestOptionsAreChecked"},
		{"PKCE with S256 is used", "TestFlow"},
		{"an authorization server without PKCE in its metadata is refused",
			"TestBadServerMetadata"},
		{"mix-up attacks: the authorization response is validated",
			"TestAuthorizationResponsesMustBeValidated"},
		{"redirect URIs are registered", "TestFlow TestCallback"},
		{"SHOULD: state is used and verified",
			"TestAuthorizationResponsesMustBeValidated TestCallback TestRedirectToAnotherURL"},
		{"audiences, confused deputies, abuse of documents", noServer},
	},
	"2025-11-25 and 2025-06-18 basic/authorization": {
		{"the metadata of the resource, WWW-Authenticate, resource, PKCE, the header, every request, storage",
			"TestFlow TestResourceMetadataURLs - the client does not ask which revision is spoken"},
		{"2025-06-18: the authorization server's metadata is that of RFC 8414",
			"TestServerMetadataURLs"},
	},
	"2025-03-26 basic/authorization": {
		{"metadata is requested, with MCP-Protocol-Version, before defaults are used",
			"TestServersOf20250326"},
		{"the base is the server's URL without its path", "TestServersOf20250326"},
		{"without metadata, the default endpoints are used", "TestServersOf20250326"},
		{"the token is in the Authorization header of every request, and in no query",
			"TestFlow TestEveryRequestMustBeAuthorized"},
		{"tokens are stored securely; endpoints are https; redirect URIs are loopback or https",
			"TestFileStore TestURLsMustBeSafe TestOptionsAreChecked"},
		{"redirect URIs are validated; third-party authorization", noServer},
	},
	"security best practices": {
		{"URLs of servers do not lead to the client's private network",
			"TestPublicServersMustNotLeadToPrivateAddresses TestPrivateAddresses TestBadResourceMetadata"},
		{"pages that are opened are http: or https:",
			"TestBadServerMetadata TestURLsMustBeSafe"},
		{"the callback accepts only the expected response",
			"TestCallback TestCallbackTwice TestCallbackWithAnError"},
		{"responses are bounded in bytes and time",
			"TestSlowAndLargeResponses TestLargeUnauthorizedResponse TestRefusalsAreBounded"},
	},
	"ext-auth: OAuth Client Credentials": {
		{"the client authenticates with a signed assertion or a secret",
			"TestClientCredentials TestClientAuthentication"},
		{"the requirements of the base specification hold",
			"TestClientCredentials TestTokensMustBeSentOverTLS TestRegistrationsAreBound"},
		{"dynamic registration is not used", "TestClientCredentials"},
	},
	"ext-auth: Enterprise-Managed Authorization": {
		{"an id-jag is requested from the identity provider by token exchange",
			"TestIdentityAssertion"},
		{"the id-jag is sent to the authorization server as a jwt-bearer grant",
			"TestIdentityAssertion"},
		{"the client authenticates to each with its own credentials", "TestIdentityAssertion"},
		{"validation by identity providers and authorization servers", noServer},
	},
	"RFC 9449": {
		{"each proof is new, and for one method, URL and token", "TestDPoP"},
		{"a required nonce is used, and the request sent again",
			"TestDPoPNonces TestDPoPNoncesConcurrently TestDPoPNoncesAreBounded"},
		{"tokens are bound if required, and unbound ones refused then",
			"TestWhenDPoPIsUsed TestTokenResponses"},
	},
	"RFC 7009": {
		{"the token is sent to the revocation endpoint over TLS with client authentication",
			"TestLogout"},
	},
	"OAuth 2.1, section 4.3": {
		{"a refresh token is used once, and replaced by that of the response",
			"TestRefresh TestRefreshOnce TestProgramsRefreshInTurn TestAnotherProgramRefreshedFirst"},
		{"a refused refresh token is deleted", "TestRefreshTokenIsRefused"},
	},
}

// The tests named in requirements exist, and each test with Must in its name is in a row.
func TestRequirements(t *testing.T) {
	conformance.CheckMusts(t, requirements, map[string]string{"": "."})
}
