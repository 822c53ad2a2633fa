package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/client/host/pin"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// lists has a server list all that it says it has, looks at its tools, and returns the definitions.
func (chart *Chart) lists(ctx context.Context, c *client.Client, timeout time.Duration) map[pin.Kind][]json.RawMessage {
	all := map[pin.Kind][]json.RawMessage{}
	capabilities := jsonscan.Member(c.Handshake().Result, "capabilities")
	for _, k := range output.Kinds() {
		k = k.WithTimeout(timeout)
		list, err := k.JSON(ctx, c)
		severity := Warns
		if k.Name == "tools" {
			severity = Broke
		}
		switch {
		case err == nil && k.Name == "tools":
			all[pin.Tool] = chart.tools(list, c.Process() == nil)
		case err == nil:
			kind := map[string]pin.Kind{"prompts": pin.Prompt, "resources": pin.Resource, "templates": pin.Template}[k.Name]
			for definition := range jsonscan.Elements(list) {
				all[kind] = append(all[kind], definition)
			}
		case target.IsError[*client.UndeclaredError](err):
		case errors.Is(err, rpc.ErrMethodNotFound):
			capability := strings.Replace(k.Name, "templates", "resources", 1)
			if jsonscan.Member(capabilities, capability) != nil {
				chart.add(severity, fmt.Sprintf("it declares %s, and does not know %s", capability, k.Method), "it should do the one or leave out the other")
			}
		case target.IsError[*client.TooLargeError](err):
			f := target.Explain(err)
			chart.add(severity, k.Method+": "+f.Why, "")
			return all
		case target.IsError[*client.LostError](err):
			chart.add(Broke, fmt.Sprintf("it has ended at %s: %s", k.Method, target.Explain(err).Why), "")
			return nil
		default:
			f := command.AsFailure(ctx, err)
			if told := target.Explain(err); told != nil {
				f = told
			}
			why, late := k.Method+": "+f.Why, f.Code == "call_timeout"
			if late {
				why += "; no list was asked for after it" // which would take as long again
			}
			chart.add(severity, why, "")
			if late || ctx.Err() != nil {
				return all
			}
		}
	}
	return all
}

// A toolCheck is a question to a tool's definition.
type toolCheck struct {
	severity  string
	what, way string
	fault     func(t *mcp.Tool) (detail string, wrong bool)
}

const schemasOwn = "look at what the keyword means in JSON Schema 2020-12"

var toolChecks = []toolCheck{
	{Broke, "tools whose inputSchema is no JSON Schema", schemasOwn, func(t *mcp.Tool) (string, bool) { return uncompilable(t.InputSchema, false) }},
	{Broke, "tools whose outputSchema is no JSON Schema", schemasOwn, func(t *mcp.Tool) (string, bool) { return uncompilable(t.OutputSchema, false) }},
	{Warns, "tools whose inputSchema cannot be used here to check arguments", "", func(t *mcp.Tool) (string, bool) { return uncompilable(t.InputSchema, true) }},
	{Warns, "tools whose outputSchema cannot be used here to check results", "", func(t *mcp.Tool) (string, bool) { return uncompilable(t.OutputSchema, true) }},
	{Warns, "tools without an inputSchema", "the specification wants one, also of tools without arguments: {\"type\":\"object\"}", func(t *mcp.Tool) (string, bool) {
		return "", t.InputSchema == nil
	}},
	{Warns, `tools whose inputSchema does not say "type": "object"`, "the specification wants it, also of tools without arguments; strict clients take no list with such a tool", func(t *mcp.Tool) (string, bool) {
		kind, _ := jsonscan.Text(jsonscan.Member(t.InputSchema, "type"))
		return "", t.InputSchema != nil && kind != "object"
	}},
	{Warns, `tools whose outputSchema does not say "type": "object"`, "revisions before 2026-07-28 want it; their strict clients take no list with such a tool", func(t *mcp.Tool) (string, bool) {
		kind, _ := jsonscan.Text(jsonscan.Member(t.OutputSchema, "type"))
		return "", t.OutputSchema != nil && kind != "object"
	}},
	{Warns, "tools whose names are not 1 to 128 letters, digits, '_', '-' and '.'", "models and gateways may not take them", func(t *mcp.Tool) (string, bool) {
		return "", !mcp.ValidToolName(t.Name)
	}},
	{Warns, "tools without a description", "a model chooses by it", func(t *mcp.Tool) (string, bool) { return "", strings.TrimSpace(t.Description) == "" }},
}

// annotated is the check of x-mcp-header. Over HTTP, a client must not use a tool where it is wrong (2026-07-28, Streamable HTTP, "Custom Headers from Tool Parameters").
func annotated(overHTTP bool) toolCheck {
	check := toolCheck{Warns, "tools with a wrong x-mcp-header", "over HTTP they could not be used", func(t *mcp.Tool) (string, bool) {
		_, err := mcp.HeaderParams(t.InputSchema)
		if err == nil {
			return "", false
		}
		return err.Error(), true
	}}
	if overHTTP {
		check.severity, check.way = Broke, "a client must not offer them"
	}
	return check
}

// uncompilable says why a schema does not compile: because it is wrong, or for a reason that leaves it right, as far as can be told, but cannot be checked here. One that is
// not there is all right.
func uncompilable(text json.RawMessage, harmless bool) (why string, wrong bool) {
	if text == nil {
		return "", false
	}
	_, err := schema.Compile(text)
	known := errors.Is(err, schema.ErrPattern) || errors.Is(err, schema.ErrDialect) || errors.Is(err, schema.ErrReference) || errors.Is(err, schema.ErrLimit)
	if err == nil || known != harmless {
		return "", false
	}
	return err.Error(), true
}

// tools looks at the definitions of tools, and returns those that are some.
func (chart *Chart) tools(list []byte, overHTTP bool) (definitions []json.RawMessage) {
	var tools []*mcp.Tool
	var unreadable, twice []string
	seen := map[string]bool{}
	n := 0
	for definition := range jsonscan.Elements(list) {
		n++
		t := new(mcp.Tool)
		if err := mcp.Unmarshal(definition, t); err != nil {
			unreadable = append(unreadable, fmt.Sprintf("the %d. (%v)", n, err))
			continue
		}
		if seen[t.Name] {
			twice = append(twice, t.Name)
		}
		seen[t.Name] = true
		tools, definitions = append(tools, t), append(definitions, definition)
	}
	chart.Tools = &n
	chart.about(Broke, "tools that are none", unreadable, "")
	chart.about(Broke, "tools that are there more than once", twice, "nobody can tell which is called")
	for _, check := range append(slices.Clone(toolChecks), annotated(overHTTP)) {
		var names []string
		for _, t := range tools {
			if detail, wrong := check.fault(t); wrong && detail != "" {
				names = append(names, fmt.Sprintf("%s (%s)", t.Name, detail))
			} else if wrong {
				names = append(names, t.Name)
			}
		}
		chart.about(check.severity, check.what, names, check.way)
	}
	if overHTTP {
		definitions = slices.DeleteFunc(definitions, func(text json.RawMessage) bool {
			_, err := mcp.HeaderParams(jsonscan.Member(text, "inputSchema"))
			return err != nil
		})
	}
	return definitions
}

// about writes down a symptom that some tools have; none if no tool has it.
func (chart *Chart) about(severity, what string, names []string, hint string) {
	if len(names) == 0 {
		return
	}
	const most, long = 5, 200
	var told []string
	for _, name := range names[:min(most, len(names))] {
		told = append(told, printable.TruncateRunes(name, long))
	}
	text := what + ": " + strings.Join(told, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	chart.add(severity, text, hint)
}

// compare writes down what is not what it was when it was first used. Nothing is pinned.
func (chart *Chart) compare(lock *pin.Lock, c *client.Client, all map[pin.Kind][]json.RawMessage, p *patient) {
	server, err := gateway.Pinned(chart.ID, c)
	if err != nil {
		chart.add(Warns, "it cannot be compared with what it was: "+err.Error(), "stdwire serve offers nothing of it")
		return
	}
	look := "stdwire serve withholds them; see stdwire pin diff " + p.again
	another := false
	for _, kind := range pin.Kinds() {
		things := string(kind) + "s"
		report, err := lock.Compare(server, kind, pin.Distinct(kind, all[kind]))
		if err != nil {
			chart.add(Warns, "its "+things+" cannot be compared with what they were: "+err.Error(), "stdwire serve offers none of them")
			continue
		}
		if report.First {
			continue
		}
		var changed, unseen []string
		for _, v := range report.Verdicts {
			switch v.State {
			case pin.Changed:
				changed = append(changed, v.Name)
			case pin.New:
				unseen = append(unseen, v.Name)
			}
		}
		if report.Another != "" && !another {
			another = true
			chart.add(Warns, "the server is another than it was: "+report.Another, look)
		}
		chart.about(Warns, things+" that are not what they were when they were first used", changed, look)
		chart.about(Warns, things+" that it did not have when it was first used", unseen, look)
		chart.about(note, things+" that it has no more", report.Missing, "")
	}
}
