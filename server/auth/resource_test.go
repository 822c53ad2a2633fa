package auth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server/auth"
)

// The exact challenges, as clients of all revisions read them.
func TestChallengesMustBeThoseOfMCP(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		token := w.issuer.token(nil)
		plain := `Bearer resource_metadata="` + metadata + `", scope="mcp"`
		coded := func(code, description string) string {
			return plain + `, error="` + code + `", error_description="` + description + `"`
		}
		for name, tc := range map[string]struct {
			header    header
			query     string
			status    int
			challenge string
		}{
			"no token":              {"", "", 401, plain},
			"another scheme":        {"Authorization: Basic YTpi", "", 401, plain},
			"DPoP, which is not on": {"Authorization: DPoP " + header(token), "", 401, plain},
			"empty": {"Authorization: Bearer", "", 400,
				coded("invalid_request",
					"the Authorization header has no valid token after its scheme")},
			"not a token": {"Authorization: Bearer a b", "", 400,
				coded("invalid_request",
					"the Authorization header has no valid token after its scheme")},
			"quotes": {`Authorization: Bearer "x"`, "", 400,
				coded("invalid_request",
					"the Authorization header has no valid token after its scheme")},
			"twice": {bearer(token) + "\n" + bearer(token), "", 400,
				coded("invalid_request", "there is more than one Authorization header")},
			"no JWT": {"Authorization: Bearer x", "", 401, refusal("the token is not a JWT")},
			"oversized": {bearer(strings.Repeat("x", 20<<10)), "", 401,
				refusal("the token is too long")},
			"in the address": {"", "?access_token=" + token, 400,
				coded("invalid_request",
					"the token must be in the Authorization header; URLs are logged and shared")},
			"in the address, too": {bearer(token), "?access%5ftoken=" + token, 400,
				coded("invalid_request",
					"the token must be in the Authorization header; URLs are logged and shared")},
			"good":                 {bearer(token), "", 200, ""},
			"scheme in lower case": {"Authorization: bearer " + header(token), "", 200, ""},
			"more blanks":          {"Authorization: Bearer   " + header(token), "", 200, ""},
			"another query":        {bearer(token), "?x=1", 200, ""},
		} {
			body := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta +
				`}}`
			rec := w.do("POST", resource+tc.query, body,
				"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: server/discover\n"+tc.header)
			t.Log(name)
			w.wants(rec, tc.status, tc.challenge)
			assert.Assert(t, !strings.Contains(rec.Body.String(), token))
		}
		// Every method and both eras, also what has no body and what is no message at all.
		for _, method := range []string{"GET", "DELETE", "POST", "PUT"} {
			w.wants(w.do(method, resource, "{", ""), 401, plain)
		}
		w.keepsSecret(token)
	})
}

func TestMetadataMustNameAuthorizationServers(t *testing.T) {
	in(t, auth.Options{Name: "Files", Documentation: "https://docs.example.com",
		ScopesSupported: []string{"mcp", "files:read"}, DPoP: &auth.DPoPOptions{}},
		func(t *testing.T, w *fixture) {
			want := `{"resource":"https://mcp.example.com/mcp","authorization_servers":["https://auth.example.com"],"scopes_supported":["mcp","files:read"],` +
				`"bearer_methods_supported":["header"],"resource_name":"Files","resource_documentation":"https://docs.example.com",` +
				`"dpop_signing_alg_values_supported":["ES256","EdDSA","PS256","RS256"]}`
			assert.DeepEqual(t, w.resource.MetadataPaths(),
				[]string{"/.well-known/oauth-protected-resource/mcp",
					"/.well-known/oauth-protected-resource"})
			for _, path := range w.resource.MetadataPaths() {
				rec := w.do("GET", "https://mcp.example.com"+path, "",
					"Origin: https://inspector.example.com")
				assert.Equal(t, rec.Code, 200)
				assert.Equal(t, rec.Body.String(), want)
				assert.Equal(t, rec.Header().Get("Content-Type"), "application/json")
				assert.Equal(t, rec.Header().Get("Access-Control-Allow-Origin"), "*")
				assert.Equal(t, w.do("POST", "https://mcp.example.com"+path, "", "").Code, 405)
				assert.Equal(t, w.do("OPTIONS", "https://mcp.example.com"+path, "", "").Code, 204)
			}
			assert.Equal(t, w.do("GET",
				"https://mcp.example.com/.well-known/oauth-protected-resource/other", "", "").Code,
				404)
		})
	for resource, paths := range map[string][]string{
		"https://mcp.example.com":  {"/.well-known/oauth-protected-resource"},
		"https://mcp.example.com/": {"/.well-known/oauth-protected-resource"},
		"http://127.0.0.1:8080/a/b": {"/.well-known/oauth-protected-resource/a/b",
			"/.well-known/oauth-protected-resource"},
		"https://mcp.example.com/t/": {"/.well-known/oauth-protected-resource/t/",
			"/.well-known/oauth-protected-resource"},
	} {
		r, err := auth.Options{Resource: resource, AuthorizationServers: []string{issuerURL},
			Verify: nobody}.New()
		assert.NilError(t, err)
		assert.DeepEqual(t, r.MetadataPaths(), paths)
		for mux := http.NewServeMux(); len(paths) > 0; paths = paths[1:] {
			mux.Handle(paths[0], r)
			rec := httptest.NewRecorder()
			mux.ServeHTTP(rec, httptest.NewRequest("GET", paths[0], nil))
			assert.Equal(t, rec.Code, 200)
		}
	}
}

func nobody(context.Context, string) (*auth.Identity, error) { return nil, errors.New("nobody") }

func TestInvalidOptions(t *testing.T) {
	ok := auth.Options{Resource: resource, AuthorizationServers: []string{issuerURL},
		Verify: nobody}
	for _, path := range []string{"/t%20x", "/{x}", "/%7Bx%7D", "/a//b", "/a/../b", "//", "/a/."} {
		o := ok
		o.Resource = "https://mcp.example.com" + path
		_, err := o.New()
		assert.ErrorContains(t, err, "a path that http.ServeMux cannot match")
	}
	for reason, change := range map[string]func(*auth.Options){
		"Resource is missing": func(o *auth.Options) { o.Resource = "" },
		"is not https": func(o *auth.Options) {
			o.Resource = "http://mcp.example.com/mcp"
		},
		"not an absolute URL": func(o *auth.Options) { o.Resource = "mcp.example.com" },
		"fragment":            func(o *auth.Options) { o.Resource = resource + "#x" },
		"names a user": func(o *auth.Options) {
			o.Resource = "https://a:b@mcp.example.com"
		},
		"Verify is missing":             func(o *auth.Options) { o.Verify = nil },
		"AuthorizationServers is empty": func(o *auth.Options) { o.AuthorizationServers = nil },
		"the issuer \"http://a.exam": func(o *auth.Options) {
			o.AuthorizationServers = []string{"http://a.example"}
		},
		"an invalid character": func(o *auth.Options) { o.Scopes = []string{"a b"} },
		"a scope is empty":     func(o *auth.Options) { o.Scopes = []string{""} },
		"is between clients": func(o *auth.Options) {
			o.ScopesSupported = []string{"offline_access"}
		},
		"NonceKey has fewer than 32": func(o *auth.Options) {
			o.DPoP = &auth.DPoPOptions{NonceKey: []byte("x")}
		},
	} {
		o := ok
		change(&o)
		_, err := o.New()
		assert.ErrorContains(t, err, reason)
	}
	for reason, o := range map[string]auth.JWTOptions{
		"Issuer is missing":     {Audience: resource},
		"Issuer \"http://a.exa": {Issuer: "http://a.example", Audience: resource},
		"Audience is missing":   {Issuer: issuerURL},
		"Skew is negative":      {Issuer: issuerURL, Audience: resource, Skew: -1},
		`"HS256" is not one of`: {Issuer: issuerURL, Audience: resource,
			Algorithms: []string{"HS256"}},
		`"none" is not one of`: {Issuer: issuerURL, Audience: resource,
			Algorithms: []string{"none"}},
		"KeysURL": {Issuer: issuerURL, Audience: resource, KeysURL: "http://a.example/keys"},
	} {
		_, err := o.New()
		assert.ErrorContains(t, err, reason)
	}
	for reason, o := range map[string]auth.IntrospectionOptions{
		"Issuer is missing":   {Audience: resource, ClientID: "a", ClientSecret: "b"},
		"Audience is missing": {Issuer: issuerURL, ClientID: "a", ClientSecret: "b"},
		"Skew is negative": {Issuer: issuerURL, Audience: resource, ClientID: "a",
			ClientSecret: "b", Skew: -1},
		"ClientSecret": {Issuer: issuerURL, Audience: resource, ClientID: "a"},
		"Endpoint": {Issuer: issuerURL, Audience: resource, ClientID: "a", ClientSecret: "b",
			Endpoint: "ftp://x"},
	} {
		_, err := o.New()
		assert.ErrorContains(t, err, reason)
	}
}

// What a verifier of somebody else's does wrong is not taken for somebody.
func TestCustomVerifiers(t *testing.T) {
	for name, tc := range map[string]struct {
		verify auth.Verifier
		status int
	}{
		"good": {func(context.Context, string) (*auth.Identity, error) {
			return &auth.Identity{Issuer: "i", Subject: "s", Scopes: []string{"mcp"}}, nil
		}, 200},
		"bad token": {func(context.Context, string) (*auth.Identity, error) {
			return nil, &auth.TokenError{Reason: "no"}
		}, 401},
		"another": {nobody, 503},
		"unavailable": {func(context.Context, string) (*auth.Identity, error) {
			return nil, auth.ErrUnavailable
		}, 503},
		"nobody": {func(context.Context, string) (*auth.Identity, error) { return nil, nil },
			503},
		"no subject": {func(context.Context, string) (*auth.Identity,
			error) {
			return &auth.Identity{Issuer: "i"}, nil
		}, 503},
		"no issuer": {func(context.Context, string) (*auth.Identity,
			error) {
			return &auth.Identity{Subject: "s"}, nil
		}, 503},
		"ambiguous": {func(context.Context, string) (*auth.Identity, error) {
			return &auth.Identity{Issuer: "i#s", Subject: "s"}, nil
		}, 503},
		"panic": {func(context.Context, string) (*auth.Identity, error) { panic("ashes") }, 500},
		"expired": {func(context.Context, string) (*auth.Identity, error) {
			return &auth.Identity{Issuer: "i", Subject: "s", Scopes: []string{"mcp"},
				Expires: time.Now()}, nil
		}, 401},
	} {
		in(t, auth.Options{Verify: tc.verify}, func(t *testing.T, w *fixture) {
			rec := w.call("read", bearer("secret-token"))
			assert.Equal(t, rec.Code, tc.status, name)
			assert.Equal(t, rec.Code == 503, rec.Header().Get("Retry-After") == "10", name)
			assert.Assert(t, !strings.Contains(rec.Body.String()+w.log.String(), "secret-token"))
			assert.Equal(t, len(w.called()) == 1, tc.status == 200, name)
		})
	}
}
