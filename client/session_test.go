package client

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestLegacySession(t *testing.T) {
	for _, test := range []struct{ result, want string }{
		{`{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`,
			"2025-06-18"},
		{`{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`,
			`the server answers initialize with revision "1999-01-01"; this client speaks ["2025-11-25" "2025-06-18" "2025-03-26" "2024-11-05"] there`},
		{`{"protocolVersion":"2026-07-28","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`,
			`the server answers initialize with revision "2026-07-28"; this client speaks ["2025-11-25" "2025-06-18" "2025-03-26" "2024-11-05"] there`},
		{`{}`, `the server answers initialize with revision ""; this client speaks ["2025-11-25" "2025-06-18" "2025-03-26" "2024-11-05"] there`},
		{`[]`, `an invalid result of initialize: want an object, not an array (at byte 0)`},
	} {
		s, err := legacySession([]byte(test.result))
		if err != nil {
			assert.Check(t, errors.Is(err, rpc.ErrProtocol))
			assert.Equal(t, err.Error(), test.want)
			continue
		}
		assert.Equal(t, string(s.revision), test.want)
		assert.Equal(t, s.features.Era, mcp.Legacy)
	}
}
