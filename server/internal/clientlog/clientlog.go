// Package clientlog sends the records of a log to the client of a request.
package clientlog

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/outgoing"
)

// New returns a handler that sends records of at least this level through the link of a request,
// as those of the named logger, until ctx ends.
func New(ctx context.Context, link outgoing.Link, level mcp.LoggingLevel,
	logger string) slog.Handler {
	return &handler{ctx: ctx, link: link, level: level.Slog(), logger: logger}
}

// A handler is a slog.Handler that sends records to the client of a request as
// notifications/message.
type handler struct {
	ctx    context.Context // of the request; after its end, records are dropped
	link   outgoing.Link
	level  slog.Level
	logger string
	attrs  []slog.Attr // of WithAttrs, in their groups
	groups []string    // the open groups
}

func (h *handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

func (h *handler) Handle(_ context.Context, record slog.Record) error {
	if h.ctx.Err() != nil {
		return nil
	}
	var attrs []slog.Attr
	record.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	data := map[string]any{}
	addAttrs(data, h.attrs)
	addAttrs(data, h.inGroups(attrs))
	data["message"] = record.Message
	return h.link.Notify(h.ctx, mcp.NotificationMessage, struct {
		Level  mcp.LoggingLevel `json:"level"`
		Logger string           `json:"logger,omitempty"`
		Data   any              `json:"data"`
	}{mcp.LoggingLevelOf(record.Level), h.logger, data})
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clone := *h
	clone.attrs = append(slices.Clip(h.attrs), h.inGroups(attrs)...)
	return &clone
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	clone := *h
	clone.groups = append(slices.Clip(h.groups), name)
	return &clone
}

// inGroups nests attrs in the open groups.
func (h *handler) inGroups(attrs []slog.Attr) []slog.Attr {
	for _, group := range slices.Backward(h.groups) {
		attrs = []slog.Attr{{Key: group, Value: slog.GroupValue(attrs...)}}
	}
	return attrs
}

// addAttrs adds attrs to a JSON object. A group becomes an object.
func addAttrs(object map[string]any, attrs []slog.Attr) {
	for _, a := range attrs {
		value := a.Value.Resolve()
		switch {
		case a.Equal(slog.Attr{}):
		case value.Kind() != slog.KindGroup:
			object[a.Key] = jsonOrText(value)
		case a.Key == "":
			addAttrs(object, value.Group())
		default:
			inner, ok := object[a.Key].(map[string]any)
			if !ok {
				inner = map[string]any{}
				object[a.Key] = inner
			}
			addAttrs(inner, value.Group())
		}
	}
}

// jsonOrText returns a value as JSON. An error, or a value that cannot be encoded, becomes a text.
func jsonOrText(value slog.Value) any {
	switch v := value.Any().(type) {
	case error:
		return v.Error()
	default:
		raw, err := json.Marshal(v)
		if err != nil {
			return value.String()
		}
		return json.RawMessage(raw)
	}
}
