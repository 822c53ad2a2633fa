package telemetry

import (
	"log/slog"
	"strings"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// The attributes of the semantic conventions (semantic-conventions-genai, Model Context Protocol).
const (
	attrMethod     = "mcp.method.name"
	attrRevision   = "mcp.protocol.version"
	attrURI        = "mcp.resource.uri"
	attrTool       = "gen_ai.tool.name"
	attrPrompt     = "gen_ai.prompt.name"
	attrOperation  = "gen_ai.operation.name"
	attrErrorType  = "error.type"
	attrStatusCode = "rpc.response.status_code"
	attrRequestID  = "jsonrpc.request.id"
	attrTransport  = "network.transport"
	attrProtocol   = "network.protocol.name"
	attrAddress    = "server.address"
	attrPort       = "server.port"
	attrService    = "service.peer.name"
	attrSession    = "mcp.session.id"
	attrPrincipal  = "enduser.id"
	attrOverflow   = "otel.metric.overflow"
	attrSurface    = "stdwire.surface"

	executeTool = "execute_tool" // the value of attrOperation for a call of a tool
	toolError   = "tool_error"   // the error.type of a result with isError
	otherError  = "_OTHER"       // the error.type of an error without a class
	otherMethod = "_OTHER"       // the name of a method that is not known
)

// durationBounds are the upper bounds of the buckets of all durations.
var durationBounds = [...]time.Duration{10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute}

// An Endpoint describes the other side of a connection, as far as it is known when the middleware
// is made. All fields are optional.
type Endpoint struct {
	// Transport is the network.transport: "pipe", "tcp", "unix". For [Telemetry.Incoming], "" is
	// "pipe" for the messages of a stream, and otherwise "tcp" with the protocol "http".
	Transport string
	Protocol  string // network.protocol.name, such as "http"
	Address   string // server.address, for a client
	Port      int    // server.port, for a client
	Service   string // service.peer.name: the name under which the application knows the server
}

// endpoint returns the only copy of an endpoint, so that keys can have its address. Middleware may
// be made for each connection, so after MaxSeries endpoints, further ones keep only their
// transport.
func (t *Telemetry) endpoint(e Endpoint) *Endpoint {
	found, ok := t.endpoints.add(e, t.o.MaxSeries, func() *Endpoint { return &e })
	if !ok {
		e = Endpoint{Transport: clip(e.Transport)}
		found, _ = t.endpoints.add(e, 2*t.o.MaxSeries, func() *Endpoint { return &e })
	}
	return found
}

// An operationKey has the attributes of a series of durations. It is comparable, so that finding
// the series of a message allocates nothing.
type operationKey struct {
	endpoint  *Endpoint
	method    string
	revision  mcp.Revision
	target    string // the name of the tool or prompt
	targetKey string // the attribute that target is the value of
	errorType string
	rpcError  bool // errorType is a code of JSON-RPC
	surface   string
}

// appendAttrs appends the attributes that spans and metrics share, without the target.
func (k *operationKey) appendAttrs(attrs []slog.Attr) []slog.Attr {
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	add(attrMethod, k.method)
	if k.targetKey == attrTool {
		add(attrOperation, executeTool)
	}
	if k.targetKey != attrURI && k.targetKey != "" {
		add(k.targetKey, k.target)
	}
	add(attrRevision, string(k.revision))
	add(attrSurface, k.surface)
	if e := k.endpoint; e != nil {
		add(attrTransport, e.Transport)
		add(attrProtocol, e.Protocol)
		add(attrAddress, e.Address)
		if e.Address != "" && e.Port != 0 {
			attrs = append(attrs, slog.Int(attrPort, e.Port))
		}
		add(attrService, e.Service)
	}
	return attrs
}

func (k operationKey) attrs() []slog.Attr {
	return appendErrorType(k.appendAttrs(nil), k.errorType, k.rpcError)
}

func appendErrorType(attrs []slog.Attr, kind string, rpcError bool) []slog.Attr {
	if kind == "" {
		return attrs
	}
	attrs = append(attrs, slog.String(attrErrorType, kind))
	if rpcError {
		attrs = append(attrs, slog.String(attrStatusCode, kind))
	}
	return attrs
}

// A message holds the properties of a message that its span records.
type message struct {
	operationKey
	id        rpc.ID
	principal string // the caller, as the server has authenticated it
	session   string // a name of it, not what a client sends
}

// A target describes the subject of a message: the attribute for it, and the parameter with its
// name.
type target struct{ attr, param string }

// targetOf returns the target of a method. Most methods have none. A switch takes a fraction of the
// time of a map.
func targetOf(method string) target {
	switch method {
	case mcp.MethodCallTool:
		return target{attrTool, "name"}
	case mcp.MethodGetPrompt:
		return target{attrPrompt, "name"}
	case mcp.MethodReadResource, mcp.MethodSubscribe, mcp.MethodUnsubscribe,
		mcp.NotificationResourceUpdated:
		return target{attrURI, "uri"}
	}
	return target{}
}

// isNotification reports whether a method is that of a notification. The ID does not tell, because
// a message to be sent has none yet.
func isNotification(method string) bool { return strings.HasPrefix(method, "notifications/") }
