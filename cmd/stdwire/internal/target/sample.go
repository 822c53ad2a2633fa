package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/shellwords"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	sampleTimeout   = 5 * time.Minute // of one answer
	maxSample       = 4 << 20         // bytes of an answer
	maxSampleStderr = 4 << 10         // bytes of stderr whose last line an error quotes
	maxQuoted       = 200             // characters of that line
)

// A sampler answers sampling requests with a command. It runs one process for each request, and one
// at a time. The command reads the params of sampling/createMessage from stdin and writes the
// result to stdout, as JSON. It has the environment of this program.
type sampler struct {
	words   []string
	timeout time.Duration
	turn    chan struct{} // capacity 1
}

// sampleFlag is the flag --sample.
func (t *Target) sampleFlag() command.Flag {
	return command.Flag{Name: "--sample", Value: "COMMAND",
		Help: "answer the server's requests to a model with a command, which reads the request from stdin and writes the result to stdout, as JSON",
		Set: func(value string) error {
			words, err := shellwords.CommandLine(value)
			if err == nil {
				t.sampler = &sampler{words: words, timeout: sampleTimeout,
					turn: make(chan struct{}, 1)}
			}
			return err
		}}
}

// OnSample returns the [client.Options].OnSample that runs the command of --sample, or nil if the
// flag is not given.
func (t *Target) OnSample() func(context.Context, mcp.CreateMessageParams) (
	*mcp.CreateMessageResult, error) {
	if t.sampler == nil {
		return nil
	}
	return t.sampler.sample
}

// sample implements client.Options.OnSample.
func (s *sampler) sample(ctx context.Context, params mcp.CreateMessageParams) (
	*mcp.CreateMessageResult, error) {
	result, err := s.run(ctx, params)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("--sample: %q: %w", s.words[0], err)
	}
	return result, err
}

func (s *sampler) run(ctx context.Context, params mcp.CreateMessageParams) (
	*mcp.CreateMessageResult, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	request, err := mcp.Marshal(params)
	if err != nil {
		return nil, err
	}
	slow := fmt.Errorf("it did not answer within %v", s.timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, slow)
	defer cancel()
	answer, stderr, err := guard.Run(ctx, guard.Command{Name: s.words[0], Args: s.words[1:],
		Env: os.Environ()}, append(request, '\n'), maxSample, maxSampleStderr)
	if start, ok := errors.AsType[*guard.StartError](err); ok {
		err = start.Err
	}
	if text := strings.TrimSpace(string(stderr)); err != nil && text != "" {
		last := printable.Line(text[strings.LastIndexByte(text, '\n')+1:])
		err = fmt.Errorf("%w: \"%s\"", err, printable.TruncateRunes(last, maxQuoted))
	}
	if err != nil {
		return nil, err
	}
	if err := jsonscan.Valid(answer); err != nil {
		return nil, fmt.Errorf("its answer is not JSON: %w", err)
	}
	result := new(mcp.CreateMessageResult)
	if err := mcp.Unmarshal(answer, result); err != nil {
		return nil, fmt.Errorf("its answer is not a result: %w", err)
	}
	if len(result.Content) == 0 {
		return nil, errors.New("its answer has no content")
	}
	result.Role = cmp.Or(result.Role, mcp.RoleAssistant)
	result.Model = cmp.Or(result.Model, filepath.Base(s.words[0]))
	return result, nil
}
