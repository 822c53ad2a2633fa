package telemetry

import (
	"context"
	"log/slog"
	"time"
	"unsafe"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
)

// A SpanKind is the SpanKind of OpenTelemetry. Its numbers are those of OTLP.
type SpanKind int

const (
	SpanKindInternal SpanKind = 1 // an operation within the process
	SpanKindServer   SpanKind = 2 // the handling of a message
	SpanKindClient   SpanKind = 3 // a message that was sent, until its response
)

// A Span is a finished operation. Its slices are shared and must not be changed.
type Span struct {
	SpanContext
	Parent       SpanID // zero: the span is the root of its trace
	RemoteParent bool   // Parent belongs to another process
	Kind         SpanKind
	Start        time.Time
	Duration     time.Duration
	// ErrorType is the class of the error, a code of JSON-RPC or tool_error; "" for success.
	ErrorType string
	// Message is the text of the error, or "".
	Message string
	// Links are related spans other than the parent.
	Links []SpanContext

	name    string // without the target
	message message
	extra   []slog.Attr
}

// Name returns the name of the span: for a message its method, followed by the name of the tool or
// prompt if it has one.
func (s *Span) Name() string {
	if target := s.message.target; target != "" && s.message.targetKey != attrURI {
		return s.name + " " + target
	}
	return s.name
}

// Attributes returns the attributes of the span, by the names of the semantic conventions.
func (s *Span) Attributes() []slog.Attr {
	return s.appendOwn(s.message.appendAttrs(append([]slog.Attr(nil), s.extra...)))
}

// appendOwn appends the attributes that differ from message to message.
func (s *Span) appendOwn(attrs []slog.Attr) []slog.Attr {
	if s.message.targetKey == attrURI && s.message.target != "" {
		attrs = append(attrs, slog.String(attrURI, s.message.target))
	}
	if !s.message.id.IsZero() && !s.message.id.IsNull() {
		attrs = append(attrs, slog.String(attrRequestID, idText(s.message.id)))
	}
	for _, a := range [...]struct{ key, value string }{{attrSession, s.message.session},
		{attrPrincipal, s.message.principal}} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.key, a.value))
		}
	}
	return appendErrorType(attrs, s.ErrorType, s.message.rpcError)
}

// size returns about how many bytes the span occupies.
func (s *Span) size() int {
	n := int(unsafe.Sizeof(*s)) + len(s.State) + len(s.Message) + len(s.name) +
		len(s.message.target) + len(s.message.principal) + len(s.message.session) +
		len(s.Links)*int(unsafe.Sizeof(SpanContext{}))
	for i := range s.Links {
		n += len(s.Links[i].State)
	}
	for _, a := range s.extra {
		n += int(unsafe.Sizeof(a)) + len(a.Key)
		if a.Value.Kind() == slog.KindString {
			n += len(a.Value.String())
		}
	}
	return n
}

// An ActiveSpan is a running operation of the application. Only one goroutine may use it at a time.
// The methods of a nil *ActiveSpan do nothing.
type ActiveSpan struct {
	t    *Telemetry
	span Span
}

// maxAttributes is how many attributes an ActiveSpan keeps.
const maxAttributes = 128

// StartSpan starts a span of the application, a child of the span in ctx. The context that it
// returns carries the new span. The name should have few different values. [ActiveSpan.End] ends
// it.
func (t *Telemetry) StartSpan(ctx context.Context, name string, kind SpanKind,
	attrs ...slog.Attr) (context.Context, *ActiveSpan) {
	if t == nil {
		return ctx, nil
	}
	parent := SpanContextFrom(ctx)
	span := t.newSpan(&parent, kind)
	span.name = clip(name)
	a := &ActiveSpan{t: t, span: span}
	a.Set(attrs...)
	return &spanContext{ctx, span.SpanContext}, a
}

// child returns the context of a new span. Without spans, it returns the parent: the collector
// would never receive another span.
func (t *Telemetry) child(parent *SpanContext) SpanContext {
	if !t.queue.keeps() {
		return *parent
	}
	return t.o.Sampler.child(parent)
}

func (t *Telemetry) newSpan(parent *SpanContext, kind SpanKind) Span {
	return Span{SpanContext: t.child(parent), Parent: parent.Span,
		RemoteParent: parent.Remote, Kind: kind, Start: time.Now()}
}

// Set adds attributes. Strings are cut at 256 bytes, and attributes after the 128th are dropped.
func (a *ActiveSpan) Set(attrs ...slog.Attr) {
	if a == nil {
		return
	}
	for _, attr := range attrs {
		if attr.Value = attr.Value.Resolve(); attr.Value.Kind() == slog.KindString {
			attr.Value = slog.StringValue(clip(attr.Value.String()))
		}
		if len(a.span.extra) < maxAttributes {
			a.span.extra = append(a.span.extra, attr)
		}
	}
}

// End ends the span with an error or nil. It must be called once.
func (a *ActiveSpan) End(err error) {
	if a == nil {
		return
	}
	var f failure
	if err != nil {
		f = failureOf(err)
	}
	a.end(f)
}

func (a *ActiveSpan) end(f failure) {
	a.span.Duration = time.Since(a.span.Start)
	a.span.fail(f)
	if a.span.Sampled {
		a.t.queue.put(&a.span)
	}
}

func (s *Span) fail(f failure) {
	s.ErrorType, s.Message, s.message.rpcError = f.kind, clip(f.text), f.rpc
}

// idText returns an ID in the form of the conventions: the text of a string, or a number.
func idText(id rpc.ID) string {
	var room [maxText]byte
	token := id.AppendJSON(room[:0])
	if text, ok := jsonscan.Unquote(token); ok {
		return string(text)
	}
	return string(token)
}
