package main

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/internal/oauth"
)

// A conformanceContext is the content of MCP_CONFORMANCE_CONTEXT in authorization scenarios.
type conformanceContext struct {
	ClientID         string `json:"client_id"`
	ClientSecret     string `json:"client_secret"`
	Issuer           string `json:"issuer"`
	PrivateKeyPEM    string `json:"private_key_pem"`
	SigningAlgorithm string `json:"signing_algorithm"`
	ValidJWT         string `json:"valid_jwt"`
	IDPClientID      string `json:"idp_client_id"`
	IDPIDToken       string `json:"idp_id_token"`
	IDPIssuer        string `json:"idp_issuer"`
	IDPTokenEndpoint string `json:"idp_token_endpoint"`
}

// authorized are the authorization scenarios in which the client is registered beforehand. The
// others use the authorization code grant.
var authorized = map[string]func(t conformanceContext) (auth.Options, error){
	"auth/client-credentials-basic": func(t conformanceContext) (auth.Options, error) {
		return auth.Options{Grant: auth.ClientCredentials{}, Clients: t.client()}, nil
	},
	"auth/client-credentials-jwt": func(t conformanceContext) (auth.Options, error) {
		block, _ := pem.Decode([]byte(t.PrivateKeyPEM))
		if block == nil {
			return auth.Options{}, errors.New("private_key_pem is none")
		}
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return auth.Options{}, err
		}
		clients := t.client()
		clients[0].Key, clients[0].Algorithm = key.(crypto.Signer), t.SigningAlgorithm
		return auth.Options{Grant: auth.ClientCredentials{}, Clients: clients}, nil
	},
	"auth/wif-jwt-bearer": func(t conformanceContext) (auth.Options, error) {
		return auth.Options{
			Grant: auth.JWTBearer{Assertion: func(context.Context, string) (string, error) {
				return t.ValidJWT, nil
			}}, Clients: t.client()}, nil
	},
	"auth/enterprise-managed-authorization": func(t conformanceContext) (auth.Options, error) {
		return auth.Options{Clients: t.client(), Grant: auth.IdentityAssertion{
			Token:         func(context.Context) (string, error) { return t.IDPIDToken, nil },
			TokenEndpoint: t.IDPTokenEndpoint,
			Client:        auth.Registration{Issuer: t.IDPIssuer, ClientID: t.IDPClientID},
		}}, nil
	},
}

func (t conformanceContext) client() []auth.Registration {
	return []auth.Registration{{Issuer: t.Issuer, ClientID: t.ClientID, Secret: t.ClientSecret}}
}

// trustedIssuer returns the authorization server that the MCP server at a URL names. The client
// trusts it with its secrets only because all servers in these scenarios belong to the suite; other
// programs must not.
func trustedIssuer(endpoint string) (string, error) {
	known, err := oauth.ResourceMetadataURLs(endpoint)
	if err != nil {
		return "", err
	}
	for _, where := range known {
		resp, err := http.Get(where)
		if err != nil {
			return "", err
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return "", err
		}
		if m, err := oauth.ParseResourceMetadata(text); err == nil &&
			resp.StatusCode == http.StatusOK && len(m.AuthorizationServers) > 0 {
			return m.AuthorizationServers[0], nil
		}
	}
	return "", fmt.Errorf("%s names no authorization server", endpoint)
}

// byCode returns options for the authorization code grant, with a browser that redirects at once.
func byCode(t conformanceContext) (auth.Options, error) {
	o := auth.Options{
		Name:        "everything-client",
		MetadataURL: "https://conformance-test.local/client-metadata.json",
		Grant: auth.AuthorizationCode{RedirectURL: "http://localhost:3000/callback",
			FetchRedirect: follow},
	}
	if t.ClientID != "" {
		o.Clients = t.client()
	}
	return o, nil
}

// follow requests a page and returns the URL that it redirects to.
func follow(ctx context.Context, page string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		return "", fmt.Errorf("the page answers %s", resp.Status)
	}
	return resp.Header.Get("Location"), nil
}

// authorizer returns nil for a scenario without authorization.
func authorizer(name, url string) (*auth.Authorizer, error) {
	if !strings.HasPrefix(name, "auth/") {
		return nil, nil
	}
	var t conformanceContext
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &t); err != nil {
			return nil, fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	options := authorized[name]
	if options == nil {
		options = byCode
	}
	if t.ClientID != "" && t.Issuer == "" { // only some scenarios set the issuer
		var err error
		if t.Issuer, err = trustedIssuer(url); err != nil {
			return nil, err
		}
	}
	o, err := options(t)
	if err != nil {
		return nil, err
	}
	return o.New(url)
}

// refusing are the scenarios in which the authorization server is faulty, with the error that the
// client must return.
var refusing = map[string]string{
	"auth/resource-mismatch":        "the metadata is of another resource: https://evil.example.com/mcp",
	"auth/metadata-issuer-mismatch": "the metadata is of another authorization server: issuer https://attacker.example.com",
	"auth/iss-supported-missing":    "the authorization response has no iss",
	"auth/iss-wrong-issuer":         "the authorization response is from another authorization server",
	"auth/iss-unexpected":           "the authorization response is from another authorization server",
	"auth/iss-normalized":           "the authorization response is from another authorization server",
	"auth/scope-retry-limit":        "403 Forbidden",
}

// expectRefusal returns nil if err is the expected refusal.
func expectRefusal(name string, err error) error {
	switch want := refusing[name]; {
	case want == "":
		return err
	case err == nil:
		return errors.New("it went on, and should have refused to")
	case !strings.Contains(err.Error(), want):
		return fmt.Errorf("want an error with %q: %w", want, err)
	}
	return nil
}

// testTool calls the tool that authorization scenarios expect to be called.
func testTool(ctx context.Context, c *client.Client) error {
	return calls(call{"test-tool", json.RawMessage(`{}`)})(ctx, c)
}
