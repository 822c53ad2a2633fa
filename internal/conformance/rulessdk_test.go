//go:build linux

package conformance_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// sdkMatrixCalls are the arguments of the SDK's clients.
var sdkMatrixCalls = matrixArguments[:2]

// sdk compares what the SDK's clients get, which cannot be asked.
func (s *rulesSite) sdk(t *testing.T, calls map[string]int) {
	t.Helper()
	var clients []any
	for _, u := range ruleUsers {
		headers := map[string]string{}
		for name, values := range s.header(u.name) {
			headers[name] = values[0]
		}
		for _, c := range sdkClients[:2] { // one of each era
			clients = append(clients, map[string]any{"user": u.name, "headers": headers,
				"sdk": c.sdk, "era": c.era})
		}
	}
	var tools, uris []string
	for _, cell := range ruleUsers[0].tools() {
		tools = append(tools, cell.name())
	}
	for _, cell := range ruleUsers[0].resources() {
		uris = append(uris, cell.item.resource)
	}
	script, err := os.ReadFile("node/rules.mjs")
	assert.NilError(t, err)
	s.write("rules.mjs", string(script))
	argument, err := json.Marshal(map[string]any{"url": s.url, "clients": clients, "tools": tools,
		"calls": sdkMatrixCalls, "uris": uris})
	assert.NilError(t, err)
	var all []struct {
		User, SDK        string
		Tools, Resources []string
		Called           map[string][]string
		Read             map[string]string
	}
	assert.NilError(t, json.Unmarshal([]byte(s.must("node", "rules.mjs", string(argument)).stdout),
		&all))
	assert.Equal(t, len(all), len(clients))
	for _, got := range all {
		u := ruleUsers[slices.IndexFunc(ruleUsers, func(u ruleUser) bool {
			return u.name == got.User
		})]
		for _, cell := range u.tools() {
			where := cell.name() + " for " + u.name + " with " + got.SDK
			assert.Equal(t, slices.Contains(got.Tools, cell.name()), cell.shown, where)
			for n, arguments := range sdkMatrixCalls {
				want := cell.wants(arguments)
				if naively(matrixRules, u, cell.item, arguments) == "ask" {
					want = "this client cannot ask one: It takes a while."
				}
				assert.Assert(t, strings.Contains(got.Called[cell.name()][n], want), "%s: got %s, want %s",
					where, got.Called[cell.name()][n], want)
				if strings.Contains(want, " for ") {
					calls[cell.item.server]++
				}
			}
		}
		for _, cell := range u.resources() {
			uri := cell.item.resource
			assert.Equal(t, slices.Contains(got.Resources, uri), cell.shown, uri)
			assert.Equal(t, strings.Contains(got.Read[uri], " for "+cell.knownAs()), cell.shown, "%s: %s",
				uri, got.Read[uri])
		}
	}
}
