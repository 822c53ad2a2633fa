package auth_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stdwire/stdwire/internal/jose"
	"github.com/stdwire/stdwire/internal/oauth"
	"github.com/stdwire/stdwire/server/auth"
	"github.com/stdwire/stdwire/server/streamable"
)

// FuzzAuthorization has any header and any query in a request. What the verifier gets is the token
// of the header, and what is refused has a challenge that can be read, with nothing of it.
func FuzzAuthorization(f *testing.F) {
	for _, header := range []string{"", "Bearer", "Bearer x", "bearer  a.b-c_d~e+f/g==", "DPoP x",
		"Basic YTpi", `Bearer "x"`, "Bearer a b", "Bearer =", "Bearer x,", "Bearer\tx",
		"Bearer x\x00"} {
		f.Add(header, "")
	}
	f.Add("Bearer x", "access_token=y")
	f.Add("Bearer x", "a&access%5ftoken=y;z")
	var got string
	r, err := auth.Options{
		Resource: resource, AuthorizationServers: []string{issuerURL}, Scopes: []string{"mcp"},
		DPoP: &auth.DPoPOptions{}, Logger: slog.New(slog.DiscardHandler),
		Verify: func(_ context.Context, token string) (*auth.Identity, error) {
			got = token
			return &auth.Identity{Issuer: "i", Subject: "s"}, nil
		},
	}.New()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, header, query string) {
		req := httptest.NewRequest("POST", resource, nil)
		req.URL.RawQuery = query
		req.Header["Authorization"] = []string{header}
		got = ""
		_, err := r.Authorize(req)
		scheme, token, _ := strings.Cut(header, " ")
		token = strings.Trim(token, " ")
		switch refused, ok := errors.AsType[*streamable.Refusal](err); {
		case err == nil:
			if got == "" || got != token || len(got) > jose.MaxToken ||
				!strings.EqualFold(scheme, "bearer") ||
				strings.ContainsAny(got, " \t\r\n\x00,\"") || req.URL.Query().Has("access_token") {
				t.Fatalf("%q %q: the token is %q", header, query, got)
			}
		case !ok || refused.Status != 400 && refused.Status != 401:
			t.Fatalf("%q %q: %v", header, query, err)
		default:
			challenges, err := oauth.ParseChallenges([]string{refused.Challenge})
			if err != nil || len(challenges) != 2 ||
				challenges[0].Get("resource_metadata") != metadata ||
				challenges[0].Get("scope") != "mcp" {
				t.Fatalf("%q: %v", refused.Challenge, err)
			}
		}
	})
}

// FuzzProof has any claims in a proof that is signed as it has to be. One that is taken is for this
// request, this token and now.
func FuzzProof(f *testing.F) {
	signer := newSigner(f, jose.ES256)
	sum := sha256.Sum256([]byte("token"))
	hash := base64.RawURLEncoding.EncodeToString(sum[:])
	now, _ := json.Marshal(time.Now().Unix())
	for _, htu := range []string{resource, "HTTPS://MCP.example.com:443/mcp?x#y",
		"https://mcp.example.com@evil.example/mcp", "//mcp.example.com/mcp",
		"https://mcp.example.com/%6dcp", "https:mcp"} {
		f.Add([]byte(`{"jti":"a","htm":"POST","htu":"` + htu + `","iat":` + string(now) +
			`,"ath":"` + hash + `"}`))
	}
	f.Add([]byte(`{"jti":"b","htm":"POST","HTM":"GET","htu":"` + resource +
		`","iat":1e99,"ath":null}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		r, err := auth.Options{
			Resource: resource, AuthorizationServers: []string{issuerURL},
			DPoP: &auth.DPoPOptions{}, Logger: slog.New(slog.DiscardHandler),
			Verify: func(context.Context, string) (*auth.Identity, error) {
				return &auth.Identity{Issuer: "i", Subject: "s",
					KeyThumbprint: signer.Key().Thumbprint()}, nil
			},
		}.New()
		if err != nil {
			t.Fatal(err)
		}
		proof, err := signer.Sign(jose.Header{Type: "dpop+jwt", Key: signer.Key()},
			json.RawMessage(payload))
		if err != nil {
			return // no JSON, or too long
		}
		req := httptest.NewRequest("POST", resource, nil)
		req.Header["Authorization"], req.Header["Dpop"] = []string{"DPoP token"}, []string{proof}
		if _, err := r.Authorize(req); err != nil {
			return
		}
		var c map[string]any
		if err := json.Unmarshal(payload, &c); err != nil {
			t.Fatal(err)
		}
		address, err := url.Parse(c["htu"].(string))
		if err != nil || !strings.EqualFold(address.Hostname(), "mcp.example.com") ||
			!strings.EqualFold(address.Scheme, "https") || address.EscapedPath() != "/mcp" ||
			address.User != nil {
			t.Fatalf("%s: the address is not that of the request", payload)
		}
		age := time.Since(time.Unix(int64(c["iat"].(float64)), 0))
		if c["htm"] != "POST" || c["ath"] != hash || c["jti"] == "" || c["jti"] == nil ||
			age < -31*time.Second || age > 61*time.Second {
			t.Fatalf("%s is not for this request", payload)
		}
	})
}
