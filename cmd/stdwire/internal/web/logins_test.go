package web

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
)

const remoteServers = `{"mcpServers": {
	"open": {"url": "http://127.0.0.1:1/mcp"},
	"key": {"url": "http://127.0.0.1:1/mcp", "headers": {"authorization": "Bearer hidden1"}},
	"never": {"url": "http://127.0.0.1:1/mcp", "oauth": false},
	"process": {"command": "x"}
}}`

// authorization returns how requests to a server are authorized.
func (e *editor) authorization(id string) (status authorizationStatus) {
	e.Helper()
	code, body := e.send("GET", "/api/servers/"+id+"/authorization", "", e.key())
	assert.Equal(e, code, 200, "%s", body)
	assert.Assert(e, !strings.Contains(body, "hidden"), "%s", body)
	assert.NilError(e, json.Unmarshal([]byte(body), &status))
	return status
}

// The page is told who has issued which scopes until when, and no token. Logging out deletes them.
func TestAuthorization(t *testing.T) {
	e := edit(t, remoteServers, false)
	for id, why := range map[string]string{"key": "Authorization header", "never": `"oauth": false`,
		"process": "has a command and no URL"} {
		assert.Assert(t, cmp.Contains(e.authorization(id).Why, why), id)
		code, _ := e.post("/api/servers/"+id+"/authorization/login", struct{}{}, nil)
		assert.Equal(t, code, 403, id)
	}
	status := e.authorization("open")
	assert.Equal(t, status.Why, "")
	assert.Equal(t, status.Command, "stdwire auth login open")
	assert.Equal(t, len(status.Credentials), 0)

	store, err := target.OpenCredentials()
	assert.NilError(t, err)
	assert.NilError(t, store.Put(auth.Credentials{
		Key: auth.Key{Endpoint: "http://127.0.0.1:1/mcp", Issuer: "http://127.0.0.1:2",
			Resource: "http://127.0.0.1:1/mcp", Grant: "authorization_code"},
		Granted: "read write", Type: "Bearer", AccessToken: "hidden-access",
		RefreshToken: "hidden-refresh", Expires: time.Now().Add(-time.Minute)}))
	status = e.authorization("open")
	assert.Equal(t, len(status.Credentials), 1)
	assert.Equal(t, status.Credentials[0].Issuer, "http://127.0.0.1:2")
	assert.Equal(t, status.Credentials[0].State, "renewable")
	assert.DeepEqual(t, status.Credentials[0].Scopes, []string{"read", "write"})

	var out struct{ Warning string }
	code, body := e.post("/api/servers/open/authorization/logout", struct{}{}, &out)
	assert.Equal(t, code, 200, "%s", body)
	assert.Assert(t, cmp.Contains(out.Warning, "did not revoke them")) // it does not answer
	assert.Equal(t, len(e.authorization("open").Credentials), 0)
}

// A login that fails says why, and one on a page that other machines can reach does not begin.
func TestLoginFails(t *testing.T) {
	e := edit(t, remoteServers, false)
	code, body := e.post("/api/servers/open/authorization/login", struct{}{}, nil)
	assert.Equal(t, code, 200, "%s", body)
	e.site.logins.wg.Wait()
	status := e.authorization("open")
	assert.Assert(t, !status.Running)
	assert.Equal(t, status.Problem.Code, "unreachable")

	e.site.logins.disable("other machines")
	code, body = e.post("/api/servers/open/authorization/login", struct{}{}, nil)
	assert.Equal(t, code, 403)
	assert.Assert(t, cmp.Contains(body, "other machines"))
}
