package target

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/elicit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// causes maps errors of the client to codes of failures, for the start of a connection and for a
// call. The first match counts.
var causes = []struct {
	matches     func(error) bool
	start, call string // keys of [command.ExitCodes]; "": does not apply
	hint        string
}{
	{IsError[*client.SpawnError], "spawn_failed", "internal", ""},
	{IsError[*auth.Error], "auth_required", "auth_required", "log in again: stdwire auth login"},
	{MatchesError(context.DeadlineExceeded), "start_timeout", "",
		"a first start may take longer, if something has to be downloaded: --start-timeout 5m; or this is no MCP server on stdio"},
	{MatchesError(context.DeadlineExceeded), "", "call_timeout",
		"it may need longer: --timeout 30m"},
	{IsError[*client.ExitError], "start_exit", "server_died", ""},
	{unauthorized, "auth_required", "auth_required", hintAuthorization},
	{wrongPath, "unreachable", "",
		"is the path right? that of an MCP server is often /mcp, as in http://HOST:PORT/mcp"},
	{IsError[*streamable.StatusError], "unreachable", "server_died", ""},
	{MatchesError(streamable.ErrDisconnected), "unreachable", "server_died", ""},
	{MatchesError(syscall.ECONNREFUSED), "unreachable", "",
		"nothing listens there: does the server run, and are the host and the port right?"},
	{MatchesError(http.ErrSchemeMismatch), "unreachable", "",
		"the server has no TLS: write http:// in place of https://"},
	{IsError[*net.OpError], "unreachable", "server_died", ""},
	{MatchesError(framing.ErrTooLarge), "too_large", "too_large", ""},
	{MatchesError(rpc.ErrClosed), "unreachable", "server_died", ""},
	{IsError[*client.InputRequiredError], "", "tool_is_error", ""},
	{MatchesError(client.ErrRounds), "", "tool_is_error", ""},
	{IsError[*client.QuestionError], "", "tool_is_error", ""},
	{MatchesError(client.ErrTaskCancelled), "", "tool_is_error", ""},
	{IsError[*client.OutputError], "", "tool_is_error", ""},
	{MatchesError(client.ErrNotAgreed), "", "refused", ""},
	{IsError[*rpc.Error], "unreachable", "tool_is_error", ""},
	{func(error) bool { return true }, "unreachable", "internal", ""},
}

// hintAuthorization is the hint for a server that requires authorization.
const (
	hintAuthorization = "send credentials: --token-file FILE, or " + hintHeader
	hintHeader        = "--header Authorization:@FILE, where the file has a line such as: Bearer TOKEN"
)

func IsError[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func unauthorized(err error) bool {
	refused, ok := errors.AsType[*streamable.StatusError](err)
	return ok && (refused.Status == http.StatusUnauthorized ||
		refused.Status == http.StatusForbidden)
}

// wrongPath reports whether a server has no endpoint at the path of the URL.
func wrongPath(err error) bool {
	refused, ok := errors.AsType[*streamable.StatusError](err)
	return ok && (refused.Status == http.StatusNotFound ||
		refused.Status == http.StatusMethodNotAllowed)
}

func MatchesError(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// Explain returns an error of the client as a failure. It returns nil if err is neither that nor a
// failure.
func Explain(err error) *command.Failure {
	if f, ok := errors.AsType[*command.Failure](err); ok {
		return f
	}
	if e, ok := errors.AsType[*client.StartError](err); ok {
		f := &command.Failure{What: "start", Why: e.Reason(), Stderr: e.Stderr}
		if explainTooLarge(f, e.Err) {
			return f
		}
		for _, cause := range causes {
			if cause.start != "" && cause.matches(e.Err) {
				f.Code, f.Hint = cause.start, cmp.Or(cause.hint, e.Hint)
				return f
			}
		}
	}
	if e, ok := errors.AsType[*client.CallError](err); ok {
		return explainCall(e)
	}
	return nil
}

// explainCall is Explain for an error of one call.
func explainCall(e *client.CallError) *command.Failure {
	f := &command.Failure{Tool: e.Tool, What: cmp.Or(e.Tool, e.Name, e.Method), Why: e.Err.Error()}
	if what := methodFeatures[e.Method]; what != "" && errors.Is(e, rpc.ErrMethodNotFound) {
		f.Code, f.Why = "not_found", "the server has no "+what
		return f
	}
	if explainTooLarge(f, e.Err) {
		return f
	}
	if frame, ok := errors.AsType[*framing.FrameError](e.Err); ok &&
		frame.Err == framing.ErrTooLarge {
		f.Why = "not sent: the request has " + command.Size(int(frame.Size)) +
			", and many servers do not survive more than " + command.Size(frame.Limit)
	}
	for _, cause := range causes {
		if cause.call != "" && cause.matches(e.Err) {
			f.Code, f.Hint = cause.call, cause.hint
			break
		}
	}
	if f.Code == "tool_is_error" && !strings.HasPrefix(e.Method, "tools/") {
		f.Code = "refused"
	}
	if why, hint := explainUnasked(e.Err); why != "" {
		f.Why, f.Hint = why, hint
	}
	if refused, ok := errors.AsType[*rpc.Error](e.Err); ok &&
		jsonscan.Member(refused.Data, "refused_by") != nil {
		f.Code = "denied" // by a limit or a command of a gateway
	}
	return f
}

// methodFeatures maps methods to the feature that a server lacks if it does not know the method.
var methodFeatures = map[string]string{
	mcp.MethodListTools: "tools", mcp.MethodListResources: "resources",
	mcp.MethodListResourceTemplates: "resource templates", mcp.MethodListPrompts: "prompts",
	mcp.MethodReadResource: "resources", mcp.MethodGetPrompt: "prompts",
	mcp.MethodComplete: "completions", mcp.MethodListSkills: "skills", mcp.MethodGetSkill: "skills",
	mcp.MethodListTasks: "list of tasks", mcp.MethodGetTask: "tasks",
	mcp.MethodCancelTask: "way to cancel tasks",
	mcp.MethodSubscribe:  "way to tell of changes", mcp.MethodListen: "way to tell of changes",
}

// Unsupported returns the failure for a server that does not declare a capability.
func Unsupported(what string) *command.Failure {
	return &command.Failure{Code: "not_found", Why: "the server has no " + what}
}

// explainUnasked explains a request of the server that could not be answered. why is "" for another
// error.
func explainUnasked(err error) (why, hint string) {
	if asks, ok := errors.AsType[*client.InputRequiredError](err); ok {
		var methods []string
		for _, q := range asks.Result.InputRequests {
			if !slices.Contains(methods, q.Method) {
				methods = append(methods, q.Method)
			}
		}
		slices.Sort(methods)
		return explainMissing(methods)
	}
	refused, ok := errors.AsType[*rpc.Error](err)
	switch {
	case !ok:
	case refused.Code == mcp.CodeMissingRequiredClientCapability:
		var data mcp.MissingRequiredClientCapabilityData
		if mcp.Unmarshal(refused.Data, &data) != nil {
			break
		}
		switch needed := data.RequiredCapabilities; {
		case needed.Elicitation != nil:
			return explainMissing([]string{mcp.MethodElicit})
		case needed.Sampling != nil:
			return explainMissing([]string{mcp.MethodCreateMessage})
		}
	case refused.Code == mcp.CodeURLElicitationRequired:
		var data mcp.URLElicitationRequiredData
		if mcp.Unmarshal(refused.Data, &data) == nil && len(data.Elicitations) > 0 {
			first := data.Elicitations[0]
			return "a web page has to be visited first: " + first.Message,
				"if you trust the server, open " + elicit.Ascii(first.URL) + " and try again"
		}
	}
	return "", ""
}

// explainMissing explains which requests of the server this client does not answer.
func explainMissing(methods []string) (why, hint string) {
	switch {
	case slices.Equal(methods, []string{mcp.MethodElicit}):
		return "the server asks a question, and nobody can answer it here", term.HintTerminal
	case slices.Equal(methods, []string{mcp.MethodCreateMessage}):
		return "the server asks a model, and none can answer it here",
			"--sample COMMAND answers it, and at a terminal you do: run it with stdin and stderr on one"
	}
	return "the server asks for " + strings.Join(methods, " and ") +
		", which stdwire does not give", ""
}
