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
		{"both ways to find the authorization server's metadata are supported",
			"TestServerMetadataURLs"},
		{"a client id is got in one of three ways", "TestOrderOfRegistrations"},
		{"no relation between the challenge's scopes and scopes_supported is assumed, and those of the challenge count",
			"TestScopeSelection"},
		{"SHOULD: scopes of the challenge, or all of scopes_supported, or none",
			"TestScopeSelection"},
		{"SHOULD: scopes that there were are asked for with those of a challenge", "TestStepUp"},
		{"the issuer of validated metadata is recorded with the verifier and the state, before the redirection",
			"TestAuthorizationResponsesMustBeValidated TestIssuerMustMatch"},
		{"iss is validated before the code is sent anywhere: each row of the table",
			"TestAuthorizationResponsesMustBeValidated"},
		{"iss is compared without any normalization", "TestAuthorizationResponsesMustBeValidated"},
		{"an error from another issuer is neither acted on nor displayed",
			"TestAuthorizationResponsesMustBeValidated"},
		{"resource is in authorization and token requests, of whatever authorization server",
			"TestFlow TestServersOf20250326 TestRefresh TestClientCredentials TestJWTBearer TestIdentityAssertion"},
		{"resource is the MCP server that the token is for, as it calls itself",
			"TestResourceMustMatchTheEndpoint"},
		{"the token is in the Authorization header", "TestFlow"},
		{"the token is in every request", "TestEveryRequestMustBeAuthorized"},
		{"no token is in a query", "TestFlow TestEveryRequestMustBeAuthorized"},
		{"no token is sent but one of the server's authorization server",
			"TestTokensMustBeSentToTheirServerOnly TestMigration TestRegistrationsAreBound"},
		{"refresh tokens are kept confidential",
			"TestFileStore TestDamagedFiles TestCredentialsAreNotPrinted TestSecretsAreNotRedirected TestURLsMustBeSafe"},
		{"SHOULD: refresh_token is in grant_types", "TestFlow TestMetadataDocumentMustBeComplete"},
		{"refresh tokens are not assumed", "TestRefreshTokensMustNotBeAssumed"},
		{"SHOULD: insufficient_scope leads to a token with more scopes", "TestStepUp"},
		{"SHOULD: retries are limited, and what was tried is remembered",
			"TestStepUpsAreBounded TestRefusalsAreBounded"},
		{"the security considerations are followed",
			"TestAuthorizationResponsesMustBeValidated TestTokensMustBeSentOverTLS - see their page below"},
	},
	"2026-07-28 basic/authorization/authorization-server-discovery": {
		{"registrations and tokens are kept by authorization server",
			"TestFileStore TestMigration TestRegistrationsAreBound"},
		{"credentials of one authorization server are not assumed to be good at another",
			"TestMigration TestRegistrationsAreBound"},
		{"the metadata of the resource is where the challenge says, or at the well-known places, in this order",
			"TestResourceMetadataURLs"},
		{"WWW-Authenticate is parsed, and 401 responded to",
			"TestResourceMetadataURLs TestFlow TestWithoutGrant"},
		{"several well-known places are tried for the authorization server, in the order for its issuer",
			"TestServerMetadataURLs"},
		{"metadata whose issuer is not the one that was asked is not used",
			"TestIssuerMustMatch"},
	},
	"2026-07-28 basic/authorization/client-registration": {
		{"SHOULD: a registration made beforehand, then the document, then a dynamic one",
			"TestOrderOfRegistrations"},
		{"SHOULD: the user is asked for the client where there is no other way",
			"TestBadServerMetadata - the error says so; asking is the application's"},
		{"the document's URL is https and has a path", "TestOptionsAreChecked"},
		{"the document has client_id, client_name and redirect_uris, and the client_id is its URL",
			"TestMetadataDocumentMustBeComplete - serving it is the application's"},
		{"SHOULD: it is seen to that the authorization server knows documents",
			"TestOrderOfRegistrations"},
		{"application_type is said when the client is registered, and fits",
			"TestApplicationTypeMustBeSent"},
		{"registrations that are refused are handled, and the error says why",
			"TestRegistrationResponses"},
		{"registrations are bound to their issuer, and not used with another",
			"TestRegistrationsAreBound TestMigration"},
		{"at another authorization server the client is registered anew", "TestMigration"},
		{"SHOULD: a registration that does not fit is an error", "TestRegistrationsAreBound"},
	},
	"2026-07-28 basic/authorization/security-considerations": {
		{"resource is in authorization and token requests",
			"TestFlow TestResourceMustMatchTheEndpoint"},
		{"tokens are stored securely",
			"TestFileStore TestDamagedFiles TestSymbolicLinkInAStore TestCredentialsAreNotPrinted TestConfiguredSecretsAreNotKept"},
		{"all endpoints of the authorization server are https",
			"TestURLsMustBeSafe TestBadServerMetadata TestBadResourceMetadata TestTokensMustBeSentOverTLS"},
		{"redirect URIs are of this machine or https", "TestOptionsAreChecked"},
		{"PKCE is implemented, with S256", "TestFlow"},
		{"an authorization server whose metadata has no PKCE is refused, by whichever document",
			"TestBadServerMetadata"},
		{"mix-up attacks: the answer is validated", "TestAuthorizationResponsesMustBeValidated"},
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
		{"the authorization server's metadata is looked for before anything is assumed, with MCP-Protocol-Version",
			"TestServersOf20250326"},
		{"the base is the server's URL without its path", "TestServersOf20250326"},
		{"without metadata, the default addresses are used", "TestServersOf20250326"},
		{"the token is in the Authorization header of every request, and in no query",
			"TestFlow TestEveryRequestMustBeAuthorized"},
		{"tokens are stored securely; endpoints are https; redirect URIs are of this machine or https",
			"TestFileStore TestURLsMustBeSafe TestOptionsAreChecked"},
		{"redirect URIs are validated; third-party authorization", noServer},
	},
	"security best practices": {
		{"addresses in the network of the client that strangers name are not asked",
			"TestPublicServersMustNotLeadToPrivateAddresses TestPrivateAddresses TestBadResourceMetadata"},
		{"pages that are opened are http: or https:",
			"TestBadServerMetadata TestURLsMustBeSafe"},
		{"the callback takes the one answer that is waited for",
			"TestCallback TestCallbackTwice TestCallbackWithAnError"},
		{"what is answered is bounded, in bytes and time",
			"TestSlowAndLargeResponses TestLargeUnauthorizedResponse TestRefusalsAreBounded"},
	},
	"ext-auth: OAuth Client Credentials": {
		{"the client shows who it is with a signed assertion or a secret",
			"TestClientCredentials TestClientAuthentication"},
		{"the baseline's demands hold",
			"TestClientCredentials TestTokensMustBeSentOverTLS TestRegistrationsAreBound"},
		{"dynamic registration is not used", "TestClientCredentials"},
	},
	"ext-auth: Enterprise-Managed Authorization": {
		{"the identity provider is asked for an id-jag by token exchange, with these parameters",
			"TestIdentityAssertion"},
		{"its answer is shown to the authorization server as a jwt-bearer grant",
			"TestIdentityAssertion"},
		{"the client shows who it is to each with what is for that one", "TestIdentityAssertion"},
		{"what identity providers and authorization servers validate", noServer},
	},
	"RFC 9449": {
		{"a proof is new, for one method, one address and one token", "TestDPoP"},
		{"a nonce that is asked for is used, and the request is sent again",
			"TestDPoPNonces TestDPoPNoncesConcurrently TestDPoPNoncesAreBounded"},
		{"tokens are bound where it is wanted, and an answer that is not bound is refused then",
			"TestWhenDPoPIsUsed TestTokenResponses"},
	},
	"RFC 7009": {
		{"the token is shown to the revocation endpoint over TLS, with what shows who the client is",
			"TestLogout"},
	},
	"OAuth 2.1, section 4.3": {
		{"a refresh token is used once, and replaced by what comes with the answer",
			"TestRefresh TestRefreshOnce TestProgramsRefreshInTurn TestAnotherProgramRefreshedFirst"},
		{"one that is not good any more is forgotten", "TestRefreshTokenIsRefused"},
	},
}

// The tests named in requirements exist, and each test with Must in its name is in a row.
func TestRequirements(t *testing.T) {
	conformance.CheckMusts(t, requirements, map[string]string{"": "."})
}
