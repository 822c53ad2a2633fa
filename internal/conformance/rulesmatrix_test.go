//go:build linux

package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// matrixRules has each effect, and each way to say who and what it is for that the naive evaluator
// knows.
var matrixRules = []ruleRow{
	{Effect: "allow", Who: &ruleWho{Group: "dev"}, What: &ruleWhat{Kind: "read"}},
	{Effect: "allow", Who: &ruleWho{Group: "dev"}, What: &ruleWhat{Tool: []string{"change"},
		Server: []string{"notes", "orders", "plain"}},
		Arguments: map[string]ruleTest{"/owner": {"eq": map[string]string{"claim": "sub"}}}},
	{Effect: "allow", Who: &ruleWho{Group: "ops"}},
	{Effect: "hide", What: &ruleWhat{Tool: []string{"d*"}}, Unless: &ruleWho{Subject: "eve"}},
	{Effect: "hide", Who: &ruleWho{Subject: "bob"}, What: &ruleWhat{Server: []string{"pl*"}}},
	{Effect: "deny", What: &ruleWhat{Resource: []string{"*secret"}},
		Unless: &ruleWho{Claims: map[string]ruleTest{"level": {"ge": 3.0}}}},
	{Effect: "deny", What: &ruleWhat{Server: []string{"tickets"}, Tool: []string{"change"}},
		Arguments: map[string]ruleTest{"/path": {"prefix": "/etc/"}}},
	{Effect: "ask", Who: &ruleWho{Group: "dev"}, What: &ruleWhat{Server: []string{"notes"},
		Tool: []string{"job"}}, Reason: "It takes a while."},
}

// matrixKinds has the kinds of the tools of conformance.RulesServer.
var matrixKinds = map[string]string{"look": "read", "change": "write", "drop": "destructive",
	"job": "read"}

var matrixArguments = []map[string]any{{}, {"owner": "ada"}, {"owner": "bob", "path": "/etc/x"},
	{"path": "/home/x"}}

// A matrixCell is what a user gets of an item, as the naive evaluator has it.
type matrixCell struct {
	user  ruleUser
	item  ruleItem
	shown bool
}

func (u ruleUser) cell(item ruleItem) matrixCell {
	return matrixCell{u, item, naivelyShown(matrixRules, u, item)}
}

// name is the public name.
func (c *matrixCell) name() string { return c.item.server + "__" + c.item.tool }

// wants returns what a call with these arguments says.
func (c *matrixCell) wants(arguments map[string]any) string {
	done := c.item.tool + " for " + c.knownAs()
	switch effect := naively(matrixRules, c.user, c.item, arguments); {
	case !c.shown:
		return "Unknown tool: " + c.name()
	case effect == "allow", effect == "ask" && c.user.name == "ada":
		return done
	case effect == "ask":
		return "the user did not permit it"
	}
	return "the policy does not permit its argument /"
}

// knownAs returns as whom the server knows the user.
func (c *matrixCell) knownAs() string {
	if c.item.server == "plain" {
		return "anybody"
	}
	return c.user.name
}

// tools yields the cells of all tools for a user.
func (u ruleUser) tools() (all []matrixCell) {
	for _, server := range ruleServers {
		for tool, kind := range matrixKinds {
			all = append(all, u.cell(ruleItem{server: server, tool: tool, kind: kind}))
		}
	}
	return all
}

// resources yields the cells of all resources for a user.
func (u ruleUser) resources() (all []matrixCell) {
	for _, server := range ruleServers {
		for _, path := range []string{"public", "secret"} {
			all = append(all, u.cell(ruleItem{server: server,
				resource: "data:" + server + "/" + path, kind: "read"}))
		}
	}
	return all
}

// What three users of an authorization server may do with four servers, each behind other
// credentials, is on every way what the rules say: in lists and searches, by calls, tasks, reads
// and subscriptions, in both eras, and for the SDK's clients too. Nothing with which they call the
// gateway reaches a server that does not ask for it, every line of the audit log says who it was,
// and whoever is revoked loses his streams while others keep theirs.
func TestRulesMatrix(t *testing.T) {
	t.Parallel()
	s := newRulesSite(t, matrixRules)
	calls := map[string]int{} // that reach a server
	for _, revision := range []mcp.Revision{mcp.Latest, mcp.Rev20251125} {
		for _, u := range ruleUsers {
			s.users(t, u, revision, calls)
		}
	}
	s.sdk(t, calls)
	for _, server := range []string{"orders", "tickets", "plain"} {
		assert.Equal(t, strings.Count(s.sent(server), `"method":"tools/call"`), calls[server],
			"what is refused reaches no server")
	}
	s.revoked(t)
	s.secrets(t)
}

// users does all that a user can, and compares.
func (s *rulesSite) users(t *testing.T, u ruleUser, revision mcp.Revision, calls map[string]int) {
	t.Helper()
	c, err := client.Options{Revision: revision,
		Info:              mcp.Implementation{Name: "matrix", Version: string(revision)},
		OnResourceUpdated: func(string) {},
		OnElicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
			action := mcp.ElicitDecline
			if u.name == "ada" {
				action = mcp.ElicitAccept
			}
			return &mcp.ElicitResult{Action: action, Content: json.RawMessage(`{}`)}, nil
		}}.Connect(t.Context(), streamable.Options{Header: s.header(u.name)}.Dial(s.url))
	assert.NilError(t, err)
	defer func() { assert.Check(t, c.Close()) }()
	o := &own{Client: c, t: t}
	var listed []string
	for tool, err := range c.Tools(t.Context()) {
		assert.NilError(t, err)
		listed = append(listed, tool.Name)
	}
	for _, cell := range u.tools() {
		where := fmt.Sprintf("%s in %s for %s", cell.name(), revision, u.name)
		assert.Equal(t, slices.Contains(listed, cell.name()), cell.shown, "list: %s", where)
		found, err := o.text("find_tool", `{"query":"`+cell.item.tool+`"}`)
		assert.NilError(t, err)
		assert.Equal(t, strings.Contains(found, cell.name()), cell.shown, "find: %s", where)
		for _, arguments := range matrixArguments {
			want, text := cell.wants(arguments), ""
			if cell.item.tool == "job" {
				text = startedTask(t, c, cell.name(), arguments)
			} else {
				text = called(t, c, cell.name(), arguments)
			}
			assert.Assert(t, strings.Contains(text, want) && !strings.Contains(text, "mcp.json"),
				"call %v: %s: got %s, want %s", arguments, where, text, want)
			if strings.Contains(want, " for ") {
				calls[cell.item.server]++
			}
		}
	}
	listed = nil
	for resource, err := range c.Resources(t.Context()) {
		assert.NilError(t, err)
		listed = append(listed, resource.URI)
	}
	for _, cell := range u.resources() {
		uri := cell.item.resource
		where := fmt.Sprintf("%s in %s for %s", uri, revision, u.name)
		assert.Equal(t, slices.Contains(listed, uri), cell.shown, "list: %s", where)
		result, err := c.ReadResource(t.Context(), uri)
		text, _ := mcp.Marshal(result)
		assert.Equal(t, err == nil && strings.Contains(string(text), " for "+cell.knownAs()),
			cell.shown, "read: %s: %v: %s", where, err, text)
		err = c.Subscribe(t.Context(), uri)
		assert.Equal(t, err == nil, cell.shown, "subscribe: %s: %v",
			where, err)
	}
}

// called returns what a call says, or its error.
func called(t *testing.T, c *client.Client, tool string, arguments map[string]any) string {
	result, err := c.CallTool(t.Context(), tool, arguments)
	if err != nil {
		return err.Error()
	}
	text, _ := mcp.Marshal(result)
	return string(text)
}

// startedTask is called for a task, if the server makes one.
func startedTask(t *testing.T, c *client.Client, tool string, arguments map[string]any) string {
	task, err := c.StartTool(t.Context(), tool, arguments)
	if err != nil {
		return err.Error()
	}
	result, err := task.Wait(t.Context())
	if err != nil {
		return err.Error()
	}
	text, _ := mcp.Marshal(result)
	return string(text)
}
