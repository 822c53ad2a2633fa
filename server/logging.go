package server

import (
	"context"
	"errors"
	"log/slog"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/clientlog"
	"github.com/stdwire/stdwire/server/internal/outgoing"
)

// setLevel answers the legacy request logging/setLevel. From then on the client gets the log
// messages of operations.
func setLevel(r *request) (*Result, error) {
	if r.era.Replicated {
		return nil, errReplicated
	}
	level, err := parseLevel(jsonscan.Member(r.Params, "level"))
	if err != nil {
		return nil, err
	}
	r.conn.logLevel.Store(level)
	r.conn.server.clientEvents.Emit(r.conn, ClientLevel)
	return NewResult([]byte(`{}`)), nil
}

func parseLevel(raw []byte) (mcp.LoggingLevel, error) {
	name, _ := jsonscan.Unquote(raw)
	level := mcp.LoggingLevel(name)
	if !level.Valid() {
		return "", rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: %.50q is not a log level; it is one of debug, info, notice, warning, error, critical, alert, emergency",
			name)
	}
	return level, nil
}

// logLevel returns the lowest level of log messages that the request's client wants. "" means that
// it wants none.
func (r *request) logLevel() (mcp.LoggingLevel, error) {
	if r.era.Modern {
		if r.params.Meta.LogLevel == nil {
			return "", nil
		}
		return parseLevel(r.params.Meta.LogLevel)
	}
	return r.conn.LogLevel(), nil
}

// LogLevel returns the lowest level of log messages that a legacy client wants. "" means that it
// wants none, which is the default.
func (c *Conn) LogLevel() mcp.LoggingLevel {
	level, _ := c.logLevel.Load().(mcp.LoggingLevel)
	return level
}

// Log sends a log message to a legacy client outside of a request, if the client wants messages of
// that level (2025-11-25, server/utilities/logging). It blocks until the message is written or ctx
// ends.
func (c *Conn) Log(ctx context.Context, message mcp.LoggingMessageParams) error {
	link := c.unsolicitedLink()
	if link == nil || !c.initialized.Load() || !message.Level.AtLeast(c.LogLevel()) {
		return nil
	}
	return sendLog(&connContext{ctx, c, nil}, link, message)
}

// LogLevelFrom returns the lowest level of log messages that the client of a request wants. ""
// means that it wants none.
func LogLevelFrom(ctx context.Context) mcp.LoggingLevel {
	if r := requestFrom(ctx); r != nil {
		if level, err := r.logLevel(); err == nil {
			return level
		}
	}
	return ""
}

// Log sends a log message to the client of a request, if the client wants messages of that level.
// Use [Logger] for a handler's own messages, and Log to pass on a message unchanged. Log blocks
// until the message is written or ctx ends.
func Log(ctx context.Context, message mcp.LoggingMessageParams) error {
	r := requestFrom(ctx)
	if r == nil || !message.Level.AtLeast(LogLevelFrom(ctx)) {
		return nil
	}
	return sendLog(ctx, r.link, message)
}

func sendLog(ctx context.Context, link Link, message mcp.LoggingMessageParams) error {
	if message.Data == nil {
		return errors.New("server: Log: the message has no Data")
	}
	text, err := mcp.Marshal(message)
	if err != nil {
		return err
	}
	if err := link.Notify(ctx, mcp.NotificationMessage, outgoing.Params(text)); err != nil {
		return err
	}
	outgoing.Flush(ctx, link) // otherwise messages fill the queue ahead of responses
	return nil
}

// Logger returns a logger that writes to [Options].Logger and, for records of a level that the
// client of the request wants, to the client. It is for handlers of tools, prompts and resources;
// in operations and typed tools it equals [dispatch.Logger]. Outside of a request it returns
// slog.Default(). It is safe for concurrent use.
func Logger(ctx context.Context) *slog.Logger {
	r := requestFrom(ctx)
	if r == nil {
		return slog.Default()
	}
	level, err := r.logLevel()
	if err != nil {
		level = ""
	}
	return r.logger(r.conn.server.o.Logger, level, "")
}

// logger returns a logger that writes to log and, unless level is "", sends records of at least
// that level to the client.
func (r *request) logger(log *slog.Logger, level mcp.LoggingLevel, name string) *slog.Logger {
	if level == "" {
		return log
	}
	toClient := clientlog.New(r, r.link, level, name)
	return slog.New(slog.NewMultiHandler(log.Handler(), toClient))
}
