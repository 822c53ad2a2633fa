package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/legacy"
	"github.com/stdwire/stdwire/server/internal/results"
)

// A Result is the result of a request, a JSON object in the form of the client's revision. It is
// what [Options].Middleware, Outgoing and Interceptors get; it implements [dispatch.Result]. It
// does not change and may be encoded any number of times, until the handler of the request has
// returned. It is safe for concurrent use.
type Result struct {
	json    json.RawMessage // the result, unless content is set
	content content
	checked bool // isError is known
	isError bool
}

// A content appends a result that is encoded only when it is sent. It must append the same bytes
// each time.
type content interface {
	AppendJSON(dst []byte) []byte
	Size() int // about how many bytes AppendJSON appends
}

// NewResult returns a result that is encoded already. The caller must not modify it afterwards.
func NewResult(object json.RawMessage) *Result { return &Result{json: object} }

// JSON returns the result. The caller must not modify it.
func (r *Result) JSON() json.RawMessage {
	if r.content == nil {
		return r.json
	}
	return r.content.AppendJSON(make([]byte, 0, r.content.Size()))
}

// AppendJSON implements [rpc.Appender]. Its error is nil.
func (r *Result) AppendJSON(dst []byte) ([]byte, error) {
	if r.content == nil {
		return append(dst, r.json...), nil
	}
	return r.content.AppendJSON(dst), nil
}

// JSONSize estimates the size for [rpc.Appender].
func (r *Result) JSONSize() int {
	if r.content == nil {
		return len(r.json)
	}
	return r.content.Size()
}

// IsError reports whether the result of a tool has isError. For nil it returns false.
func (r *Result) IsError() bool {
	if r == nil || r.checked {
		return r != nil && r.isError
	}
	return string(jsonscan.Member(r.json, "isError")) == "true"
}

// Type returns the result's resultType. It is [mcp.ResultInputRequired] if the server asks a modern
// client for input; the client then repeats the call with its answer. It is [mcp.ResultComplete]
// for a final result, in both eras, and for nil.
func (r *Result) Type() mcp.ResultType {
	if r != nil && r.content == nil {
		if text, ok := jsonscan.Text(jsonscan.Member(r.json, "resultType")); ok {
			return mcp.ResultType(text)
		}
	}
	return mcp.ResultComplete
}

// isValid reports whether r is a result of the server, or of [NewResult] with a JSON object.
func (r *Result) isValid() bool {
	return r.content != nil || results.IsObject(r.json) && jsonscan.Valid(r.json) == nil
}

// A toolResult is the result of an operation. One allocation has both.
type toolResult struct {
	Result
	tool results.Tool
}

// toolResult returns the result of an operation for the client's era.
func (r *request) toolResult(form results.Form, envelope dispatch.Envelope) (*Result, error) {
	isError := envelope.Err != nil
	if form == results.FormComplete && !isError {
		hasMeta := false
		for name, value := range jsonscan.Members(envelope.Data) {
			hasMeta = hasMeta || jsonscan.KeyIs(name, "_meta")
			isError = isError || jsonscan.KeyIs(name, "isError") && string(value) == "true"
		}
		if hasMeta || !r.era.Modern {
			var result mcp.CallToolResult
			if err := mcp.Unmarshal(envelope.Data, &result); err != nil {
				return nil, r.logError(err) // an interceptor has replaced the data
			}
			return r.rawToolResult(&result)
		}
	}
	t := &toolResult{Result{checked: true, isError: isError},
		results.Tool{Common: r.conn.server.results, Era: r.era, Form: form, Envelope: envelope}}
	t.content = &t.tool
	return &t.Result, nil
}

// toolError returns a result with IsError for invalid arguments, which the model can correct
// (2026-07-28, server/tools, Error Handling).
func (r *request) toolError(message string) (*Result, error) {
	return r.rawToolResult(
		&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: message}}, IsError: true})
}

// rawToolResult returns a tool's result in the form of the client's era.
func (r *request) rawToolResult(result *mcp.CallToolResult) (*Result, error) {
	if result == nil {
		return nil, r.logError(errNoResult)
	}
	own := *result // the handler may return a shared result
	if own.Content == nil && own.StructuredContent != nil {
		own.Content = []mcp.Content{&mcp.TextContent{Text: string(own.StructuredContent)}}
	}
	own.Content = slices.Clone(own.Content)
	for i, block := range own.Content {
		own.Content[i] = legacy.Content(r.era.Revision, block)
	}
	if !r.era.AllowsStructured(own.StructuredContent) {
		own.StructuredContent = nil
	}
	return r.encodeResult(&own, &own.Result)
}

// encodeResult encodes a handler's result for the client's era. base points into result, which must
// be a copy of the handler's result.
func (r *request) encodeResult(result any, base *mcp.Result) (*Result, error) {
	base.ResultType = ""
	if r.era.Modern {
		base.ResultType, base.Meta = mcp.ResultComplete, maps.Clone(base.Meta)
		if err := base.Meta.Set(mcp.MetaServerInfo, r.conn.server.results.Info); err != nil {
			return nil, err
		}
	}
	text, err := mcp.Marshal(result)
	if err != nil {
		return nil, r.logError(err)
	}
	return NewResult(text), nil
}

// ResourceNotFound returns the error of a resource that does not exist. Its code depends on the
// client's revision.
func ResourceNotFound(uri string) error { return &notFound{uri} }

type notFound struct{ uri string }

func (e *notFound) Error() string { return fmt.Sprintf("server: there is no resource %q", e.uri) }

// in returns the error for the client's era (2026-07-28, server/resources, Error Handling).
func (e *notFound) in(of *era.Era) error {
	code := mcp.CodeResourceNotFound
	if of.Modern {
		code = rpc.CodeInvalidParams
	}
	data := jsonscan.SetMember([]byte(`{}`), "uri", jsonscan.AppendString(nil, e.uri))
	return &rpc.Error{Code: code, Message: fmt.Sprintf("Resource not found: %.500s", e.uri),
		Data: data}
}

// handlerError returns the response to a request whose handler has returned err. If the client is
// asked a question all the same, it returns err for [request.run], which says so in the log.
func (r *request) handlerError(err error) (*Result, error) {
	if _, ok := errors.AsType[*inputRequiredError](err); !ok && r.asks() {
		return nil, err
	}
	return r.errorResponse(err)
}

// errorResponse returns the response to a request for which the application has returned err.
func (r *request) errorResponse(err error) (*Result, error) {
	if _, ok := errors.AsType[*inputRequiredError](err); ok && r.stopErr() != nil {
		return r.inputRequired()
	}
	if missing, ok := errors.AsType[*notFound](err); ok {
		return nil, missing.in(r.era)
	}
	coded := dispatchError(err)
	_, ok := errors.AsType[*rpc.Error](err)
	if ok && coded != nil {
		_, within := errors.AsType[*rpc.Error](coded)
		ok = !within // the text is chosen instead of that of its cause
	}
	switch {
	case ok || r.Err() != nil:
		return nil, err
	case coded != nil:
		return r.codedError(coded, err)
	}
	if !r.conn.server.o.ShowErrors {
		r.conn.server.log.Error("a handler failed; ShowErrors shows the error to the client",
			"method", r.Method, "error", err)
		return nil, &sentError{err, errWithheld}
	}
	if r.Method == mcp.MethodCallTool {
		return r.toolError(err.Error())
	}
	return nil, &sentError{err, rpc.Errorf(rpc.CodeInternalError, "%s", err.Error())}
}

// dispatchError returns the error of package dispatch that err is or wraps, or that of a bare code;
// nil: neither.
func dispatchError(err error) *dispatch.Error {
	if e, ok := errors.AsType[*dispatch.Error](err); ok {
		if e == nil {
			return dispatch.Errorf(dispatch.InternalError, "%v", e)
		}
		return e
	}
	if code, ok := errors.AsType[dispatch.Code](err); ok {
		return dispatch.Errorf(code, "")
	}
	return nil
}

// codedError returns the response to a request whose handler has returned err, which is or wraps e.
// The text of e is for the client.
func (r *request) codedError(e *dispatch.Error, err error) (*Result, error) {
	message := e.Message
	if message == "" {
		info, _ := r.conn.server.catalog.CodeInfo(e.Code)
		message = info.Summary
	}
	sent := &rpc.Error{Code: rpc.CodeInternalError, Message: message}
	switch {
	case errors.Is(e, dispatch.ErrBusy):
		sent.Code = rpc.CodeBusy
	case e.Code == dispatch.TooManyRequests && r.Method != mcp.MethodCallTool:
		sent.Code = rpc.CodeBusy // not one that the specifications reserve
	case r.Method == mcp.MethodCallTool:
		return r.toolError(message)
	case e.Code == dispatch.NotFound && r.Method == mcp.MethodReadResource:
		sent.Code = mcp.CodeResourceNotFound // which modernError replaces
	case e.Code == dispatch.NotFound || e.Code == dispatch.InvalidInput ||
		e.Code == dispatch.MissingParam:
		sent.Code = rpc.CodeInvalidParams
	}
	if e.Details != nil {
		sent.Data, _ = mcp.Marshal(e.Details) // without it if it cannot be encoded
	}
	return nil, &sentError{err, sent}
}

// A sentError is an error of a handler, and the one that the client gets in its place.
type sentError struct {
	error
	sent *rpc.Error
}

func (e *sentError) Unwrap() []error { return []error{e.sent, e.error} }

var errWithheld = rpc.Errorf(rpc.CodeInternalError,
	"Internal error: its text is withheld; the log has it, and ShowErrors shows it")

// logError logs err, a mistake whose text is not sent to the client, and returns it.
func (r *request) logError(err error) error {
	r.conn.server.log.Error("a handler failed", "method", r.Method, "error", err)
	return err
}

// translateRPC returns [dispatch.Options].Translate with one more rule, the last: the text of an
// error that is an [*rpc.Error] is for the client. One that is wrapped may be that of another
// server, whose text nobody has chosen. The code is not for the client, because it would be taken
// for the server's own.
func translateRPC(translate func(error) error) func(error) error {
	return func(err error) error {
		if translate != nil {
			if translated := translate(err); dispatchError(translated) != nil {
				return translated
			}
		}
		switch e, ok := err.(*rpc.Error); {
		case !ok:
			return nil
		case e == nil:
			return dispatch.Errorf(dispatch.InternalError, "%v", e)
		default:
			return dispatch.Errorf(dispatch.InternalError, "%s", e.Message)
		}
	}
}

var errNoResult = errors.New("server: the handler returned neither a result nor an error")

// modernError returns the error for the client's era. Of the reserved codes, a modern client gets
// only those that the specification defines (2026-07-28, basic, Error Codes).
func (r *request) modernError(err error) error {
	e, ok := errors.AsType[*rpc.Error](err)
	switch {
	case !r.era.Modern || !ok || e == nil || mcp.IsModernError(int64(e.Code)) ||
		!isReserved(int64(e.Code)):
		return err
	case e.Code == mcp.CodeResourceNotFound:
		return &rpc.Error{Code: rpc.CodeInvalidParams, Message: e.Message, Data: e.Data}
	case e.Code == mcp.CodeURLElicitationRequired:
		// a legacy server behind a gateway sent it; no modern code means that the user refused
		return &rpc.Error{Code: rpc.CodeInternalError, Message: e.Message}
	}
	return r.logError(fmt.Errorf("the code %d belongs to the specification: %s", e.Code, e.Message))
}

// isReserved reports whether a code is reserved for the specification: an implementation must not
// give it a meaning of its own (MCP 2026-07-28, Base Protocol, "Error Codes").
func isReserved(code int64) bool { return -32100 < code && code < -31999 }
