package auth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	served "github.com/stdwire/stdwire/server/streamable"
)

// An MCP server that requires a token, its authorization server, and a client whose user consents
// at once.
func Example() {
	ctx := context.Background()
	var site, issuer *httptest.Server
	reply := func(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

	// every request gets a token: a real server has users, and validates requests
	as := http.NewServeMux()
	as.HandleFunc("/.well-known/oauth-authorization-server",
		func(w http.ResponseWriter, _ *http.Request) {
			reply(w, map[string]any{
				"issuer": issuer.URL, "authorization_endpoint": issuer.URL + "/authorize",
				"token_endpoint": issuer.URL + "/token", "registration_endpoint": issuer.URL +
					"/register",
				"code_challenge_methods_supported":      []string{"S256"},
				"token_endpoint_auth_methods_supported": []string{"none"},
			})
		})
	as.HandleFunc("/register", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"client_id": "c1"})
	})
	as.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=once&state="+q.Get("state"),
			http.StatusFound)
	})
	as.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"access_token": "open-sesame", "token_type": "Bearer",
			"expires_in": 3600})
	})
	issuer = httptest.NewServer(as)
	defer issuer.Close()

	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "weather.get", Summary: "Current weather.", Type: dispatch.Read},
		func(context.Context, struct{}) (string, error) { return "clear", nil })
	h := served.Options{}.New(server.New(server.Info{Name: "weather", Version: "1.0.0"}, catalog))
	defer h.Close()
	resource := http.NewServeMux()
	resource.HandleFunc("/.well-known/oauth-protected-resource/mcp",
		func(w http.ResponseWriter, _ *http.Request) {
			reply(w, map[string]any{"resource": site.URL + "/mcp",
				"authorization_servers": []string{issuer.URL}})
		})
	resource.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer open-sesame" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
	site = httptest.NewServer(resource)
	defer site.Close()

	dir, err := os.MkdirTemp("", "credentials")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	a, err := auth.Options{
		Name: "example", Store: auth.FileStore{Dir: dir},
		Grant: auth.AuthorizationCode{OpenBrowser: func(_ context.Context, url string) error {
			// a real program opens a browser
			fmt.Println("the user agrees")
			go func() {
				if resp, err := http.Get(url); err == nil {
					_ = resp.Body.Close()
				}
			}()
			return nil
		}},
	}.New(site.URL + "/mcp")
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := client.Connect(ctx, streamable.Options{Wrap: a.Wrap}.Dial(site.URL+"/mcp"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	result, err := c.CallTool(ctx, "weather_get", struct{}{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output:
	// the user agrees
	// {"success":true,"data":"clear","error":null}
}
