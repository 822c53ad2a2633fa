package policycmd

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/policy"
	"github.com/stdwire/stdwire/internal/userfile"
)

func explainCommand() command.Command {
	return command.Command{
		Name:    "policy explain",
		Usage:   "[--as FILE] [--policy FILE] [--config FILE]… [FLAG]… SERVER/NAME [ARGUMENTS]",
		Summary: "print what the rules decide, and which rule does",
		Help: `NAME is the server's own name of a tool, or with --type of a prompt, or the URI of a resource. The
server of stdwire's own tools is stdwire. With ARGUMENTS, a JSON object, the decision is about a
call; without, about lists, which show what may be allowed.

--as has the claims of a token as JSON: sub, groups, scope and others. Without it the caller is
unknown, as on stdio. No server is started, so --kind says what a tool does.

  stdwire policy explain --policy rules.json --as alice.json github/list_issues
  stdwire policy explain --as alice.json --kind read files/read '{"path":"/etc/x"}'`,
		Make: func() (command.Grammar, command.Runner) {
			var (
				rules                             rulesFlags
				q                                 question
				output, as, name, arguments, what string
			)
			flags := append([]command.Flag{command.FormatFlag(&output, "text", "json"),
				command.FileFlag(&as, "--as", "the claims of the caller, as JSON"),
				command.ChoiceFlag(&what, "--type", "what NAME is (default tool)", "tool", "prompt",
					"resource"),
				command.ChoiceFlag(&q.Kind, "--kind",
					"what the tool does at worst (default destructive, as without hints)", "read",
					"write", "destructive"),
				command.SwitchFlag(&q.Closed, "--closed-world",
					"the tool has an openWorldHint that is false"),
				command.TextFlag(&q.Profile, "--profile", "NAME",
					"the profile whose endpoint the caller uses"),
			}, rules.flags()...)
			return command.Grammar{Flags: flags, Word: command.Arguments(&name, &arguments)},
				func(_ context.Context, std *term.Streams) error {
					err := q.complete(name, what, as, arguments)
					if err != nil {
						return err
					}
					p, err := rules.load()
					if err != nil {
						return err
					}
					d, shown, err := q.ask(p)
					if err != nil {
						return command.Usagef("%v", err)
					}
					return explain(std, output, &d, shown, arguments != "")
				}
		},
	}
}

// complete sets what the arguments of the command say.
func (q *question) complete(name, what, as, arguments string) error {
	server, own, ok := strings.Cut(name, "/")
	if !ok || server == "" || own == "" {
		return command.Usagef("which item?").WithHint("write SERVER/NAME, such as files/read")
	}
	q.Server = server
	switch what {
	case "prompt":
		q.Prompt = own
	case "resource":
		q.Resource = own
	default:
		q.Tool = own
	}
	if arguments != "" {
		if err := jsonscan.Valid([]byte(arguments)); err != nil {
			return command.Usagef("the arguments are not JSON: %v", err)
		}
		q.Arguments = json.RawMessage(arguments)
	}
	if as == "" {
		return nil
	}
	claims, err := userfile.Text(userfile.ReadArgument(as, jsonedit.MaxText))
	if err == nil {
		err = jsonscan.Valid(claims)
	}
	if err != nil {
		return command.Usagef("--as: %v", err)
	}
	q.As = claims
	return nil
}

// An explanation is a decision as JSON.
type explanation struct {
	Effect   string `json:"effect"`
	Shown    bool   `json:"shown"`              // lists have the item
	Rule     string `json:"rule,omitempty"`     // FILE:LINE; absent: the default decides
	Argument string `json:"argument,omitempty"` // the JSON Pointer of the one that decides
	Reason   string `json:"reason,omitempty"`
	// Certain is false if the arguments of a call decide.
	Certain bool `json:"certain"`
}

func explanationOf(d *policy.Decision, shown bool) explanation {
	e := explanation{Effect: d.Effect.String(), Shown: shown, Argument: d.Pointer,
		Certain: d.Certain}
	if d.Rule != nil {
		e.Rule, e.Reason = d.Rule.Source, d.Rule.Reason
	}
	return e
}

func explain(std *term.Streams, output string, d *policy.Decision, shown, call bool) error {
	e := explanationOf(d, shown)
	if output == "json" {
		return std.Out.PrintValue(e)
	}
	lists := "lists have it"
	switch {
	case !shown:
		lists = "hidden: calls are answered as if it did not exist"
	case !e.Certain && !call:
		lists += ", and the arguments of a call decide"
	}
	rows := [][]string{{"effect", e.Effect}, {"lists", lists},
		{"decided by", cmp.Or(e.Rule, "the default, because no rule grants it")}}
	if e.Rule == "" && d.Effect != policy.Deny {
		rows[2][1] = "the default"
	}
	for _, more := range [][2]string{{"argument", e.Argument}, {"reason", e.Reason}} {
		if more[1] != "" {
			rows = append(rows, more[:])
		}
	}
	std.Out.PrintTable(rows)
	return nil
}
