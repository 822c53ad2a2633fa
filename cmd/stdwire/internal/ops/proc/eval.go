package proc

import (
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/proc/internal/ring"
	"github.com/stdwire/stdwire/dispatch"
)

var evalSpec = dispatch.Spec{
	Name:    "proc.eval",
	Title:   "Run shell script",
	Summary: "Run a shell script (sh -c) to its end and return its output.",
	Description: "Run a shell script (sh -c) to its end and return its output, stdout and stderr in the order in which they were written. " +
		"When the shell ends, when the time runs out, and when the call is cancelled, all that it started is killed, what runs in the background too. Of a long output the first and the last 32 KiB " +
		"are returned; write to a file what may be longer. A script that fails is no error of this operation: see exit_code. " +
		"What must not be run by mistake (sudo, rm -rf /, …) is refused as blocked.",
	Type:      dispatch.Eval,
	OpenWorld: true,
	Errors:    []dispatch.Code{dispatch.NotFound, dispatch.StateError, dispatch.UpstreamError},
	Timeout:   waitTimeout,
	Examples: []dispatch.Example{
		{Summary: "A pipeline", Input: json.RawMessage(`{"script":"git log --oneline | head -5"}`)},
		{Summary: "With input",
			Input: json.RawMessage(`{"script":"sort | uniq -c","input":"b\na\nb\n"}`)},
	},
}

// EvalInput are the arguments of proc.eval.
type EvalInput struct {
	dispatch.Instance
	Script    string   `json:"script" doc:"Text of the script, for sh." minLength:"1" maxLength:"100000"`
	Dir       string   `json:"dir,omitempty" doc:"Directory to run in, relative to the root. The root itself if left out."`
	Env       []string `json:"env,omitempty" doc:"Environment variables to set, as NAME=VALUE, beside PATH, HOME and other usual ones." maxItems:"256"`
	Input     string   `json:"input,omitempty" doc:"Text for its stdin, which is closed after it." maxLength:"1048576"`
	TimeoutMS int      `json:"timeout_ms,omitempty" doc:"How many milliseconds it may run." default:"60000" min:"1" max:"600000"`
}

// EvalOutput is the data of proc.eval.
type EvalOutput struct {
	Output    string `json:"output" doc:"stdout and stderr. What is not UTF-8 is U+FFFD."`
	Truncated bool   `json:"truncated" doc:"Something in the middle of output is left out, where it says so."`
	End
	TimedOut bool `json:"timed_out" doc:"It was killed because its time ran out."`
}

func (s *Service) eval(ctx context.Context, in EvalInput) (out EvalOutput, err error) {
	env, err := parseEnv(in.Env)
	if err != nil {
		return out, err
	}
	run, done, err := s.scripts.begin(ctx)
	if err != nil {
		return out, err
	}
	defer done()
	g, err := s.launch(run, in.Instance.Instance, in.Dir, env,
		guard.Command{Name: "sh", Args: []string{"-c", "--", in.Script}})
	switch {
	case err != nil && ctx.Err() == nil && run.Err() != nil:
		return out, s.scripts.ended()
	case err != nil:
		return out, err
	}
	output := ring.NewExcerpt()
	p := watchProcess(g, output.Write)
	var inputWriter sync.WaitGroup
	inputWriter.Go(func() {
		io.WriteString(g.Stdin(), in.Input) // the script need not read it
		g.Stdin().Close()
	})
	ended := p.waitFor(run, milliseconds(in.TimeoutMS))
	if !ended {
		if err := p.kill(); err != nil {
			return out, err
		}
	}
	inputWriter.Wait()
	if !ended && ctx.Err() != nil {
		return out, ctx.Err()
	}
	if !ended && run.Err() != nil {
		return out, s.scripts.ended()
	}
	out.Output, out.Truncated = output.Text()
	out.End, out.TimedOut = endOf(p.exit), !ended
	return out, nil
}
