package proc

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/dispatch"
)

var startSpec = dispatch.Spec{
	Name:    "proc.start",
	Title:   "Start process",
	Summary: "Start a program that runs on between calls, as a session.",
	Description: "Start a program that runs on between calls, as a session: an interpreter to talk to, a server, a build. It is started directly, without a " +
		"shell, and has pipes for its input and output, no terminal: an interpreter may need an option to be interactive (python3 -i). " +
		"Talk to it with proc.send and proc.read, and end it with proc.stop. It also ends if no call uses it for long, and when the client is gone.",
	Type:      dispatch.Lifecycle,
	OpenWorld: true,
	Errors:    []dispatch.Code{dispatch.NotFound, dispatch.StateError, dispatch.UpstreamError},
	Timeout:   time.Minute,
	Examples: []dispatch.Example{
		{Summary: "An interpreter",
			Input: json.RawMessage(`{"command":"python3","args":["-i","-q","-u"]}`)},
		{Summary: "A build, in a directory of the root",
			Input: json.RawMessage(
				`{"command":"make","args":["test"],"dir":"backend","env":["CI=1"]}`)},
	},
}

// StartInput are the arguments of proc.start.
type StartInput struct {
	dispatch.Instance
	Command string   `json:"command" doc:"Program: a name to be found on the PATH, or a path, which if relative starts at dir." minLength:"1" maxLength:"4096"`
	Args    []string `json:"args,omitempty" doc:"Its arguments, each as it is: no shell splits or expands them." maxItems:"4096"`
	Dir     string   `json:"dir,omitempty" doc:"Directory to run in, relative to the root. The root itself if left out."`
	Env     []string `json:"env,omitempty" doc:"Environment variables to set, as NAME=VALUE, beside PATH, HOME and other usual ones." maxItems:"256"`
}

// StartOutput is the data of proc.start.
type StartOutput struct {
	Session string `json:"session" doc:"Id of the session."`
	PID     int    `json:"pid" doc:"Process id, and id of its process group."`
	Command string `json:"command"`
}

func (s *Service) start(ctx context.Context, in StartInput) (out StartOutput, err error) {
	env, err := parseEnv(in.Env)
	if err != nil {
		return out, err
	}
	if err := s.allow.check(in.Command, env); err != nil {
		return out, err
	}
	if strings.ContainsRune(in.Command, 0) {
		return out, dispatch.InvalidArgument("/command", "it contains a NUL byte")
	}
	s.evictEnded(ctx)
	out.Command = in.Command
	out.Session, err = s.sessions.Open(ctx, func(ctx context.Context) (string, *session, error) {
		g, err := s.launch(ctx, in.Instance.Instance, in.Dir, env,
			guard.Command{Name: in.Command, Args: in.Args})
		if err != nil {
			return "", nil, err
		}
		started := newSession(g, in.Command, in.Args, s.buffer)
		out.PID = g.Pid()
		return started.id, started, nil
	})
	return out, err
}

// evictEnded closes the caller's oldest session whose process has ended, if the maximum is reached.
func (s *Service) evictEnded(ctx context.Context) {
	allCallers := context.Background()
	if len(s.sessions.List(allCallers)) < s.max {
		return
	}
	for _, info := range s.sessions.List(ctx) {
		if info.Value.hasEnded() {
			s.sessions.Close(allCallers, info.ID)
			return
		}
	}
}

// launch starts a command in a directory of a root.
func (s *Service) launch(ctx context.Context, instance, dir string, env map[string]string,
	c guard.Command) (*guard.Process, error) {
	var err error
	if c.Env, err = environ(env); err != nil {
		return nil, err
	}
	if c.Dir, err = s.roots.OpenDir(instance, dir); err != nil {
		return nil, err
	}
	defer c.Dir.Close()
	c.Merged = true // keeps output on stderr and prompts on stdout in order
	g, err := guard.Start(ctx, c)
	return g, startError(err)
}
