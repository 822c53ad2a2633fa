package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
)

// A failure describes how an operation failed. The zero value is success.
type failure struct {
	kind string // error.type
	text string // the message of the JSON-RPC error
	rpc  bool   // kind is a code of JSON-RPC
}

// failureOf returns the failure for an error. Only the text of an error that the other side sees is
// recorded.
func failureOf(err error) failure {
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		return failure{codeText(e.Code), e.Message, true}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return failure{kind: "timeout"}
	case errors.Is(err, context.Canceled), errors.Is(err, rpc.ErrCancelled):
		return failure{kind: "cancelled"}
	case errors.Is(err, rpc.ErrClosed):
		return failure{kind: "connection_closed"}
	}
	return failure{kind: otherError}
}

// answered returns the failure of a handler's error, as the other side sees it.
func answered(ctx context.Context, err error) failure {
	f := failureOf(err)
	switch {
	case f.rpc:
	case context.Cause(ctx) != nil:
		f = failureOf(context.Cause(ctx))
	default:
		f = failure{codeText(rpc.CodeInternalError), "", true}
	}
	return f
}

// codeText returns the decimal text of a code. That of a usual code is not allocated.
func codeText(code int) string {
	switch code {
	case rpc.CodeInvalidParams:
		return "-32602"
	case rpc.CodeInternalError:
		return "-32603"
	case rpc.CodeMethodNotFound:
		return "-32601"
	}
	return strconv.Itoa(code)
}

// isToolError reports whether the result of tools/call has isError. A server's result is a
// *server.Result, which has a method for it; a client's is raw JSON.
func isToolError(result any) bool {
	switch result := result.(type) {
	case interface{ IsError() bool }:
		return result.IsError()
	case json.RawMessage:
		return string(jsonscan.Member(result, "isError")) == "true"
	}
	return false
}
