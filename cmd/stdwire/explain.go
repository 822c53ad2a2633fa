package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/stdwire/stdwire/client"
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
	{matches(context.DeadlineExceeded), "start_timeout", "", "a first start may take longer, if something has to be downloaded: --start-timeout 5m; or this is no MCP server on stdio"},
	{matches(context.DeadlineExceeded), "", "call_timeout", "the tool may need longer: --timeout 30m"},
	{is[*client.ExitError], "start_exit", "server_died", ""},
	{unauthorized, "auth_required", "auth_required", "say who you are: --header Authorization:@FILE, with what the server wants in the file, such as: Bearer TOKEN"},
	{is[*streamable.StatusError], "unreachable", "server_died", ""},
	{matches(streamable.ErrCut), "unreachable", "server_died", ""},
	{is[*net.OpError], "unreachable", "server_died", ""},
	{matches(framing.ErrTooLarge), "too_large", "too_large", ""},
	{matches(rpc.ErrClosed), "unreachable", "server_died", ""},
	{is[*client.InputRequiredError], "", "tool_is_error", "the tool asks for something that stdwire call cannot give it"},
	{is[*rpc.Error], "unreachable", "tool_is_error", ""},
	{func(error) bool { return true }, "unreachable", "internal", ""},
}

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
		for _, cause := range causes {
			if cause.start != "" && cause.matches(e.Err) {
				f.code, f.hint = cause.start, cmp.Or(cause.hint, e.Hint)
				return f
			}
		}
	}
	if e, ok := errors.AsType[*client.CallError](err); ok {
		f := &failure{tool: e.Tool, what: cmp.Or(e.Tool, e.Method), why: e.Err.Error()}
		if frame, ok := errors.AsType[*framing.FrameError](e.Err); ok && frame.Err == framing.ErrTooLarge {
			f.why = "not sent: the request has " + size(int(frame.Size)) + ", and many servers do not survive more than " + size(frame.Limit)
		}
		if e.Method == mcp.MethodListTools && errors.Is(e, rpc.ErrMethodNotFound) {
			f.code, f.why = "not_found", "the server has no tools"
			return f
		}
		for _, cause := range causes {
			if cause.call != "" && cause.matches(e.Err) {
				f.code, f.hint = cause.call, cause.hint
				return f
			}
		}
	}
	return nil
}
