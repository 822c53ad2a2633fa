package web

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/load"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxLoads is the number of load tests that may run at the same time.
const maxLoads = 2

var errTooManyLoads = &command.Failure{Code: "denied", Why: "too many load tests are running",
	Hint: "stop one"}

// A loadRequest asks for a load test: it repeats a call of a tool.
type loadRequest struct {
	Server, Tool string
	Arguments    json.RawMessage
	Calls        int
	Concurrency  int
	Seconds      float64
}

// loads are the load tests of the page.
type loads struct {
	servers *servers
	running atomic.Int32
}

// serve runs a load test and writes its reports as Server-Sent Events. The last report is done or
// has an error. The load test ends when the page disconnects or stops reading.
func (l *loads) serve(w http.ResponseWriter, r *http.Request) {
	var in loadRequest
	if !reply.Decode(w, r, &in) {
		return
	}
	plan := load.Plan{Calls: in.Calls, Concurrency: in.Concurrency,
		Time: time.Duration(min(in.Seconds, 1e6) * float64(time.Second))}
	srv, err := l.servers.find(in.Server)
	if err == nil {
		err = plan.Check()
	}
	if err == nil {
		err = srv.checkAllowed(mcp.MethodCallTool, in.Tool)
	}
	if err != nil {
		reply.Fail(w, err)
		return
	}
	defer l.running.Add(-1)
	if l.running.Add(1) > maxLoads {
		reply.Fail(w, errTooManyLoads)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	write := func(value any) {
		if changes.WriteEvent(w, value) != nil {
			cancel()
		}
	}
	err = l.servers.use(ctx, in.Server, func(_ *server, c *client.Client) error {
		write(load.Run(ctx, plan, func(ctx context.Context) error {
			return load.ResultError(c.CallToolRaw(ctx, in.Tool, in.Arguments,
				client.Timeout(defaultTimeout)))
		}, func(r load.Report) { write(r) }))
		return nil
	})
	if err != nil {
		write(map[string]any{"error": reply.ProblemOf(err)})
	}
}
