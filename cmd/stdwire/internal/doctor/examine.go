package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// examine checks a server from its configuration to its end.
func (d *doctorOptions) examine(ctx context.Context, p *subject) *Report {
	chart := &Report{ID: p.id, Verdict: Fine, Findings: []Finding{}}
	if p.server != nil && !chart.canStart(p) {
		return chart
	}
	var o client.Options
	if p.server != nil {
		o = p.server.Options(o)
	}
	gateway.DeclareCapabilities(&o) // as stdwire serve does, so that there are the same tools
	saw := new(handshakeObserver)
	o.Name, o.Info = p.id, mcp.Implementation{Name: "stdwire", Version: command.Version()}
	o.StartTimeout = cmp.Or(d.startTimeout, o.StartTimeout, 60*time.Second)
	o.Hooks, o.Logger = saw.hooks(), slog.New(slog.DiscardHandler)
	began := time.Now()
	c, err := p.connect(ctx, o)
	if err != nil {
		chart.recordFailure(err, saw, p)
		return chart
	}
	chart.recordStart(c, time.Since(began), saw, p)
	all := chart.checkLists(ctx, c, d.listTimeout)
	if p.server != nil && chart.Verdict != Broken {
		chart.comparePins(d.pins, c, all, p)
	}
	if p.server != nil {
		chart.has = namesOf(all, &p.server.Filter)
	}
	chart.stopServer(c)
	chart.recordNoise(c.Stats())
	return chart
}

// canStart reports whether a server of the configuration can and may be started.
func (chart *Report) canStart(p *subject) bool {
	s := p.server
	chart.Source = s.Position.String()
	for _, d := range p.diagnostics {
		if d.Severity == config.Warning {
			chart.add(Warning, fmt.Sprintf("%s: %s", d.Position, d.Message), "")
		}
	}
	var untrusted error
	if s.Err == nil && !s.Disabled {
		untrusted = p.trusted()
	}
	_, distrusted := errors.AsType[*config.UntrustedError](untrusted)
	switch {
	case s.Err != nil:
		chart.add(Broken, s.Err.Error(),
			"stdwire config check tells all that is wrong with the configuration")
	case s.Disabled:
		chart.add(note, "it is disabled at "+chart.Source+", and was not looked at", "")
	case distrusted:
		chart.add(Warning,
			"it is of this project, nobody has agreed to what it runs, and it was not looked at",
			"look at what it runs, and agree to it: stdwire trust "+s.ID)
	case untrusted != nil:
		chart.add(Broken, untrusted.Error(), "")
	default:
		return true
	}
	return false
}

// slowStart is how long many applications wait for a server to start.
const slowStart = 10 * time.Second

// recordStart adds how a server answered.
func (chart *Report) recordStart(c *client.Client, ready time.Duration, saw *handshakeObserver,
	p *subject) {
	chart.Era, chart.Revision, chart.By = c.Era().String(), c.Revision(), c.Handshake().Method
	chart.ReadyMs = command.Milliseconds(ready)
	chart.checkStartTime(ready, p.launcher)
	const way = `write "era": "legacy" into its configuration, and it is not asked`
	switch saw.probe() {
	case ended:
		chart.add(note, "it ends when it is asked server/discover, which a client of 2026-07-28 begins with, and had to be started a second time",
			way)
	case ignored:
		chart.add(note, "it does not answer server/discover, which a client of 2026-07-28 begins with; every start waits for that",
			way)
	}
}

func (chart *Report) checkStartTime(ready time.Duration, launcher string) {
	if ready < slowStart {
		return
	}
	hint := "look at what it does before it answers"
	if target.Downloads(launcher) != "" {
		hint = launcher +
			" may have downloaded it: then the next start is faster; to be sure, install it, and have its program started"
	}
	chart.add(Warning,
		fmt.Sprintf("it took %s to start, and many applications wait no longer than %s",
			ready.Round(100*time.Millisecond), slowStart), hint)
}

// stopGrace is how long a server may take to end by itself, and again after SIGTERM: the default of
// [client.Command].Grace.
const stopGrace = 2 * time.Second

// stopServer ends a server and adds how it ended.
func (chart *Report) stopServer(c *client.Client) {
	began := time.Now()
	err := c.Close()
	took := time.Since(began)
	if err != nil {
		chart.add(Broken, err.Error(), "end it by hand")
		return
	}
	lost := c.Wait()
	p := c.Process()
	switch {
	case lost != nil:
		if chart.Verdict != Broken {
			chart.add(Broken, "it has ended before it was told to: "+lost.Error(), "")
		}
	case p != nil:
		chart.StopMs = command.Milliseconds(took)
		chart.recordExit(p.Exit, took)
	}
}

func (chart *Report) recordExit(exit *client.ExitError, took time.Duration) {
	const way = "a server on stdio has to end when its stdin ends (2025-11-25, Lifecycle, \"Shutdown\"); else it outlives an application that dies"
	switch {
	case exit.Signal == os.Kill:
		chart.add(Warning,
			fmt.Sprintf("%s, and was killed after %s", command.IgnoresShutdown,
				took.Round(100*time.Millisecond)), way)
	case took >= stopGrace:
		what := fmt.Sprintf("it did not end within %s of the end of its stdin, and %s", stopGrace,
			command.NeededSignal)
		chart.add(Warning, what, way)
	}
	if exit.Held {
		chart.add(Warning, "it has left a process behind that held its stdout open, and was ended",
			"it should wait for what it starts, or end it; a client that waits for the end of stdout waits for ever")
	}
}

// recordNoise adds what the server sent that is not a message.
func (chart *Report) recordNoise(n client.Stats) {
	if n.Junk > 0 {
		chart.add(Warning,
			fmt.Sprintf("it writes to stdout what is no message, %s, the first: %s",
				command.Plural(n.Junk, "line"), n.Samples[0]),
			"logs belong on stderr: some clients give up at the first such line")
	}
	if n.Unmatched > 0 {
		chart.add(Warning,
			fmt.Sprintf("it answers what nobody has asked: %s",
				command.Plural(n.Unmatched, "message")),
			"each request gets one answer, with its id; a notification gets none")
	}
	if n.Repaired > 0 {
		chart.add(Warning,
			fmt.Sprintf("it sends broken Unicode: %s", command.Plural(n.Repaired, "message")),
			"it cuts texts in the middle of a character")
	}
}
