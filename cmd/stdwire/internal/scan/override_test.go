package scan

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A hint that looks safer than what the server says, or its default, is found; others are not.
func TestWeakenedAnnotations(t *testing.T) {
	for annotations, want := range map[string]string{
		``: "readOnlyHint: false to true, destructiveHint: true to false, idempotentHint: false to true, openWorldHint: true to false",
		`,"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`:  "",
		`,"annotations":{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":false,"idempotentHint":true}`: "readOnlyHint: false to true",
	} {
		server := Server{ID: "s", Lists: map[mcp.Kind][]json.RawMessage{mcp.KindTool: {
			json.RawMessage(`{"name":"list","inputSchema":{"type":"object"}` + annotations + `}`)}}}
		server.Config.Overrides = map[string]host.Override{"list": {Annotations: map[string]bool{
			"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
			"openWorldHint": false}}}
		got := ""
		for _, f := range Scan([]Server{server}) {
			if f.Rule == "weakened-annotation" {
				assert.Equal(t, f.Place.String(), "tool list, annotations")
				got += f.Evidence
			}
		}
		assert.Equal(t, got, want)
	}
	server := Server{ID: "s", Lists: map[mcp.Kind][]json.RawMessage{mcp.KindTool: {
		json.RawMessage(`{"name":"list","inputSchema":{"type":"object"}}`)}}}
	server.Config.Overrides = map[string]host.Override{"list": {Title: "T", Annotations: map[string]bool{
		"readOnlyHint": false, "destructiveHint": true}}}
	assert.Equal(t, len(Scan([]Server{server})), 0)
}
