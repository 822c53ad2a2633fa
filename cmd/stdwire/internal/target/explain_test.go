package target

import (
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"gotest.tools/v3/assert"
)

// Scripts rely on these: a code may be added, none may be changed.
func TestExitCodes(t *testing.T) {
	assert.DeepEqual(t, command.ExitCodes, map[string]int{
		"internal": 1, "usage": 2, "bad_args": 2, "auth_required": 3, "unreachable": 4,
		"spawn_failed": 4, "start_exit": 4, "start_timeout": 4, "tool_is_error": 5, "refused": 5,
		"not_found":    5,
		"call_timeout": 6, "server_died": 6, "too_large": 7, "untrusted": 7, "denied": 7,
		"config": 8, "findings": 10, "hangup": 129, "interrupted": 130, "closed_pipe": 141,
		"terminated": 143,
	})
	for _, cause := range causes {
		for _, code := range []string{cause.start, cause.call} {
			assert.Assert(t, code == "" || command.ExitCodes[code] != 0, code)
		}
	}
	assert.Equal(t, (&command.Failure{Code: "unheard of"}).ExitCode(), 1)
}
