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

// examine checks a server from its configuration to its exit.
func (d *doctorOptions) examine(ctx context.Context, p *subject) *Report {
	r := &Report{ID: p.id, Verdict: Fine, Findings: []Finding{}}
	if p.server != nil && !r.canStart(p) {
		return r
	}
	var o client.Options
	if p.server != nil {
		o = p.server.Options(o)
	}
	gateway.DeclareCapabilities(&o) // as stdwire serve does, so that the server has the same tools
	observer := new(handshakeObserver)
	o.Name, o.Info = p.id, command.Implementation()
	o.StartTimeout = cmp.Or(d.startTimeout, o.StartTimeout, 60*time.Second)
	o.Hooks, o.Logger = observer.hooks(), slog.New(slog.DiscardHandler)
	began := time.Now()
	c, err := p.connect(ctx, o)
	if err != nil {
		r.recordFailure(err, observer, p)
		return r
	}
	r.recordStart(c, time.Since(began), observer, p)
	if p.card != nil {
		r.compareCard(ctx, p.card, c)
	}
	all := r.checkLists(ctx, c, d.listTimeout)
	if d.host != nil {
		r.checkHost(d.host, p.id, c.Instructions(), all[mcp.KindTool])
	}
	if p.server != nil && r.Verdict != Broken {
		r.comparePins(d.pins, c, all, p)
	}
	if p.server != nil {
		if r.Tools != nil { // they could be listed
			r.checkFilter(&p.server.Filter, all[mcp.KindTool])
		}
		r.checkOverrides(p.server.ItemOverrides, all)
		r.has = namesOf(all, &p.server.Filter)
	}
	r.stopServer(c)
	r.recordNoise(c.Stats())
	return r
}

// canStart reports whether a server of the configuration can and may be started.
func (r *Report) canStart(p *subject) bool {
	s := p.server
	r.Source = s.Position.String()
	for _, d := range p.diagnostics {
		if d.Severity == config.SeverityWarning {
			r.add(Warning, fmt.Sprintf("%s: %s", d.Position, d.Message), "")
		}
	}
	var untrusted error
	if s.Err == nil && !s.Disabled {
		untrusted = p.trusted()
	}
	_, distrusted := errors.AsType[*config.UntrustedError](untrusted)
	switch {
	case s.Err != nil:
		r.add(Broken, s.Err.Error(),
			"stdwire config check lists all errors of the configuration")
	case s.Disabled:
		r.add(note, "it is disabled at "+r.Source+", and was not checked", "")
	case distrusted:
		r.add(Warning,
			"it is a server of this project that is not trusted, and was not checked",
			"review its definition, and trust it: stdwire trust "+s.ID)
	case untrusted != nil:
		r.add(Broken, untrusted.Error(), "")
	default:
		return true
	}
	return false
}

// slowStart is how long many applications wait for a server to start.
const slowStart = 10 * time.Second

// recordStart adds findings about the handshake.
func (r *Report) recordStart(c *client.Client, ready time.Duration, observer *handshakeObserver,
	p *subject) {
	r.Era, r.Revision, r.By = c.Era().String(), c.Revision(), c.Handshake().Method
	r.ReadyMs = command.Milliseconds(ready)
	r.checkStartTime(ready, p.launcher)
	const way = `set "era": "legacy" in its configuration to skip server/discover`
	switch observer.probe() {
	case ended:
		r.add(note, "it exits on server/discover, the first request of a client of 2026-07-28, and had to be started a second time",
			way)
	case ignored:
		r.add(note, "it does not answer server/discover, the first request of a client of 2026-07-28, which delays every start",
			way)
	}
}

func (r *Report) checkStartTime(ready time.Duration, launcher string) {
	if ready < slowStart {
		return
	}
	hint := "check what it does before it answers"
	if target.Downloads(launcher) != "" {
		hint = launcher +
			" may have downloaded it, and the next start may be faster; to avoid the download, install it and configure its program as the command"
	}
	r.add(Warning,
		fmt.Sprintf("it took %s to start, and many applications wait no longer than %s",
			ready.Round(100*time.Millisecond), slowStart), hint)
}

// stopGrace is how long a server may take to exit by itself, and again after SIGTERM: the default
// of [client.Command].Grace.
const stopGrace = 2 * time.Second

// stopServer stops a server and adds findings about how it exited.
func (r *Report) stopServer(c *client.Client) {
	began := time.Now()
	err := c.Close()
	took := time.Since(began)
	if err != nil {
		r.add(Broken, err.Error(), "end it by hand")
		return
	}
	lost := c.Wait()
	p := c.Process()
	switch {
	case lost != nil:
		if r.Verdict != Broken {
			r.add(Broken, "it exited before it was stopped: "+lost.Error(), "")
		}
	case p != nil:
		r.StopMs = command.Milliseconds(took)
		r.recordExit(p.Exit, took)
	}
}

func (r *Report) recordExit(exit *client.ExitError, took time.Duration) {
	const way = "a server on stdio must exit when its stdin ends (2025-11-25, Lifecycle, \"Shutdown\"); otherwise it outlives an application that crashes"
	switch {
	case exit.Signal == os.Kill:
		r.add(Warning,
			fmt.Sprintf("%s, and was killed after %s", command.IgnoresShutdown,
				took.Round(100*time.Millisecond)), way)
	case took >= stopGrace:
		what := fmt.Sprintf("it did not end within %s of the end of its stdin, and %s", stopGrace,
			command.NeededSignal)
		r.add(Warning, what, way)
	}
	if exit.Held {
		r.add(Warning, "it left a process behind that held its stdout open, and that was stopped",
			"it should wait for its child processes or stop them; a client that waits for the end of stdout waits forever")
	}
}

// recordNoise adds findings about output of the server that is invalid.
func (r *Report) recordNoise(n client.Stats) {
	if n.Junk > 0 {
		r.add(Warning,
			fmt.Sprintf("it writes text to stdout that is not a message, %s, the first: %s",
				command.Plural(n.Junk, "line"), n.Samples[0]),
			"logs belong on stderr: some clients disconnect at the first such line")
	}
	if n.Unmatched > 0 {
		r.add(Warning,
			fmt.Sprintf("it sends responses to no request: %s",
				command.Plural(n.Unmatched, "message")),
			"each request gets one answer, with its id; a notification gets none")
	}
	if n.OtherIDs > 0 {
		r.add(Warning,
			fmt.Sprintf("it answers with ids in another notation, such as \"1\" for 1: %s",
				command.Plural(n.OtherIDs, "message")),
			"a response has the id of its request as it came (JSON-RPC 2.0, section 5): other clients wait until they give up")
	}
	if n.Repaired > 0 {
		r.add(Warning,
			fmt.Sprintf("it sends broken Unicode: %s", command.Plural(n.Repaired, "message")),
			"it cuts texts in the middle of a character")
	}
}
