package era

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func TestClassify(t *testing.T) {
	const asked = mcp.Rev20260728
	auto, modern, legacy2024 := Preference{}, Preference{Era: mcp.Modern},
		Preference{Revision: mcp.Rev20241105}
	unsupported := func(data string) error {
		return &rpc.Error{Code: -32022, Message: "Unsupported protocol version",
			Data: json.RawMessage(data)}
	}
	discover := func(versions string) string {
		return `{"resultType":"complete","supportedVersions":` + versions + `,"capabilities":{}}`
	}
	for _, test := range []struct {
		name   string
		result string
		err    error
		wish   Preference
		want   string
	}{
		{"a discover result", discover(`["2026-07-28"]`), nil, auto, "2026-07-28"},
		{"with versions unknown here", discover(`["2099-01-01","2026-07-28"]`), nil, auto,
			"2026-07-28"},
		{"of a dual-era server", discover(`["2025-11-25","2026-07-28"]`), nil, auto, "2026-07-28"},
		{"of a server that offers legacy revisions only", discover(`["2025-06-18","2025-11-25"]`),
			nil, auto, "2025-11-25 next"},
		{"of which the first is the newest", discover(`["2025-06-18","2025-03-26"]`), nil, auto,
			"2025-06-18 next"},
		{"the same, when only modern will do", discover(`["2025-06-18"]`), nil, modern,
			`the server speaks ["2025-06-18"]; this client speaks ["2026-07-28"]`},
		{"with nothing in common", discover(`["2099-01-01"]`), nil, auto,
			`the server speaks ["2099-01-01"]; this client speaks ["2026-07-28" "2025-11-25" "2025-06-18" "2025-03-26" "2024-11-05"]`},
		{"with no versions", discover(`[]`), nil, auto,
			`the server speaks []; this client speaks ["2026-07-28" "2025-11-25" "2025-06-18" "2025-03-26" "2024-11-05"]`},
		{"with versions of another type", discover(`[1]`), nil, auto,
			`an invalid result of server/discover: supportedVersions[0]: want a string, not a number (at byte 46)`},

		{"of which an older one is preferred", discover(`["2025-11-25","2025-06-18"]`), nil,
			Preference{Revision: mcp.Rev20250618}, "2025-06-18 next"},

		{"a result of something else", `{"ok":true}`, nil, auto, "2025-11-25 next"},
		{"no object", `null`, nil, auto, "2025-11-25 next"},
		{"the same, when only modern will do", `{}`, nil, modern,
			"the server does not speak the modern era: an invalid result of server/discover"},
		{"what is no response", "", fmt.Errorf("%w: both", rpc.ErrProtocol), auto,
			"2025-11-25 next"},

		{"method not found", "", &rpc.Error{Code: -32601, Message: "no"}, auto, "2025-11-25 next"},
		{"invalid params", "", &rpc.Error{Code: -32602, Message: "no"}, auto, "2025-11-25 next"},
		{"not initialized", "", &rpc.Error{Code: -32000, Message: "no"}, auto, "2025-11-25 next"},
		{"an old revision is preferred", "", &rpc.Error{Code: -32601, Message: "no"}, legacy2024,
			"2024-11-05 next"},
		{"method not found, when only modern will do", "", &rpc.Error{Code: -32601, Message: "no"},
			modern, "the server does not speak the modern era: no (code -32601)"},

		{"another modern revision", "",
			unsupported(`{"supported":["2026-07-28","2025-11-25"],"requested":"2027-01-01"}`), auto,
			"2026-07-28 next"},
		{"the revision that it refuses", "",
			unsupported(`{"supported":["2026-07-28"],"requested":"2026-07-28"}`), auto,
			"2026-07-28 next"},
		{"legacy revisions only", "",
			unsupported(`{"supported":["2025-06-18"],"requested":"2026-07-28"}`), auto,
			"2025-06-18 next"},
		{"unknown revisions only", "",
			unsupported(`{"supported":["2099-01-01"],"requested":"2026-07-28"}`), modern,
			`the server speaks ["2099-01-01"]; this client speaks ["2026-07-28"]`},
		{"no revisions", "", unsupported(`{}`), auto, "Unsupported protocol version (code -32022)"},
		{"a capability is missing", "", &rpc.Error{Code: -32021, Message: "needs sampling"}, auto,
			"needs sampling (code -32021)"},
		{"a header is wrong", "", &rpc.Error{Code: -32020, Message: "header"}, auto,
			"header (code -32020)"},

		{"the stream ends", "", io.EOF, auto, "EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := asked
			if test.name == "another modern revision" {
				asked = "2027-01-01"
			}
			v := Classify([]byte(test.result), test.err, asked, test.wish)
			got := string(v.Revision)
			switch {
			case v.Err != nil:
				got = v.Err.Error()
			case v.Discovered == nil:
				got += " next"
			}
			assert.Equal(t, got, test.want)
		})
	}
}
