package calls

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/load"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// loadFlags returns the flags that make stdwire call repeat the call.
func (c *Call) loadFlags() []command.Flag {
	repeat := command.NumberFlag(&c.load.Calls, "--repeat", "N", 1, load.MaxCalls,
		"make N calls, and print their latency in place of their results")
	together := command.NumberFlag(&c.load.Concurrency, "--concurrency", "N", 1,
		load.MaxConcurrency, "with --repeat or --for: calls at the same time (default 1)")
	during := command.Flag{Name: "--for", Value: "DURATION",
		Help: fmt.Sprintf("repeat the call for this time, at most %s and %d calls; with --repeat, "+
			"until either limit is reached", command.ShortDuration(load.MaxTime), load.MaxCalls),
		Set: func(value string) (err error) {
			if c.load.Time, err = time.ParseDuration(value); err != nil || c.load.Time <= 0 ||
				c.load.Time > load.MaxTime {
				return command.Usagef("--for: %q is not a duration up to %s", value,
					command.ShortDuration(load.MaxTime)).WithHint("write 500ms, 30s or 5m")
			}
			return nil
		}}
	return []command.Flag{repeat, together, during}
}

// checkLoad returns a failure if flags exclude each other, and sets the defaults of the plan.
func (c *Call) checkLoad() error {
	if !c.repeats() {
		if c.load.Concurrency != 0 {
			return command.Usagef("--concurrency needs --repeat or --for")
		}
		return nil
	}
	if c.task || c.watch || c.save != "" || c.output == "raw" {
		return command.Usagef("--repeat and --for print no results: leave out --task, --watch, " +
			"--save and -o raw")
	}
	c.load = load.Plan{Calls: cmp.Or(c.load.Calls, load.MaxCalls),
		Concurrency: cmp.Or(c.load.Concurrency, 1), Time: cmp.Or(c.load.Time, load.MaxTime)}
	return c.load.Check()
}

func (c *Call) repeats() bool { return c.load.Calls > 0 || c.load.Time > 0 }

// repeat runs the load test and prints its report.
func (c *Call) repeat(ctx context.Context, std *term.Streams, cl *client.Client,
	arguments []byte) error {
	report := load.Run(ctx, c.load, func(ctx context.Context) error {
		return load.ResultError(cl.CallToolRaw(ctx, c.Tool, json.RawMessage(arguments),
			client.Timeout(c.Timeout)))
	}, func(r load.Report) {
		std.Err.Status(fmt.Sprintf("%s, %s, %.0f a second", command.Plural(r.Calls, "call"),
			command.Plural(r.Errors, "error"), r.PerSecond))
	})
	std.Err.Status("")
	if c.output == "json" {
		if err := std.Out.PrintValue(report); err != nil {
			return err
		}
	} else {
		printLoad(std.Out, report)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case report.Errors+report.Unanswered > 0:
		return &command.Failure{Code: "tool_is_error", Tool: c.Tool, What: c.Tool,
			Why: fmt.Sprintf("%d of %s failed", report.Errors+report.Unanswered,
				command.Plural(report.Calls+report.Unanswered, "call"))}
	}
	return nil
}

func printLoad(out *term.Output, r load.Report) {
	rows := [][]string{
		{"calls", strconv.Itoa(r.Calls)},
		{"seconds", fmt.Sprintf("%.2f", r.Seconds)},
		{"calls a second", fmt.Sprintf("%.1f", r.PerSecond)},
	}
	for _, p := range []struct {
		name string
		ms   float64
	}{{"p50", r.P50Ms}, {"p95", r.P95Ms}, {"p99", r.P99Ms}, {"max", r.MaxMs}} {
		rows = append(rows, []string{p.name, fmt.Sprintf("%.2f ms", p.ms)})
	}
	rows = append(rows, []string{"errors", strconv.Itoa(r.Errors)})
	for _, kind := range slices.SortedFunc(maps.Keys(r.Kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Kinds[b], r.Kinds[a]), cmp.Compare(a, b))
	}) {
		rows = append(rows, []string{"  " + strconv.Itoa(r.Kinds[kind]), kind})
	}
	if r.Unanswered > 0 {
		rows = append(rows, []string{"unanswered", strconv.Itoa(r.Unanswered)})
	}
	out.PrintTable(rows)
}
