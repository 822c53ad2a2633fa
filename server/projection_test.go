package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/server"
)

var perService = server.Options{Logger: slog.New(slog.DiscardHandler), Tools: server.ToolPerService}

type tool struct {
	Name, Description         string
	InputSchema, OutputSchema json.RawMessage
	Annotations               map[string]bool
}

func tools(t *testing.T, l *line) map[string]tool {
	t.Helper()
	var response struct{ Result struct{ Tools []tool } }
	assert.NilError(t,
		json.Unmarshal([]byte(
			l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{%s}}}`,
				modern)), &response))
	all := map[string]tool{}
	for _, tool := range response.Result.Tools {
		all[tool.Name] = tool
	}
	return all
}

func TestToolPerService(t *testing.T) {
	c := catalog() // weather.get, work, block, file.delete
	dispatch.Add(c, dispatch.Spec{Name: "weather.history.get", Summary: "Past weather.",
		Type: dispatch.Read}, func(context.Context, struct{}) (string, error) {
		return "rain", nil
	})
	l := dial(t, perService, c)
	all := tools(t, l)
	assert.Equal(t, len(all), 4)
	for name, want := range map[string]string{
		"weather": `{"action":{"type":"string","description":"What to do.","enum":["get","history.get","help","schema"]},"params":{"type":"object","description":"The arguments of the action."}}`,
		"file":    `{"action":{"type":"string","description":"What to do.","enum":["delete","help","schema"]},"params":{"type":"object","description":"The arguments of the action."}}`,
		"work":    `{}`,
		"block":   `{}`,
	} {
		var input struct{ Properties json.RawMessage }
		assert.NilError(t, json.Unmarshal(all[name].InputSchema, &input))
		assert.Equal(t, string(input.Properties), want)
	}
	assert.DeepEqual(t, all["weather"].Annotations,
		map[string]bool{"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
			"openWorldHint": false})
	assert.DeepEqual(t, all["file"].Annotations,
		map[string]bool{"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true,
			"openWorldHint": true})
	assert.Assert(t,
		strings.Contains(all["weather"].Description,
			"\n- get: Current weather.\n- history.get: Past weather."), all["weather"].Description)

	for _, tc := range []struct{ name, arguments, want string }{
		{"weather", `{"action":"get","params":{"city":"Oslo"}}`,
			`{"success":true,"data":{"text":"sunny in Oslo"},"error":null}`},
		{"weather", `{"action":"history.get"}`, `{"success":true,"data":"rain","error":null}`},
		{"weather", `{"action":"history.get","params":null}`,
			`{"success":true,"data":"rain","error":null}`},
		{"work", `{}`, `{"success":true,"data":{"text":"done"},"error":null}`},
		{"weather", `{"action":"get","params":{"city":"Atlantis"}}`,
			`{"success":false,"data":null,"error":{"code":"not_found","message":"there is no city \"Atlantis\"","details":null,"recoverable":true}}`},
		{"weather", `{"action":"get","params":{}}`, `"code":"missing_param"`},
		{"weather", `{"action":"get","params":[]}`, `"code":"invalid_input"`},
		{"weather", `{"action":"get","city":"Oslo"}`,
			`"details":{"errors":[{"path":"/city","reason":"is unknown here; the action's arguments belong in params"}]}`},
		{"weather", `{"action":"get","action":"get"}`, `"reason":"occurs twice"`},
		{"weather", `{"action":7}`, `"path":"/action"`},
		{"weather", `[]`, `"code":"invalid_input"`},
		{"weather", ``, `"code":"missing_param"`},
		{"weather", `{"params":{}}`, `"code":"missing_param"`},
		{"weather", `{"action":"post"}`,
			`{"code":"unknown_operation","message":"weather has no action \"post\"; it has get, history.get, help, schema","details":{"actions":["get","history.get","help","schema"]},"recoverable":true}`},
		{"weather", `{"action":""}`, `"code":"unknown_operation"`},

		{"weather", `{"action":"help"}`,
			`{"actions":[{"action":"get","title":"Weather","summary":"Current weather."},{"action":"history.get","summary":"Past weather."}],"service":"weather"}`},
		{"weather", `{"action":"help","params":{"action":"get"}}`,
			`"description":"Current weather.\n\nErrors: not_found"`},
		{"weather", `{"action":"schema","params":{"action":"get"}}`,
			`"input":{"type":"object","properties":{"city":{"type":"string","description":"City to look up."}},"required":["city"],"additionalProperties":false}`},
		{"weather", `{"action":"schema"}`, `{"action":"history.get","input":`},
		{"weather", `{"action":"schema","params":{"action":"post"}}`, `"code":"unknown_operation"`},
		{"weather", `{"action":"help","params":{"of":"get"}}`, `"path":"/params"`},
		{"weather", `{"action":"help","params":{"action":1}}`, `"path":"/params/action"`},
		{"weather", `{"action":"help","params":"get"}`, `"path":"/params"`},
	} {
		arguments := ""
		if tc.arguments != "" {
			arguments = `,"arguments":` + tc.arguments
		}
		var response struct {
			Result struct {
				StructuredContent json.RawMessage
				IsError           bool
			}
		}
		message := l.ask(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q%s,"_meta":{%s}}}`,
			tc.name, arguments, modern)
		for strings.Contains(message, `"method"`) { // progress
			message = l.read()
		}
		assert.NilError(t, json.Unmarshal([]byte(message), &response), message)
		got := string(response.Result.StructuredContent)
		assert.Assert(t, strings.Contains(got, tc.want), "%s %s\n%s", tc.name, tc.arguments, got)
		assert.Equal(t, response.Result.IsError, strings.Contains(got, `"success":false`))
		s, err := schema.Compile(all[tc.name].OutputSchema)
		assert.NilError(t, err)
		assert.NilError(t, s.Validate(response.Result.StructuredContent))
	}
	assert.Assert(t,
		strings.Contains(
			l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather_get","_meta":{%s}}}`,
				modern), "Unknown tool: weather_get"))
}

// A service may have an operation named help.
func TestOperationNamedHelp(t *testing.T) {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "desk.help", Summary: "Help.", Type: dispatch.Read},
		func(context.Context, struct{}) (string, error) { return "mine", nil })
	message := dial(t, perService,
		c).ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"desk","arguments":{"action":"help"},"_meta":{%s}}}`,
		modern)
	assert.Assert(t, strings.Contains(message, `"data":"mine"`), message)
}

func TestConfirmationThroughAService(t *testing.T) {
	l := dial(t, perService, notes())
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"note","arguments":{"action":"delete","params":{"id":"7"}}%s,"_meta":{` +
		elicits + `}}}`
	asked := decode(t, l.ask(call, ""))
	assert.Assert(t,
		strings.Contains(asked.Requests["confirm_operation"].Params.Message,
			`Arguments: {"id":"7"}`), asked)
	more := fmt.Sprintf(
		`,"inputResponses":{"confirm_operation":{"action":"accept"}},"requestState":%q`,
		asked.State)
	assert.Equal(t, decode(t, l.ask(call, more)).Structured.Data, "deleted 7")
}

func TestServiceFollowsTheCatalog(t *testing.T) {
	c := notes()
	l := dial(t, perService, c)
	assert.Equal(t, len(tools(t, l)), 1)
	dispatch.Add(c, dispatch.Spec{Name: "tag.list", Summary: "Tags.", Type: dispatch.Read},
		func(context.Context, struct{}) (string, error) { return "", nil })
	assert.Equal(t, len(tools(t, l)), 2)
	c.Remove("note.delete", "note.put")
	assert.Equal(t, len(tools(t, l)), 1)
}
