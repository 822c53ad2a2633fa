package elicit

import (
	"context"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// --yes agrees to what only asks for agreement, and to nothing else.
func TestConfirm(t *testing.T) {
	const fields = `{"type":"object","properties":{"name":{"type":"string"}}}`
	for _, tc := range []struct {
		params    mcp.ElicitParams
		confirmed bool
		errText   string
	}{
		{mcp.ElicitParams{Message: "Delete x?", RequestedSchema: []byte(`{"type":"object","properties":{}}`)},
			true, ""},
		{mcp.ElicitParams{Mode: mcp.ElicitForm, RequestedSchema: []byte(`{"type":"object"}`)}, true, ""},
		{mcp.ElicitParams{RequestedSchema: []byte(fields)}, false,
			"it asks for more than a confirmation, and there is no user to answer"},
		{mcp.ElicitParams{Mode: mcp.ElicitURL, URL: "https://example.com"}, false,
			"it asks for more than a confirmation, and there is no user to answer"},
	} {
		var withoutUser client.Options
		Confirm(&withoutUser)
		assert.DeepEqual(t, withoutUser.ElicitModes, []string{mcp.ElicitForm})
		answer, err := withoutUser.OnElicit(t.Context(), tc.params)
		if tc.confirmed {
			assert.NilError(t, err)
			assert.Equal(t, answer.Action, mcp.ElicitAccept)
		} else {
			assert.Error(t, err, tc.errText)
		}

		asked := false
		withUser := client.Options{ElicitModes: []string{mcp.ElicitForm, mcp.ElicitURL},
			OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
				asked = true
				return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
			}}
		Confirm(&withUser)
		assert.Equal(t, len(withUser.ElicitModes), 2)
		_, err = withUser.OnElicit(t.Context(), tc.params)
		assert.NilError(t, err)
		assert.Equal(t, asked, !tc.confirmed)
	}
}
