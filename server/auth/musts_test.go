package auth_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/conformance"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/auth"
	"github.com/stdwire/stdwire/server/streamable"
)

// A must is something that MCP's pages about authorization say a server MUST do, or not do, or
// SHOULD where it says so, in few words, and the tests that prove it. Those of other packages are
// called by the package. What begins with a dash is why there is no test, or what the tests before
// it leave open.
type must = conformance.Claim

const noIssuer = "- of authorization servers: this is a resource server, and issues no tokens"

var musts = map[string][]must{
	"2026-07-28 basic/authorization": {
		{"other transports follow the security practices of their protocol",
			"- there is no authorization but over HTTP"},
		{"protected resource metadata is implemented", "TestMetadataMustNameAuthorizationServers"},
		{"SHOULD: the challenge has the scopes", "TestChallengesMustBeThoseOfMCP"},
		{"SHOULD: identifiers of resources in upper case are taken", "TestClaimsMustBeValidated"},
		{"resource requests are those of OAuth 2.1, section 5", "TestChallengesMustBeThoseOfMCP"},
		{"authorization is in every request",
			"TestSessionsMustBeOfTheirPrincipal TestChallengesMustBeThoseOfMCP"},
		{"no tokens in the query string", "TestChallengesMustBeThoseOfMCP"},
		{"tokens are validated as in OAuth 2.1, section 5.2",
			"TestClaimsMustBeValidated TestAlgorithmsOfTokens TestTypesOfTokens TestIntrospectionResponses"},
		{"tokens were issued for this server as their audience",
			"TestClaimsMustBeValidated TestIntrospectionResponses"},
		{"failures are answered as in OAuth 2.1, section 5.3",
			"TestChallengesMustBeThoseOfMCP TestScopeChallengeMustNameAllScopes"},
		{"invalid and expired tokens are answered with 401",
			"TestClaimsMustBeValidated TestIntrospectionResponses TestRevokedTokens"},
		{"only tokens for the own resources are accepted",
			"TestClaimsMustBeValidated TestIntrospectionResponses"},
		{"other tokens are neither accepted nor passed on",
			"TestClaimsMustBeValidated TestTokensMustNotBePassedOn"},
		{"SHOULD NOT: offline_access in a challenge or in the metadata", "TestInvalidOptions"},
		{"401, 403 and 400 for what they are",
			"TestChallengesMustBeThoseOfMCP TestScopeChallengeMustNameAllScopes"},
		{"SHOULD: 403, insufficient_scope, the scopes and the metadata",
			"TestScopeChallengeMustNameAllScopes TestScopesOfTheLegacyEra"},
		{"SHOULD: all scopes of the operation in one challenge",
			"TestScopeChallengeMustNameAllScopes TestScopesOfTheLegacyEra"},
		{"broader scopes imply narrower ones", "TestScopeChallengeMustNameAllScopes"},
		{"the security considerations are followed",
			"TestClaimsMustBeValidated TestTokensMustNotBePassedOn"},
	},
	"2026-07-28 basic/authorization/authorization-server-discovery": {
		{"the metadata says where authorization servers are",
			"TestMetadataMustNameAuthorizationServers"},
		{"authorization_servers has at least one",
			"TestMetadataMustNameAuthorizationServers TestInvalidOptions"},
		{"the challenge has resource_metadata, or the document is at a well-known place",
			"TestChallengesMustBeThoseOfMCP TestMetadataMustNameAuthorizationServers"},
		{"metadata of another issuer is not used", "TestDiscovery"},
	},
	"2026-07-28 basic/authorization/security-considerations": {
		{"tokens were specifically issued for this server",
			"TestClaimsMustBeValidated TestIntrospectionResponses"},
		{"tokens are stored securely",
			"TestTokensMustNotBePassedOn TestClaimsMustBeValidated - none is stored: what is kept of answers is under a hash"},
		{"authorization servers are asked over HTTPS",
			"TestInvalidOptions TestDiscovery TestEndpointDiscovery"},
		{"access tokens are validated before anything is processed, and nothing is returned to the wrong",
			"TestChallengesMustBeThoseOfMCP TestScopeChallengeMustNameAllScopes TestSessionsMustBeOfTheirPrincipal"},
		{"inbound tokens are validated as in OAuth 2.1, section 5.2", "TestClaimsMustBeValidated"},
		{"a token without this server in its audience is refused",
			"TestClaimsMustBeValidated TestIntrospectionResponses"},
		{"a client's token is not passed on to an upstream",
			"TestTokensMustNotBePassedOn - through a gateway: TestGatewayWithOAuth of cmd/stdwire"},
		{"a proxy with a static client id has the consent of its users", noIssuer},
		{"redirects, codes and refresh tokens are protected", noIssuer},
	},
	"2025-11-25 and 2025-06-18 basic/authorization": {
		{"2025-06-18: a 401 has the metadata's URL in WWW-Authenticate",
			"TestChallengesMustBeThoseOfMCP"},
		{"the metadata names authorization servers", "TestMetadataMustNameAuthorizationServers"},
		{"sessions of these revisions show a token with every request",
			"TestSessionsMustBeOfTheirPrincipal"},
		{"scopes of their messages are checked", "TestScopesOfTheLegacyEra"},
	},
	"2025-03-26 basic/authorization": {
		{"401 where authorization is needed and not there", "TestChallengesMustBeThoseOfMCP"},
		{"tokens are validated, and 401 if they are invalid or expired",
			"TestClaimsMustBeValidated"},
		{"401, 403 and 400 for what they are",
			"TestChallengesMustBeThoseOfMCP TestScopesOfTheLegacyEra"},
		{"metadata and endpoints of the authorization server are at the root of the server",
			noIssuer},
		{"redirect URIs are validated", noIssuer},
		{"third-party authorization", noIssuer},
	},
	"security best practices": {
		{"tokens that were issued for others are not accepted", "TestClaimsMustBeValidated"},
		{"sessions are not used for authentication", "TestSessionsMustBeOfTheirPrincipal"},
		{"state that clients carry is of who it was given to", "TestStateMustBeOfItsPrincipal"},
	},
	"RFC 9449": {
		{"a proof is checked in each point of section 4.3",
			"TestProofsMustBeVerified TestProofsOfOtherMethods"},
		{"a proof is used once", "TestProofsAreAcceptedOnce"},
		{"a token that is bound is not taken as Bearer",
			"TestProofsMustBeVerified TestRequiredProofs"},
		{"a nonce is one of the server's, and new", "TestNonces"},
	},
}

// The tests that are said to prove something are there, and those that are called after a MUST are
// said to prove one.
func TestMusts(t *testing.T) {
	conformance.CheckMusts(t, musts, map[string]string{"": "."})
}

// Nothing behind the door sees the token: no handler, no hook, no answer, no log.
func TestTokensMustNotBePassedOn(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		var seen strings.Builder
		catalog := dispatch.NewCatalog()
		dispatch.Add(catalog,
			dispatch.Spec{Name: "look", Summary: "For tests.", Type: dispatch.Read},
			func(ctx context.Context, in echoed) (echoed, error) {
				fmt.Fprintf(&seen, "%+v %+v %s", ctx, *auth.IdentityFrom(ctx),
					dispatch.PrincipalFrom(ctx))
				return in, nil
			})
		log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		hooks := rpc.Hooks{Frame: func(_ context.Context, _ rpc.Direction, frame []byte) {
			seen.Write(frame)
		}}
		h := streamable.Options{Authorize: w.resource.Authorize,
			Logger: log}.New(
			server.Options{Logger: log, Hooks: hooks}.New(server.Info{Name: "t", Version: "1"},
				catalog))
		defer h.Close()
		secret := w.issuer.token(nil)
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{"text":"x"},` +
			modernMeta + `}}`
		r := httptest.NewRequest("POST", resource, strings.NewReader(body))
		for _, line := range []string{"Content-Type: application/json",
			"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: look",
			"Authorization: Bearer " + secret} {
			name, value, _ := strings.Cut(line, ": ")
			r.Header.Set(name, value)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		assert.Equal(t, rec.Code, 200, rec.Body.String())
		seen.WriteString(rec.Body.String() + fmt.Sprint(rec.Header()) + w.log.String())
		assert.Assert(t, strings.Contains(seen.String(), "alice") &&
			strings.Contains(seen.String(), `"look"`))
		for _, part := range strings.Split(secret, ".") {
			assert.Assert(t, !strings.Contains(seen.String(), part))
		}
	})
}
