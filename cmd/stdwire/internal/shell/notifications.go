package shell

import (
	"context"
	"slices"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/calls"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// setNotificationHandlers sets the callbacks of a connection for notifications of the server.
func (s *Shell) setNotificationHandlers(o *client.Options) {
	o.OnResourceUpdated = func(uri string) {
		s.Std.Err.Printf("note: %s has changed", printable.Line(uri))
	}
	o.OnLog = s.showLog
	if level := s.logLevel.Load(); level != nil {
		o.LogLevel = *level
	}
}

// showLog prints a log message of the server.
func (s *Shell) showLog(m mcp.LoggingMessageParams) {
	level := s.logLevel.Load()
	if level == nil || !m.Level.AtLeast(*level) { // not every server respects the level
		return
	}
	text := string(m.Data)
	if unquoted, ok := jsonscan.Unquote(m.Data); ok {
		text = string(unquoted)
	}
	s.Std.Err.Printf("%s",
		command.JoinNonEmpty(" ", "["+string(m.Level)+"]", m.Logger, printable.Line(text)))
}

func logLevels() (names []string) {
	for _, level := range []mcp.LoggingLevel{mcp.LevelDebug, mcp.LevelInfo, mcp.LevelNotice,
		mcp.LevelWarning, mcp.LevelError, mcp.LevelCritical, mcp.LevelAlert, mcp.LevelEmergency} {
		names = append(names, string(level))
	}
	return names
}

// setLog sets the level of log messages that are shown, or prints it.
func (s *Shell) setLog(ctx context.Context, words []string) error {
	if len(words) == 0 {
		text := "off"
		if level := s.logLevel.Load(); level != nil {
			text = string(*level)
		}
		s.Std.Out.Print(text + "\n")
		return nil
	}
	if err := command.CheckChoice(words[0], append(logLevels(), "off")...); err != nil {
		return err
	}
	level := mcp.LoggingLevel(words[0])
	if level == "off" {
		if s.logLevel.Swap(nil) == nil {
			return nil
		}
		level = ""
	}
	return s.withServer(ctx, func(c *connection) error {
		level := level
		if level == "" && c.Era() == mcp.Legacy {
			level = mcp.LevelEmergency // the legacy era has no level that turns logging off
		}
		err := c.SetLogLevel(ctx, level)
		if err == nil && words[0] != "off" {
			s.logLevel.Store(&level)
		}
		return err
	})
}

// subscribe subscribes to changes of resources, or lists those that are subscribed.
func (s *Shell) subscribe(ctx context.Context, uris []string) error {
	if len(uris) == 0 {
		for _, uri := range s.subscribed {
			s.Std.Out.PrintUntrustedLine(uri)
		}
		return nil
	}
	return s.withServer(ctx, func(c *connection) error {
		if err := c.Subscribe(ctx, uris...); err != nil {
			return err
		}
		for _, uri := range uris {
			if !slices.Contains(s.subscribed, uri) {
				s.subscribed = append(s.subscribed, uri)
			}
		}
		return nil
	})
}

// unsubscribe ends subscriptions, of all resources if none is named.
func (s *Shell) unsubscribe(ctx context.Context, uris []string) error {
	if len(uris) == 0 {
		uris = slices.Clone(s.subscribed)
	}
	for _, uri := range uris {
		if !slices.Contains(s.subscribed, uri) {
			return command.Usagef("%s is not subscribed", printable.Line(uri)).WithHint(
				".subscribe lists the subscriptions")
		}
	}
	if len(uris) == 0 {
		return nil
	}
	return s.withServer(ctx, func(c *connection) error {
		if err := c.Unsubscribe(ctx, uris...); err != nil {
			return err
		}
		s.subscribed = slices.DeleteFunc(s.subscribed,
			func(uri string) bool { return slices.Contains(uris, uri) })
		return nil
	})
}

// subscribeAgain restores the subscriptions after a restart of the server.
func (s *Shell) subscribeAgain(ctx context.Context, c *connection) {
	if len(s.subscribed) == 0 {
		return
	}
	if err := c.Subscribe(ctx, s.subscribed...); err != nil {
		s.Std.Err.Printf("note: changes of resources are no longer reported: %v", err)
		s.subscribed = nil
	}
}

func (s *Shell) completeSubscribed(_ context.Context, words []string) []arguments.Candidate {
	return withPrefix(words[len(words)-1], s.subscribed)
}

// completeValue prints the server's suggestions for an argument of a prompt or template.
func (s *Shell) completeValue(ctx context.Context, words []string) error {
	c := &calls.Completion{Output: s.output}
	for _, word := range words {
		if err := c.Word(word); err != nil {
			return err
		}
	}
	return s.withServer(ctx, func(server *connection) error {
		defer s.trace.Drain()
		return c.Print(ctx, s.Std, server.Client)
	})
}
