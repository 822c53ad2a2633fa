package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/paramheader"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// checkLists lists everything that the server declares, checks it and returns the definitions that
// can be decoded. A kind that could not be listed is missing.
func (r *Report) checkLists(ctx context.Context, c *client.Client,
	timeout time.Duration) map[mcp.Kind][]json.RawMessage {
	all := map[mcp.Kind][]json.RawMessage{}
	capabilities := jsonscan.Member(c.Handshake().Result, "capabilities")
	for _, l := range output.Lists() {
		l = l.WithTimeout(timeout)
		list, err := l.JSON(ctx, c)
		severity, method := Warning, l.Kind.Info().ListMethod
		if l.Kind == mcp.KindTool {
			severity = Broken
		}
		switch {
		case err == nil && l.Kind == mcp.KindTool:
			all[l.Kind] = r.checkTools(list, c.Process() == nil)
		case err == nil:
			all[l.Kind] = r.readable(l.Name(), list, decoders[l.Kind])
		case errors.Is(err, client.ErrUndeclared):
			all[l.Kind] = []json.RawMessage{}
		case errors.Is(err, rpc.ErrMethodNotFound):
			capability := l.Kind.Info().Capability
			if jsonscan.Member(capabilities, capability) != nil {
				r.add(severity,
					fmt.Sprintf("it declares %s, and does not support %s", capability, method),
					"it should support the method or not declare the capability")
			}
		case target.IsError[*client.TooLargeError](err):
			f := target.Explain(err)
			r.add(severity, method+": "+f.Why, "")
			return all
		case target.IsError[*client.LostError](err):
			r.add(Broken,
				fmt.Sprintf("it exited during %s: %s", method, target.Explain(err).Why), "")
			return nil
		default:
			f := command.AsFailure(ctx, err)
			if shown := target.Explain(err); shown != nil {
				f = shown
			}
			why, late := method+": "+f.Why, f.Code == "call_timeout"
			if late {
				why += "; the lists after it were not requested" // each may take as long
			}
			r.add(severity, why, "")
			if late || ctx.Err() != nil {
				return all
			}
		}
	}
	return all
}

// A toolCheck is a check of the definition of a tool.
type toolCheck struct {
	severity     string
	what, remedy string
	fault        func(t *mcp.Tool) (detail string, wrong bool)
}

const keywordRemedy = "check the meaning of the keyword in JSON Schema 2020-12"

var toolChecks = []toolCheck{
	{Broken, "tools whose inputSchema is not a JSON Schema", keywordRemedy,
		func(t *mcp.Tool) (string, bool) {
			return compileError(t.InputSchema, false)
		}},
	{Broken, "tools whose outputSchema is not a JSON Schema", keywordRemedy,
		func(t *mcp.Tool) (string, bool) {
			return compileError(t.OutputSchema, false)
		}},
	{Warning, "tools whose inputSchema cannot be used here to check arguments", "",
		func(t *mcp.Tool) (string, bool) {
			return compileError(t.InputSchema, true)
		}},
	{Warning, "tools whose outputSchema cannot be used here to check results", "",
		func(t *mcp.Tool) (string, bool) {
			return compileError(t.OutputSchema, true)
		}},
	{Warning, "tools without an inputSchema",
		"the specification requires one, also for tools without arguments: {\"type\":\"object\"}",
		func(t *mcp.Tool) (string, bool) {
			return "", t.InputSchema == nil
		}},
	{Warning, `tools whose inputSchema does not say "type": "object"`,
		"the specification requires it, also for tools without arguments; strict clients refuse a list with such a tool",
		func(t *mcp.Tool) (string, bool) {
			kind, _ := jsonscan.Text(jsonscan.Member(t.InputSchema, "type"))
			return "", t.InputSchema != nil && kind != "object"
		}},
	{Warning, `tools whose outputSchema does not say "type": "object"`,
		"revisions before 2026-07-28 require it; their strict clients refuse a list with such a tool",
		func(t *mcp.Tool) (string, bool) {
			kind, _ := jsonscan.Text(jsonscan.Member(t.OutputSchema, "type"))
			return "", t.OutputSchema != nil && kind != "object"
		}},
	{Warning, "tools whose names are not 1 to 128 letters, digits, '_', '-' and '.'",
		"models and gateways may refuse them", func(t *mcp.Tool) (string, bool) {
			return "", !itemname.IsToolName(t.Name)
		}},
	{Warning, "tools without a description", "a model selects a tool by it",
		func(t *mcp.Tool) (string, bool) {
			return "", strings.TrimSpace(t.Description) == ""
		}},
}

// portabilityChecks returns checks for features of tools that the APIs of models refuse.
func portabilityChecks() (all []toolCheck) {
	for _, r := range scan.PortabilityRules() {
		if r.Converted {
			continue
		}
		all = append(all, toolCheck{Warning, r.Tools, r.Remedy, func(t *mcp.Tool) (string, bool) {
			found := r.Find(t.Name, t.InputSchema)
			var details []string
			for _, o := range found {
				if o.Evidence != "" {
					details = append(details, o.Evidence)
				}
			}
			return strings.Join(details, ", "), found != nil
		}})
	}
	return all
}

// headerCheck checks x-mcp-header. Over HTTP a client must not use a tool in which it is invalid
// (2026-07-28, Streamable HTTP, "Custom Headers from Tool Parameters").
func headerCheck(overHTTP bool) toolCheck {
	check := toolCheck{Warning, "tools with an invalid x-mcp-header",
		"clients could not use them over HTTP", func(t *mcp.Tool) (string, bool) {
			_, err := paramheader.Of(t.InputSchema)
			if err == nil {
				return "", false
			}
			return err.Error(), true
		}}
	if overHTTP {
		check.severity, check.remedy = Broken, "a client must not offer them"
	}
	return check
}

// compileError returns the error of compiling a schema. If unsupported is set, it returns only
// errors about what package schema does not support, else only errors of an invalid schema. A
// missing schema is valid.
func compileError(text json.RawMessage, unsupported bool) (why string, wrong bool) {
	if text == nil {
		return "", false
	}
	_, err := schema.Compile(text)
	known := errors.Is(err, schema.ErrPattern) || errors.Is(err, schema.ErrDialect) ||
		errors.Is(err, schema.ErrReference) || errors.Is(err, schema.ErrLimit)
	if err == nil || known != unsupported {
		return "", false
	}
	return err.Error(), true
}

// decoders decode definitions of the kinds other than tools. Read-only.
var decoders = map[mcp.Kind]func(definition []byte) error{
	mcp.KindPrompt: decodeAs[mcp.Prompt], mcp.KindResource: decodeAs[mcp.Resource],
	mcp.KindResourceTemplate: decodeAs[mcp.ResourceTemplate], mcp.KindSkill: decodeAs[mcp.Skill],
}

func decodeAs[T any](definition []byte) error {
	var v T
	return mcp.Unmarshal(definition, &v)
}

// readable returns the definitions in a list that can be decoded, and adds a finding about the
// others, which clients omit.
func (r *Report) readable(items string, list []byte,
	decode func(definition []byte) error) (definitions []json.RawMessage) {
	var unreadable []string
	n := 0
	for definition := range jsonscan.Elements(list) {
		n++
		err := decode(definition)
		if err == nil {
			definitions = append(definitions, definition)
			continue
		}
		name := fmt.Sprintf("number %d", n)
		if text, ok := jsonscan.Text(jsonscan.Member(definition, "name")); ok && text != "" {
			name += " " + strconv.Quote(printable.TruncateRunes(text, 60))
		}
		unreadable = append(unreadable, fmt.Sprintf("%s (%v)", name, err))
	}
	severity, hint := Warning, "strict clients refuse the whole list; stdwire omits them"
	if definitions == nil && items == "tools" {
		severity, hint = Broken, "no tool is left"
	}
	r.addForTools(severity, items+" that cannot be decoded", unreadable, hint)
	return definitions
}

// checkTools checks the definitions of tools and returns those that are valid JSON objects.
func (r *Report) checkTools(list []byte, overHTTP bool) (definitions []json.RawMessage) {
	var tools []*mcp.Tool
	var duplicates []string
	seen := map[string]bool{}
	definitions = r.readable("tools", list, func(definition []byte) error {
		t := new(mcp.Tool)
		if err := mcp.Unmarshal(definition, t); err != nil {
			return err
		}
		if seen[t.Name] {
			duplicates = append(duplicates, t.Name)
		}
		seen[t.Name] = true
		tools = append(tools, t)
		return nil
	})
	n, size := 0, 0
	for definition := range jsonscan.Elements(list) {
		n++
		size += output.DefinitionBytes(definition)
	}
	cost := output.CostOf(size)
	r.Tools, r.ToolCost = &n, &cost
	r.addForTools(Broken, "tools that are listed more than once", duplicates,
		"it is undefined which of them a call runs")
	checks := slices.Concat(toolChecks, portabilityChecks(), []toolCheck{headerCheck(overHTTP)})
	for _, check := range checks {
		var names []string
		for _, t := range tools {
			if detail, wrong := check.fault(t); wrong && detail != "" {
				names = append(names, fmt.Sprintf("%s (%s)", t.Name, detail))
			} else if wrong {
				names = append(names, t.Name)
			}
		}
		r.addForTools(check.severity, check.what, names, check.remedy)
	}
	if overHTTP {
		definitions = slices.DeleteFunc(definitions, func(text json.RawMessage) bool {
			_, err := paramheader.Of(jsonscan.Member(text, "inputSchema"))
			return err != nil
		})
	}
	return definitions
}

// addForTools adds a finding about some tools, unless names is empty.
func (r *Report) addForTools(severity, what string, names []string, hint string) {
	if len(names) == 0 {
		return
	}
	r.add(severity, what+": "+someOf(names), hint)
}

// someOf returns the first names of a list, and how many more there are.
func someOf(names []string) string {
	const most, long = 5, 200
	var shown []string
	for _, name := range names[:min(most, len(names))] {
		shown = append(shown, printable.TruncateRunes(name, long))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// comparePins adds findings for differences from the pins. It does not write pins.
func (r *Report) comparePins(pins *pin.File, c *client.Client,
	all map[mcp.Kind][]json.RawMessage, p *subject) {
	server, err := target.PinServer(r.ID, p.server.File, c)
	if err != nil {
		r.add(Warning, "it cannot be compared with its pins: "+err.Error(),
			"stdwire serve does not offer it")
		return
	}
	look := "stdwire serve withholds them; see stdwire pin diff " + p.arguments
	reported := false // the change of the server's identity
	for kind := range pin.Kinds() {
		things, definitions := string(kind)+"s", all[kind]
		if kind == pin.Instructions {
			things, definitions = string(kind), pin.InstructionsOf(c.Instructions())
		}
		report, err := pins.Compare(server, kind, pin.Distinct(kind, definitions))
		if err != nil {
			r.add(Warning, "its "+things+" cannot be compared with their pins: "+
				err.Error(), "stdwire serve offers none of them")
			continue
		}
		if report.First {
			continue
		}
		var changed, unseen []string
		for _, v := range report.Verdicts {
			switch v.State {
			case pin.StateChanged:
				changed = append(changed, v.Name)
			case pin.StateNew:
				unseen = append(unseen, v.Name)
			}
		}
		if report.IdentityChange != "" && !reported {
			reported = true
			r.add(Warning, "the identity of the server has changed: "+report.IdentityText(), look)
		}
		r.addForTools(Warning, things+" that have changed since the server was first used",
			changed, look)
		r.addForTools(Warning, things+" that are new since the server was first used", unseen,
			look)
		r.addForTools(note, things+" that it no longer has", report.Missing, "")
	}
}
