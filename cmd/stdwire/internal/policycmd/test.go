package policycmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/policy"
	"github.com/stdwire/stdwire/internal/userfile"
)

func testCommand() command.Command {
	return command.Command{
		Name: "policy test", Usage: "[--policy FILE] [--config FILE]… [-o text|json] FILE",
		Summary: "check that the rules decide as a file expects",
		Help: `FILE is {"tests":[…]}. Each test asks what stdwire policy explain does, and expects an effect: allow,
ask or deny, or hidden, for what is in no list. Without arguments it is about lists. The exit code
is 10 if a decision is not as expected.

  {"tests": [
    {"as": {"sub": "alice", "groups": ["dev"]}, "server": "files",
     "tool": "read", "kind": "read", "arguments": {"path": "/data/x"},
     "expect": "allow"},
    {"server": "files", "tool": "write", "expect": "hidden"}
  ]}

Further members: name, profile, prompt or resource in place of tool, and closedWorld.`,
		Make: func() (command.Grammar, command.Runner) {
			var rules rulesFlags
			var output, file string
			flags := append([]command.Flag{command.FormatFlag(&output, "text", "json")},
				rules.flags()...)
			return command.Grammar{Flags: flags, Word: command.Arguments(&file)},
				func(_ context.Context, std *term.Streams) error {
					if file == "" {
						return command.Usagef("which file of tests?")
					}
					tests, err := readTests(file)
					if err != nil {
						return err
					}
					p, err := rules.load()
					if err != nil {
						return err
					}
					return runTests(std, output, tests, p)
				}
		},
	}
}

// A policyTest is a question and the effect that is expected of it.
type policyTest struct {
	Name   string `json:"name"`
	Expect string `json:"expect"`
	question
}

var expectations = []string{"allow", "ask", "deny", "hidden"}

func readTests(file string) ([]policyTest, error) {
	text, err := userfile.Text(userfile.ReadArgument(file, jsonedit.MaxText))
	if err != nil {
		return nil, command.Usagef("%v", err)
	}
	parsed, err := jsonedit.ParseJSON(file, text)
	if err != nil {
		return nil, command.Usagef("%v", err)
	}
	root, _ := parsed.Root()
	list, ok := root.Member("tests")
	if !ok || !list.IsArray() {
		return nil, command.Usagef(`%s: it has no array "tests"`, file)
	}
	known := []string{"name", "expect", "as", "profile", "server", "tool", "prompt", "resource",
		"kind", "closedWorld", "arguments"}
	var tests []policyTest
	for i, v := range list.Elements() {
		for _, m := range v.Members() {
			if !slices.Contains(known, m.Name) {
				return nil, command.Usagef("%v", v.Errorf(m.Offset, "a test has no member %.40q",
					m.Name)).WithHint(near.DidYouMean(m.Name, known))
			}
		}
		var t policyTest
		if err := jsonexact.Unmarshal(v.JSON(), &t); err != nil {
			return nil, command.Usagef("%v", v.Errorf(v.Start, "%v", err))
		}
		if !slices.Contains(expectations, t.Expect) {
			return nil, command.Usagef("%v", v.Errorf(v.Start,
				"a test needs expect: allow, ask, deny or hidden"))
		}
		t.Name = cmp.Or(t.Name, fmt.Sprintf("%d: %s/%s", i+1, t.Server,
			cmp.Or(t.Tool, t.Prompt, t.Resource)))
		tests = append(tests, t)
	}
	return tests, nil
}

// A testOutcome is the outcome of a test as JSON.
type testOutcome struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Expect string `json:"expect"`
	explanation
}

func runTests(std *term.Streams, output string, tests []policyTest, p *policy.Policy) error {
	outcomes, failed := make([]testOutcome, 0, len(tests)), 0
	for _, t := range tests {
		d, shown, err := t.ask(p)
		if err != nil {
			return command.Usagef("the test %s: %v", t.Name, err)
		}
		o := testOutcome{Name: t.Name, Expect: t.Expect, explanation: explanationOf(&d, shown)}
		if o.OK = o.Effect == t.Expect || t.Expect == "hidden" && !shown; !o.OK {
			failed++
		}
		outcomes = append(outcomes, o)
	}
	if output == "json" {
		if err := std.Out.PrintValue(map[string]any{"tests": outcomes}); err != nil {
			return err
		}
	} else {
		for _, o := range outcomes {
			if !o.OK {
				std.Out.Print(fmt.Sprintf("%s: want %s, got %s by %s\n", o.Name, o.Expect, o.Effect,
					cmp.Or(o.Rule, "the default")))
			}
		}
		std.Out.Print(fmt.Sprintf("%d of %s as expected\n", len(tests)-failed,
			command.Plural(len(tests), "decision")))
	}
	if failed > 0 {
		return &command.Failure{Code: "findings", Why: fmt.Sprintf("%d of %s not as expected", failed,
			command.Plural(len(tests), "decision"))}
	}
	return nil
}
