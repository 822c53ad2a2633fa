package fs

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/replace"
	"github.com/stdwire/stdwire/dispatch"
)

// Only changes that may destroy data need confirmation.
func TestConfirmation(t *testing.T) {
	for _, tc := range []struct {
		name, operation, arguments string
		code                       dispatch.Code // "" for success
		message                    string
	}{
		{"a new file", "fs.write", `{"path":"new","content":"x"}`, "", ""},
		{"a file that is there", "fs.write", `{"path":"old","content":"x"}`,
			dispatch.ConfirmationRequired, `This replaces "old" and what is in it.`},
		{"a file whose content is known", "fs.write", `{"path":"old","content":"x","if_sha256":"` +
			replace.HexSum([]byte("old\n")) + `"}`, "", ""},
		{"a file that must not be there", "fs.write",
			`{"path":"old","content":"x","if_sha256":"absent"}`, dispatch.StateError, ""},
		{"a directory", "fs.write", `{"path":"dir","content":"x"}`, dispatch.StateError, ""},
		{"a change of what is quoted", "fs.edit", `{"path":"old","old":"old","new":"new"}`, "", ""},
		{"a move to where nothing is", "fs.move", `{"from":"old","to":"new","overwrite":true}`, "",
			""},
		{"a move to where a file is", "fs.move", `{"from":"old","to":"other"}`, dispatch.StateError,
			""},
		{"a move over a file", "fs.move", `{"from":"old","to":"other","overwrite":true}`,
			dispatch.ConfirmationRequired, `This replaces "other" and what is in it with "old".`},
		{"a deletion", "fs.delete", `{"path":"old"}`, dispatch.ConfirmationRequired,
			"This cannot be undone."},
		{"a deletion with wrong arguments", "fs.delete", `{"pth":"old"}`, dispatch.InvalidInput,
			""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newService(t, map[string]string{"old": "old\n", "other": "other\n", "dir/": ""})
			call := dispatch.Call{Operation: tc.operation, Arguments: json.RawMessage(tc.arguments)}
			before := s.names(t)
			first := call
			envelope := s.dispatcher.Dispatch(t.Context(), &first)
			if tc.code == "" {
				assert.Assert(t, envelope.Err == nil, "%v", envelope.Err)
				return
			}
			assert.Equal(t, envelope.Err.Code, tc.code, "%v", envelope.Err)
			assert.Assert(t, strings.Contains(envelope.Err.Message, tc.message),
				envelope.Err.Message)
			assert.DeepEqual(t, s.names(t), before)
			assert.Equal(t, s.content(t, "old")+s.content(t, "other"), "old\nother\n")
			if tc.code == dispatch.ConfirmationRequired {
				call.Confirmed = true
				assert.Assert(t, s.dispatcher.Dispatch(t.Context(), &call).Err == nil)
			}
		})
	}
}
