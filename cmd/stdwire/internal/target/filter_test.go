package target

import (
	"encoding/json"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
)

// What a gateway would withhold or hide is not offered, and the rest is as overrides have it.
func TestOfferedTools(t *testing.T) {
	var definitions []json.RawMessage
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		definitions = append(definitions, fmt.Appendf(nil,
			`{"name":%q,"description":"own","inputSchema":{"type":"object"},"x-kept":1}`, name))
	}
	definitions = append(definitions, json.RawMessage(`{"name":7}`))
	s := &ConfiguredServer{server: &config.Server{Filter: host.Filter{Deny: []string{"e"}},
		ItemOverrides: map[string]host.Override{
			"a":    {Name: "z", Description: "other"},
			"b":    {Hidden: true},
			"c":    {Arguments: map[string]host.ArgumentOverride{"none": {Name: "x"}}},
			"none": {Name: "nobody"}}}}
	var got []string
	for _, tool := range s.OfferedTools(definitions) {
		got = append(got, fmt.Sprint(tool.Own, " ", tool.Name, " ", tool.Description, " ",
			string(tool.Definition)))
	}
	assert.DeepEqual(t, got, []string{
		`a z other {"name":"z","description":"other","inputSchema":{"type":"object",` +
			`"properties":{}},"x-kept":1}`,
		"d d own " + string(definitions[3])})
	assert.Equal(t, len(new(ConfiguredServer).OfferedTools(definitions)), 5, "without a server")
}
