package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

// notes has an operation that must always be confirmed, and one that decides at run time.
func notes() *dispatch.Catalog {
	c := dispatch.NewCatalog()
	type note struct {
		ID string `json:"id"`
	}
	dispatch.Add(c, dispatch.Spec{Name: "note.delete", Summary: "Delete a note.",
		Type: dispatch.Destructive},
		func(_ context.Context, n note) (string, error) { return "deleted " + n.ID, nil })
	dispatch.Add(c, dispatch.Spec{Name: "note.put", Summary: "Put a note.", Type: dispatch.Write,
		Errors: []dispatch.Code{dispatch.ConfirmationRequired}},
		func(ctx context.Context, n note) (string, error) {
			if n.ID == "old" {
				if err := dispatch.Confirm(ctx, "This replaces the note %s.", n.ID); err != nil {
					return "", err
				}
			}
			return "put " + n.ID, nil
		})
	return c
}

// A result holds the members of a tool's result that these tests check.
type result struct {
	Structured struct {
		Success bool
		Data    any
		Error   *struct {
			Code    string
			Message string
			Details map[string]any
		}
	} `json:"structuredContent"`
	Type     string `json:"resultType"`
	State    string `json:"requestState"`
	Requests map[string]struct {
		Method string
		Params struct{ Message string }
	} `json:"inputRequests"`
}

func decode(t *testing.T, message string) (r result) {
	t.Helper()
	var response struct {
		Result *result
		Error  *struct{ Message string }
	}
	assert.NilError(t, json.Unmarshal([]byte(message), &response), message)
	assert.Assert(t, response.Result != nil, message)
	return *response.Result
}

const elicits = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`

func TestLegacyClientIsAskedToConfirm(t *testing.T) {
	for _, tc := range []struct {
		name, capabilities, revision, answer string
		success                              bool
		details                              map[string]any
	}{
		{"accepted", `{"elicitation":{}}`, "2025-11-25",
			`"result":{"action":"accept","content":{}}`, true, nil},
		{"accepted, form mode declared", `{"elicitation":{"form":{},"url":{}}}`, "2025-06-18",
			`"result":{"action":"accept"}`, true, nil},
		{"declined", `{"elicitation":{}}`, "2025-11-25", `"result":{"action":"decline"}`, false,
			map[string]any{"reason": "the user did not confirm it", "action": "decline"}},
		{"cancelled", `{"elicitation":{}}`, "2025-11-25", `"result":{"action":"cancel"}`, false,
			map[string]any{"reason": "the user did not confirm it", "action": "cancel"}},
		{"nonsense", `{"elicitation":{}}`, "2025-11-25", `"result":{"action":true}`, false,
			map[string]any{"reason": "the client did not answer"}},
		{"refused", `{"elicitation":{}}`, "2025-11-25", `"error":{"code":-32603,"message":"no"}`,
			false, map[string]any{"reason": "the client did not answer"}},
		{"cannot ask", `{}`, "2025-11-25", "", false,
			map[string]any{"reason": "the client cannot ask its user: it does not declare elicitation"}},
		{"cannot show forms", `{"elicitation":{"url":{}}}`, "2025-11-25", "", false,
			map[string]any{"reason": "the client cannot ask its user: it does not declare elicitation"}},
		{"too old to be asked", `{"elicitation":{}}`, "2025-03-26", "", false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := dial(t, quiet, notes())
			l.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"c","version":"1"}}}`,
				tc.revision, tc.capabilities)
			l.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			message := l.ask(
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note_delete","arguments":{"id":"7"}}}`)
			if tc.answer != "" {
				var question struct {
					ID     json.RawMessage
					Method string
					Params json.RawMessage
				}
				assert.NilError(t, json.Unmarshal([]byte(message), &question))
				assert.Equal(t, question.Method, "elicitation/create")
				assert.Equal(t, string(question.Params),
					`{"message":"Delete a note. This cannot be undone.\n\nOperation: note.delete\nArguments: {\"id\":\"7\"}","requestedSchema":{"type":"object","properties":{}}}`)
				message = l.ask(`{"jsonrpc":"2.0","id":%s,%s}`, question.ID, tc.answer)
			}
			if tc.revision == "2025-03-26" { // this revision has no structured content
				assert.Assert(t, strings.Contains(message, `\"code\":\"confirmation_required\"`),
					message)
				return
			}
			got := decode(t, message).Structured
			assert.Equal(t, got.Success, tc.success, message)
			if tc.success {
				assert.Equal(t, got.Data, "deleted 7")
				return
			}
			assert.Equal(t, got.Error.Code, "confirmation_required")
			assert.DeepEqual(t, got.Error.Details, tc.details)
		})
	}
}

func TestModernClientIsAskedToConfirm(t *testing.T) {
	l := dial(t, quiet, notes())
	call := func(id int, arguments, more string) string {
		return l.ask(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"note_delete","arguments":%s%s,"_meta":{%s}}}`,
			id, arguments, more, elicits)
	}
	first := decode(t, call(1, `{"id":"7"}`, ""))
	assert.Equal(t, first.Type, "input_required")
	assert.Equal(t, first.Requests["confirm_operation"].Method, "elicitation/create")
	assert.Assert(t,
		strings.HasPrefix(first.Requests["confirm_operation"].Params.Message,
			"Delete a note. This cannot be undone."), first)
	state := fmt.Sprintf(`,"requestState":%q`, first.State)
	accept := `,"inputResponses":{"confirm_operation":{"action":"accept"}}`

	done := decode(t, call(2, `{ "id": "7" }`, accept+state))
	assert.Equal(t, done.Structured.Data, "deleted 7")
	declined := decode(t,
		call(3, `{"id":"7"}`, `,"inputResponses":{"confirm_operation":{"action":"decline"}}`+state))
	assert.Equal(t, declined.Structured.Error.Code, "confirmation_required")

	// Answers without the requestState of the question are ignored, and so are answers to unknown
	// questions.
	assert.Equal(t, decode(t, call(4, `{"id":"7"}`, accept)).Type, "input_required")
	assert.Equal(t, decode(t, call(5, `{"id":"7"}`, state)).Type, "input_required")
	again := decode(t,
		call(6, `{"id":"7"}`, `,"inputResponses":{"other":{"action":"accept"}}`+state))
	assert.Equal(t, again.Type, "input_required")
	assert.Equal(t, decode(t,
		call(7, `{"id":"7"}`, accept+
			fmt.Sprintf(`,"requestState":%q`, again.State))).Structured.Data, "deleted 7")

	// Invalid answers.
	for i, wrong := range []string{
		accept + `,"requestState":"nonsense"`, accept + `,"requestState":7`, accept +
			`,"requestState":""`,
		accept + fmt.Sprintf(`,"requestState":%q`, flipped(first.State)),
		`,"inputResponses":[]` + state, `,"inputResponses":{"confirm_operation":true}` + state,
	} {
		assert.Assert(t, strings.Contains(call(10+i, `{"id":"7"}`, wrong), `"code":-32602`), wrong)
	}
	// A requestState is valid only for its own request.
	assert.Assert(t, strings.Contains(call(20, `{"id":"8"}`, accept+state), `"code":-32602`))
	other := l.ask(`{"jsonrpc":"2.0","id":21,"method":"tools/call","params":{"name":"note_put","arguments":{"id":"7"}%s,"_meta":{%s}}}`,
		accept+state, elicits)
	assert.Assert(t, strings.Contains(other, `"code":-32602`), other)

	// The call of a client that cannot be asked is refused.
	silent := decode(t,
		l.ask(`{"jsonrpc":"2.0","id":30,"method":"tools/call","params":{"name":"note_delete","arguments":{"id":"7"},"_meta":{%s}}}`,
			modern))
	assert.Equal(t, silent.Structured.Error.Code, "confirmation_required")
}

func flipped(state string) string {
	last := byte('A')
	if state[10] == last {
		last = 'B'
	}
	return state[:10] + string(last) + state[11:]
}

func TestConfirmationStateEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := dial(t, quiet, notes())
		ask := func(more string) string {
			return l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note_delete","arguments":{"id":"7"}%s,"_meta":{%s}}}`,
				more, elicits)
		}
		more := fmt.Sprintf(
			`,"inputResponses":{"confirm_operation":{"action":"accept"}},"requestState":%q`,
			decode(t, ask("")).State)
		time.Sleep(14 * time.Minute)
		assert.Equal(t, decode(t, ask(more)).Structured.Data, "deleted 7")
		time.Sleep(2 * time.Minute)
		assert.Assert(t, strings.Contains(ask(more), "has expired"))
	})
}

// Replicas share only a key.
func TestStateIsGoodOnAnotherServerWithTheSameKey(t *testing.T) {
	keyed := server.Options{Logger: slog.New(slog.DiscardHandler),
		StateKey: []byte("a secret of thirty-two bytes, or so")}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note_delete","arguments":{"id":"7"}%s,"_meta":{` +
		elicits + `}}}`
	state := decode(t, dial(t, keyed, notes()).ask(call, "")).State
	more := fmt.Sprintf(
		`,"inputResponses":{"confirm_operation":{"action":"accept"}},"requestState":%q`, state)
	assert.Equal(t, decode(t, dial(t, keyed, notes()).ask(call, more)).Structured.Data, "deleted 7")
	assert.Assert(t,
		strings.Contains(dial(t, quiet, notes()).ask(call, more),
			"requestState was not made for this request"))
}

func TestOnlyWhatIsDestructiveIsAskedFor(t *testing.T) {
	l := dial(t, quiet, notes())
	const put = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note_put","arguments":{"id":%q}%s,"_meta":{` +
		elicits + `}}}`
	assert.Equal(t, decode(t, l.ask(put, "new", "")).Structured.Data, "put new")
	asked := decode(t, l.ask(put, "old", ""))
	assert.Assert(t,
		strings.HasPrefix(asked.Requests["confirm_operation"].Params.Message,
			"This replaces the note old."), asked)
	more := fmt.Sprintf(
		`,"inputResponses":{"confirm_operation":{"action":"accept"}},"requestState":%q`,
		asked.State)
	assert.Equal(t, decode(t, l.ask(put, "old", more)).Structured.Data, "put old")

	// Invalid arguments are reported before the user is asked.
	wrong := decode(t,
		l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note_delete","arguments":{"di":"7"},"_meta":{%s}}}`,
			elicits))
	assert.Equal(t, wrong.Structured.Error.Code, "invalid_input")
}

func TestTrustedClientIsNotAsked(t *testing.T) {
	l := dial(t, server.Options{Logger: slog.New(slog.DiscardHandler), TrustClients: true}, notes())
	got := decode(t,
		l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note_delete","arguments":{"id":"7"},"_meta":{%s}}}`,
			modern))
	assert.Equal(t, got.Structured.Data, "deleted 7")
}

func TestLongArgumentsAreShownInPart(t *testing.T) {
	l := dial(t, quiet, notes())
	long := strings.Repeat("ä", 3000)
	asked := decode(t,
		l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note_delete","arguments":{"id":%q},"_meta":{%s}}}`,
			long, elicits))
	message := asked.Requests["confirm_operation"].Params.Message
	assert.Assert(t, len(message) < 2200 && strings.HasSuffix(message, "ä…"), "%d", len(message))
}

// The user of a legacy client does not answer, and the client cancels the call.
func TestCallCanBeCancelledWhileItIsConfirmed(t *testing.T) {
	l := dial(t, quiet, notes())
	l.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	question := l.ask(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note_delete","arguments":{"id":"7"}}}`)
	assert.Assert(t, strings.Contains(question, "elicitation/create"))
	l.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	// the question is cancelled
	assert.Assert(t, strings.Contains(l.read(), `"method":"notifications/cancelled"`))
	assert.Assert(t, strings.Contains(l.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`), `"id":2`))
}

// Invisible characters of the arguments must not change what the user reads.
func TestConfirmationIsPrintable(t *testing.T) {
	got := decode(t, dial(t, quiet, notes()).ask(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note_delete","arguments":{"id":"7\u202e\u2028<x>"},"_meta":{%s}}}`,
		elicits))
	assert.Equal(t, got.Requests["confirm_operation"].Params.Message,
		"Delete a note. This cannot be undone.\n\nOperation: note.delete\nArguments: "+
			`{"id":"7\u202e\u2028<x>"}`)
}
