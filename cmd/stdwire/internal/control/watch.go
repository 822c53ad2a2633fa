package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	watchInterval = 2 * time.Second
	// maxDurations is the number of latest calls of a server from which percentiles are computed.
	maxDurations = 1000
	// maxPages is the greatest number of answers of host.messages that are read in an interval. A
	// gateway with more messages discards the others.
	maxPages = 64
)

// A gatewayWatch counts the calls of the servers of one gateway, from the messages that the gateway
// keeps while it is watched.
type gatewayWatch struct {
	next   int64 // the position for host.messages
	begun  bool  // host.messages was read once
	missed int64 // messages that the gateway discarded before they were read
	calls  map[string]*callCount
}

// A callCount counts the calls of a server that have ended.
type callCount struct {
	calls, errors int64
	latest        []float64 // durations in milliseconds, at most maxDurations
	oldest        int       // the index in latest that is replaced next
}

// countedMethods are the requests that are counted as calls.
var countedMethods = []string{mcp.MethodCallTool, mcp.MethodGetPrompt, mcp.MethodReadResource}

// add counts the answers of a record.
func (c *callCount) add(r *tap.Record) {
	if r.From != tap.FromServer {
		return
	}
	messages, _ := r.All()
	for _, m := range messages {
		if m.Type != tap.Response || !slices.Contains(countedMethods, m.Method) {
			continue
		}
		c.calls++
		if m.Failed != "" {
			c.errors++
		}
		if len(c.latest) < maxDurations {
			c.latest = append(c.latest, m.Ms)
			continue
		}
		c.latest[c.oldest] = m.Ms
		c.oldest = (c.oldest + 1) % maxDurations
	}
}

// text formats the calls of a server.
func (c *callCount) text() string {
	if c == nil || c.calls == 0 {
		return "no calls since this watch began"
	}
	sorted := slices.Sorted(slices.Values(c.latest))
	return fmt.Sprintf("%s, %s, p50 %.1f ms, p95 %.1f ms", command.Plural(int(c.calls), "call"),
		command.Plural(int(c.errors), "error"), tap.Percentile(sorted, 0.50),
		tap.Percentile(sorted, 0.95))
}

// read counts the messages that the gateway has kept since the last read.
func (w *gatewayWatch) read(ctx context.Context, g *gatewayClient) error {
	known := make(map[string]bool, len(g.Servers))
	for _, s := range g.Servers {
		known[s.Server] = true
	}
	for range maxPages {
		var page ops.MessagesOutput
		if err := g.call(ctx, "host.messages", ops.MessagesInput{After: w.next}, &page); err != nil {
			return err
		}
		if w.begun { // otherwise they are from before this watch
			w.missed += page.Missed
		}
		w.next, w.begun = page.Next, true
		if len(page.Messages) == 0 {
			return nil
		}
		for _, m := range page.Messages {
			record, err := tap.ParseRecord([]byte(m.Record))
			if err != nil {
				return err
			}
			if m.Client || !known[m.Lane] { // or it was removed
				continue
			}
			if w.calls[m.Lane] == nil {
				w.calls[m.Lane] = new(callCount)
			}
			w.calls[m.Lane].add(record)
		}
	}
	return nil
}

// lines formats the servers of a gateway.
func (w *gatewayWatch) lines(g *gatewayClient) (all []string) {
	wide := 0
	for _, s := range g.Servers {
		wide = max(wide, len(s.Server))
	}
	for i, s := range g.Servers {
		text := fmt.Sprintf("%-*s  %-8s", wide, s.Server, s.State)
		if i == 0 || g.Servers[i-1].Server != s.Server { // otherwise it is another session
			text += "  " + w.calls[s.Server].text()
		}
		if n := len(s.Withheld) + s.WithheldMore; n > 0 {
			text += fmt.Sprintf(", %d withheld", n)
		}
		if s.Error != "" {
			text += ", " + printable.Line(s.Error)
		}
		all = append(all, strings.TrimRight(text, " "))
	}
	for _, why := range g.Invalid {
		all = append(all, "the configuration on disk is invalid and ignored: "+printable.Line(why))
	}
	if w.missed > 0 {
		all = append(all, fmt.Sprintf("%s not counted: the gateway discarded them",
			command.Plural(int(w.missed), "message")))
	}
	return all
}

// watch prints the servers of all gateways at each value of ticks, until ctx ends. Gateways may end
// and start meanwhile.
func watch(ctx context.Context, std *term.Streams, ticks <-chan time.Time) error {
	watches := make(map[string]*gatewayWatch) // by process and start
	for {
		lines, err := watchOnce(ctx, std, watches)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		now := time.Now().Format(time.TimeOnly)
		if std.Out.Clear() {
			std.Out.Print(now + "  calls since this watch began; Ctrl-C ends it\n\n")
			std.Out.Print(strings.Join(lines, "\n") + "\n")
		} else {
			for _, line := range lines {
				std.Out.Print(now + "  " + line + "\n")
			}
		}
		if err := std.Out.Flush(); err != nil {
			return err
		}
		select {
		case <-ticks:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// watchOnce returns the lines about all gateways, and removes those that have ended from watches.
func watchOnce(ctx context.Context, std *term.Streams,
	watches map[string]*gatewayWatch) (lines []string, err error) {
	all, err := runningGateways(ctx, std)
	if f, ok := errors.AsType[*command.Failure](err); ok && f.Code == "unreachable" {
		clear(watches)
		return []string{f.Why}, nil
	}
	if err != nil {
		return nil, err
	}
	defer closeAll(all)
	running := make(map[string]bool)
	for _, g := range all {
		key := fmt.Sprint(g.Pid, " ", g.Since)
		running[key] = true
		w := watches[key]
		if w == nil {
			w = &gatewayWatch{calls: make(map[string]*callCount)}
			watches[key] = w
		}
		if err := w.read(ctx, g); err != nil {
			lines = append(lines, g.name()+"  "+printable.Line(err.Error()))
			continue
		}
		for _, line := range w.lines(g) {
			if len(all) > 1 {
				line = g.name() + "  " + line
			}
			lines = append(lines, line)
		}
		if len(g.Servers) == 0 {
			lines = append(lines, g.name()+"  no servers")
		}
	}
	for key := range watches {
		if !running[key] {
			delete(watches, key)
		}
	}
	return lines, nil
}
