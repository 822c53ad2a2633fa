package traffic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxLogLines is the greatest number of log messages in one answer.
const maxLogLines = 500

// A logLine is a log message of a server, notifications/message.
type logLine struct {
	N      int64            `json:"n"` // of the message
	Server string           `json:"server"`
	At     float64          `json:"t"` // milliseconds since 1970
	Level  mcp.LoggingLevel `json:"level"`
	Logger string           `json:"logger,omitempty"`
	Data   json.RawMessage  `json:"data,omitempty"`
}

// A logFilter selects log messages. Its zero value selects all.
type logFilter struct {
	level        mcp.LoggingLevel // the lowest one; a message of an unknown level is below all
	server       string
	logger, text []byte // substrings, in lower case
}

func NewLogFilter(r *http.Request) (logFilter, error) {
	q := r.URL.Query()
	f := logFilter{level: mcp.LoggingLevel(q.Get("level")), server: q.Get("server"),
		logger: bytes.ToLower([]byte(q.Get("logger"))), text: bytes.ToLower([]byte(q.Get("text")))}
	if f.level != "" && !f.level.Valid() {
		return f, command.Usagef("%.20q is not a level", f.level)
	}
	return f, nil
}

func (f *logFilter) selects(l *logLine) bool {
	return (f.level == "" || l.Level.AtLeast(f.level)) && (f.server == "" || f.server == l.Server) &&
		strings.Contains(strings.ToLower(l.Logger), string(f.logger)) &&
		bytes.Contains(bytes.ToLower(l.Data), f.text)
}

// A logPage is a part of the log, the latest messages first.
type logPage struct {
	Lines []logLine `json:"lines"`
	More  bool      `json:"more,omitempty"` // there are older ones
}

// Logs returns the latest log messages that a filter selects.
func (t *Traffic) Logs(f logFilter) logPage {
	var all []*Message
	t.mu.Lock()
	for _, l := range t.lanes {
		for _, m := range l.messages {
			if m.Method == mcp.NotificationMessage {
				all = append(all, m)
			}
		}
	}
	t.mu.Unlock()
	slices.SortFunc(all, func(a, b *Message) int { return cmp.Compare(b.N, a.N) })
	page := logPage{Lines: []logLine{}}
	for _, m := range all {
		params := jsonscan.Member(m.Record.Frame, "params")
		level, _ := jsonscan.Text(jsonscan.Member(params, "level"))
		logger, _ := jsonscan.Text(jsonscan.Member(params, "logger"))
		line := logLine{N: m.N, Server: m.Lane, At: m.At, Level: mcp.LoggingLevel(level),
			Logger: logger, Data: jsonscan.Member(params, "data")}
		if !f.selects(&line) {
			continue
		}
		if page.More = len(page.Lines) == maxLogLines; page.More {
			break
		}
		page.Lines = append(page.Lines, line)
	}
	return page
}
