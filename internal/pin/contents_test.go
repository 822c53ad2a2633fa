package pin

import (
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"
)

// The text of a file is what encoding/json indents.
func TestAppendText(t *testing.T) {
	definition := json.RawMessage(`{"name":"<a>","inputSchema":{"type":"object","enum":[]}}`)
	for _, servers := range []map[string]*serverPins{
		{},
		{"a": {Forgotten: true}},
		{"b\u2028<\"": {Name: "B & C", Capabilities: json.RawMessage(`["tools",{}]`),
			Tools:  map[string]entry{"z": {"00", definition}, "a\n": {"01", definition}},
			Skills: map[string]entry{}}, "a": {}, "invalid \xff": {}},
	} {
		c := &contents{Version: version, Servers: servers}
		want, err := json.MarshalIndent(c, "", "  ")
		assert.NilError(t, err)
		text, err := c.appendText(nil)
		assert.NilError(t, err)
		assert.Equal(t, string(text), string(want)+"\n")
	}
	_, err := (&contents{Servers: map[string]*serverPins{"a": {
		Capabilities: json.RawMessage(`{`)}}}).appendText(nil)
	assert.ErrorContains(t, err, "unexpected end of JSON input")
}
