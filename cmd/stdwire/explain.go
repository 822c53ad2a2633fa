package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// causes has the class of what an error of the client is about, when it comes from the start of a connection and when it comes from a call. The first that
// matches counts.
var causes = []struct {
	matches     func(error) bool
	start, call string // of exits
	hint        string
}{
	{is[*client.SpawnError], "spawn_failed", "internal", ""},
	{is[*auth.Error], "auth_required", "auth_required", "log in again: stdwire auth login"},
	{matches(context.DeadlineExceeded), "start_timeout", "", "a first start may take longer, if something has to be downloaded: --start-timeout 5m; or this is no MCP server on stdio"},
	{matches(context.DeadlineExceeded), "", "call_timeout", "it may need longer: --timeout 30m"},
	{is[*client.ExitError], "start_exit", "server_died", ""},
	{unauthorized, "auth_required", "auth_required", sayWho},
	{is[*streamable.StatusError], "unreachable", "server_died", ""},
	{matches(streamable.ErrDisconnected), "unreachable", "server_died", ""},
	{is[*net.OpError], "unreachable", "server_died", ""},
	{matches(framing.ErrTooLarge), "too_large", "too_large", ""},
	{matches(rpc.ErrClosed), "unreachable", "server_died", ""},
	{is[*client.InputRequiredError], "", "tool_is_error", ""},
	{is[*client.RoundsError], "", "tool_is_error", ""},
	{is[*client.QuestionError], "", "tool_is_error", ""},
	{is[*client.TaskCancelledError], "", "tool_is_error", ""},
	{is[*client.OutputError], "", "tool_is_error", ""},
	{matches(client.ErrNotAgreed), "", "refused", ""},
	{is[*rpc.Error], "unreachable", "tool_is_error", ""},
	{func(error) bool { return true }, "unreachable", "internal", ""},
}

// sayWho is the hint where a server wants to know who is there.
const sayWho = "say who you are: --header Authorization:@FILE, with what the server wants in the file, such as: Bearer TOKEN"

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func unauthorized(err error) bool {
	refused, ok := errors.AsType[*streamable.StatusError](err)
	return ok && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden)
}

func matches(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// explain makes a failure of an error of the client, or returns the one that it already is; nil if it is neither.
func explain(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if e, ok := errors.AsType[*client.StartError](err); ok {
		f := &failure{what: "start", why: e.Err.Error(), stderr: e.Stderr}
		if explainTooLarge(f, e.Err) {
			return f
		}
		for _, cause := range causes {
			if cause.start != "" && cause.matches(e.Err) {
				f.code, f.hint = cause.start, cmp.Or(cause.hint, e.Hint)
				return f
			}
		}
	}
	if e, ok := errors.AsType[*client.CallError](err); ok {
		return explainCall(e)
	}
	return nil
}

// explainCall is explain for an error of one call.
func explainCall(e *client.CallError) *failure {
	f := &failure{tool: e.Tool, what: cmp.Or(e.Tool, e.Name, e.Method), why: e.Err.Error()}
	if what := offers[e.Method]; what != "" && errors.Is(e, rpc.ErrMethodNotFound) {
		f.code, f.why = "not_found", "the server has no "+what
		return f
	}
	if explainTooLarge(f, e.Err) {
		return f
	}
	if frame, ok := errors.AsType[*framing.FrameError](e.Err); ok && frame.Err == framing.ErrTooLarge {
		f.why = "not sent: the request has " + size(int(frame.Size)) + ", and many servers do not survive more than " + size(frame.Limit)
	}
	for _, cause := range causes {
		if cause.call != "" && cause.matches(e.Err) {
			f.code, f.hint = cause.call, cause.hint
			break
		}
	}
	if f.code == "tool_is_error" && !strings.HasPrefix(e.Method, "tools/") {
		f.code = "refused"
	}
	if why, hint := unasked(e.Err); why != "" {
		f.why, f.hint = why, hint
	}
	return f
}

// offers are what a server may be without, by the methods that it does not know then.
var offers = map[string]string{
	mcp.MethodListTools: "tools", mcp.MethodListResources: "resources", mcp.MethodListResourceTemplates: "resource templates", mcp.MethodListPrompts: "prompts",
	mcp.MethodReadResource: "resources", mcp.MethodGetPrompt: "prompts", mcp.MethodComplete: "completions",
	mcp.MethodSubscribe: "way to tell of changes", mcp.MethodListen: "way to tell of changes",
}

// without is the failure for a server that does not say that it has something of the kind.
func without(what string) *failure {
	return &failure{code: "not_found", why: "the server has no " + what}
}

const atTerminal = "stdwire asks where a person can answer: run it with stdin and stderr on a terminal"

// unasked tells of an error that a server wants to ask something and found nobody to answer it; why is "" if it is another one.
func unasked(err error) (why, hint string) {
	if asks, ok := errors.AsType[*client.InputRequiredError](err); ok {
		var methods []string
		for _, q := range asks.Result.InputRequests {
			if !slices.Contains(methods, q.Method) {
				methods = append(methods, q.Method)
			}
		}
		slices.Sort(methods)
		return missing(methods)
	}
	refused, ok := errors.AsType[*rpc.Error](err)
	switch {
	case !ok:
	case refused.Code == mcp.CodeMissingRequiredClientCapability:
		var data mcp.MissingRequiredClientCapabilityData
		if mcp.Unmarshal(refused.Data, &data) == nil && data.RequiredCapabilities.Elicitation != nil {
			return missing([]string{mcp.MethodElicit})
		}
	case refused.Code == mcp.CodeURLElicitationRequired:
		var data mcp.URLElicitationRequiredData
		if mcp.Unmarshal(refused.Data, &data) == nil && len(data.Elicitations) > 0 {
			first := data.Elicitations[0]
			return "a web page has to be visited first: " + first.Message, "if you trust the server, open " + ascii(first.URL) + " and try again"
		}
	}
	return "", ""
}

// missing says what a server asks for that it does not get.
func missing(methods []string) (why, hint string) {
	if slices.Equal(methods, []string{mcp.MethodElicit}) {
		return "the server wants to ask something, and nobody is there to answer", atTerminal
	}
	return "the server asks for " + strings.Join(methods, " and ") + ", which stdwire does not give", ""
}
