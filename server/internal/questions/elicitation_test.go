package questions_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/questions"
)

// A URL without a mode has URL mode, and is never an empty form.
func TestElicitMode(t *testing.T) {
	for _, tt := range []struct {
		params mcp.ElicitParams
		want   string
		fails  bool
	}{
		{mcp.ElicitParams{}, "", false},
		{mcp.ElicitParams{URL: "https://a.example"}, mcp.ElicitURL, false},
		{mcp.ElicitParams{URL: "https://a.example", Mode: mcp.ElicitURL}, mcp.ElicitURL, false},
		{mcp.ElicitParams{URL: "https://a.example", RequestedSchema: []byte(`{}`)}, "", true},
		{mcp.ElicitParams{RequestedSchema: []byte(`{}`)}, "", false},
		{mcp.ElicitParams{RequestedSchema: []byte(`{}`), Mode: mcp.ElicitForm}, mcp.ElicitForm, false},
		{mcp.ElicitParams{URL: "https://a.example", Mode: mcp.ElicitForm}, "", true},
		{mcp.ElicitParams{RequestedSchema: []byte(`{}`), Mode: mcp.ElicitURL}, "", true},
		{mcp.ElicitParams{URL: "https://a.example", RequestedSchema: []byte(`{}`),
			Mode: mcp.ElicitURL}, "", true},
		{mcp.ElicitParams{ElicitationID: "a"}, "", true},
		{mcp.ElicitParams{ElicitationID: "a", Mode: mcp.ElicitForm}, "", true},
		{mcp.ElicitParams{ElicitationID: "a", URL: "https://a.example"}, mcp.ElicitURL, false},
	} {
		mode, err := questions.ElicitMode(&tt.params)
		assert.Equal(t, mode, tt.want)
		assert.Equal(t, err != nil, tt.fails, "%+v: %v", tt.params, err)
	}
}
