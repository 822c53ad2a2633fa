package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/savedcall"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/userfile"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// TestCommand is stdwire test.
func TestCommand() command.Command {
	return command.Command{
		Name: "test", Usage: "FILE [-o text|json|junit] [FLAG]… [-- SERVER-COMMAND…]",
		Summary: "make the calls of a file, and check their results",
		Help: `FILE has calls with expectations, in the form that the page of stdwire web saves. Each call goes to
the configured server that it names, or all calls go to the server that is given. A server is
started once. The exit code is 10 if a result is not as expected.

  {"calls": [{
    "name": "the weather of Oslo", "server": "weather",
    "tool": "forecast", "arguments": {"city": "Oslo"},
    "expect": {
      "schema": {"required": ["structuredContent"]},
      "values": {"/structuredContent/city": "Oslo"},
      "within": "2s"
    }
  }]}

All of "expect" may be omitted: a call must then succeed. "values" maps JSON pointers into the
result to values. "error" expects an error instead: its JSON-RPC code, or "isError" for a tool
that reports one. In place of "tool" and "arguments", "method" and "params" make any request.
"server" may be omitted if a server is given.

  stdwire test calls.json
  stdwire test calls.json -o junit --config servers.json >report.xml
  stdwire test calls.json -- go run ./cmd/server`,
		Make: func() (command.Grammar, command.Runner) {
			o := &testOptions{target: target.NewTarget()}
			return o.target.Grammar(command.Arguments(&o.file),
				command.FormatFlag(&o.output, "text", "json", "junit"),
				TimeoutFlag(&o.timeout)), o.run
		},
	}
}

// testOptions are the options of stdwire test.
type testOptions struct {
	target  *target.Target
	file    string
	output  string
	timeout time.Duration
}

func (o *testOptions) run(ctx context.Context, std *term.Streams) error {
	if o.file == "" {
		return command.Usagef("which file?").WithHint("stdwire web saves calls in one")
	}
	text, err := userfile.Text(userfile.ReadArgument(o.file, savedcall.MaxFile))
	if err != nil {
		return command.Usagef("%v", err)
	}
	file, err := savedcall.Parse(text)
	if err != nil {
		return command.Usagef("%s: %v", o.file, err)
	}
	s := &testServers{options: o, std: std, open: map[string]*testServer{}}
	if s.given() {
		err = o.target.Resolve(ctx, std)
	} else { // the calls name servers of the configuration
		err = o.target.Remote.Check()
	}
	if err != nil {
		return err
	}
	defer s.close()
	return o.report(std, file.Run(ctx, s.send))
}

// report prints outcomes, and returns a failure if a result is not as expected.
func (o *testOptions) report(std *term.Streams, outcomes []savedcall.Outcome) error {
	failed := 0
	for _, outcome := range outcomes {
		verdict := "ok  "
		if len(outcome.Failures) > 0 {
			failed++
			verdict = "FAIL"
		}
		if o.output == "text" {
			std.Out.PrintState(fmt.Sprintf("%s  %s (%.0f ms)\n", verdict, outcome.Name, outcome.Ms))
			for _, failure := range outcome.Failures {
				std.Out.Print("      " + failure + "\n")
			}
		}
	}
	switch o.output {
	case "json":
		if err := std.Out.PrintValue(map[string]any{"outcomes": outcomes}); err != nil {
			return err
		}
	case "junit":
		text, err := savedcall.JUnit(filepath.Base(o.file), outcomes)
		if err != nil {
			return err
		}
		std.Out.PrintUntrusted(string(text))
	}
	if failed == 0 {
		return nil
	}
	return &command.Failure{Code: "findings", Why: fmt.Sprintf("%d of %s not as expected", failed,
		command.Plural(len(outcomes), "call"))}
}

// testServers are the servers that calls of a file use, each connected at its first call.
type testServers struct {
	options *testOptions
	std     *term.Streams
	open    map[string]*testServer // by id; "" is the server of the command line
}

type testServer struct {
	target *target.Target
	client *client.Client
	err    error
}

// given reports whether the command line names a server.
func (s *testServers) given() bool {
	t := s.options.target
	return t.Connection != "" || t.Configured.ID != "" || t.Remote.URL != "" || t.Words != nil ||
		t.Builtin.FirstFlag() != ""
}

// send makes a call.
func (s *testServers) send(ctx context.Context, c *savedcall.Call) (json.RawMessage, error) {
	server, err := s.connect(ctx, c.Server)
	if err != nil {
		return nil, err
	}
	method, params := c.Request()
	limit := client.Timeout(s.options.timeout)
	if method != mcp.MethodCallTool {
		return server.client.Call(ctx, method, params, limit, client.Fresh())
	}
	if tool, ok := jsonscan.Text(jsonscan.Member(params, "name")); ok {
		if err := server.target.Configured.CheckAllowed(tool); err != nil {
			return nil, err
		}
		return server.client.CallToolRaw(ctx, tool,
			json.RawMessage(jsonscan.Member(params, "arguments")), limit)
	}
	return nil, errors.New("the name of the tool is missing")
}

// connect connects to a server, once.
func (s *testServers) connect(ctx context.Context, id string) (*testServer, error) {
	if s.given() {
		id = ""
	} else if id == "" {
		return nil, errors.New(`the call names no "server", and none is given`)
	}
	server := s.open[id]
	if server == nil {
		copied := *s.options.target
		server = &testServer{target: &copied}
		if id != "" {
			server.target.Configured.ID = id
		}
		server.client, server.err = server.target.Connect(ctx, s.std, func(o *client.Options) {
			o.Output = client.OutputFail
		})
		s.open[id] = server
	}
	return server, server.err
}

// close ends all servers.
func (s *testServers) close() {
	for _, server := range s.open {
		if server.client == nil {
			continue
		}
		if err := server.target.Disconnect(s.std, server.client); err != nil {
			s.std.Err.Printf("note: %s: %s", server.target.Name(), strings.TrimSpace(err.Error()))
		}
	}
}
