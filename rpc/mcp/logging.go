package mcp

import (
	"encoding/json"
	"log/slog"
	"slices"
)

// A LoggingLevel is the severity of a log message, as in RFC 5424 (MCP 2026-07-28, Logging, "Log
// Levels"). The zero value is no level. Compare levels with [LoggingLevel.AtLeast], not with <.
type LoggingLevel string

const (
	LevelDebug     LoggingLevel = "debug"
	LevelInfo      LoggingLevel = "info"
	LevelNotice    LoggingLevel = "notice"
	LevelWarning   LoggingLevel = "warning"
	LevelError     LoggingLevel = "error"
	LevelCritical  LoggingLevel = "critical"
	LevelAlert     LoggingLevel = "alert"
	LevelEmergency LoggingLevel = "emergency"
)

// levels lists the levels in order of severity, with the corresponding log/slog levels.
var levels = [...]struct {
	name LoggingLevel
	slog slog.Level
}{
	{LevelDebug, slog.LevelDebug},
	{LevelInfo, slog.LevelInfo},
	{LevelNotice, 2},
	{LevelWarning, slog.LevelWarn},
	{LevelError, slog.LevelError},
	{LevelCritical, 12},
	{LevelAlert, 16},
	{LevelEmergency, 20},
}

func (l LoggingLevel) rank() int {
	for i := range levels {
		if levels[i].name == l {
			return i
		}
	}
	return -1
}

// Valid reports whether l is one of the eight levels. A request with another one is answered with
// invalid params (-32602).
func (l LoggingLevel) Valid() bool { return l.rank() >= 0 }

// AtLeast reports whether l is as severe as lowest, or more. It returns false if either is not
// valid: a peer that has not set a level gets no messages.
func (l LoggingLevel) AtLeast(lowest LoggingLevel) bool {
	return lowest.Valid() && l.rank() >= lowest.rank()
}

// Slog returns the log/slog level for l; that of info if l is not valid.
func (l LoggingLevel) Slog() slog.Level {
	if i := l.rank(); i >= 0 {
		return levels[i].slog
	}
	return slog.LevelInfo
}

// LoggingLevelOf returns the highest level that is not above l, or [LevelDebug] if all levels are
// above l.
func LoggingLevelOf(l slog.Level) LoggingLevel {
	for _, level := range slices.Backward(levels[:]) {
		if l >= level.slog {
			return level.name
		}
	}
	return LevelDebug
}

// SetLevelParams are the params of the legacy request logging/setLevel. In the modern era each
// request has its own level, see [Meta.LogLevel].
type SetLevelParams struct {
	Params
	Level LoggingLevel `json:"level"`
}

// LoggingMessageParams are the params of notifications/message.
type LoggingMessageParams struct {
	Params
	Level  LoggingLevel    `json:"level"`
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data,omitzero"` // required, any value
}
