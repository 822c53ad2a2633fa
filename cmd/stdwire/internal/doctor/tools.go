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
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// checkLists lists everything that the server declares, checks its tools and returns the
// definitions.
func (chart *Report) checkLists(ctx context.Context, c *client.Client,
	timeout time.Duration) map[pin.Kind][]json.RawMessage {
	all := map[pin.Kind][]json.RawMessage{}
	capabilities := jsonscan.Member(c.Handshake().Result, "capabilities")
	for _, k := range output.Kinds() {
		k = k.WithTimeout(timeout)
		list, err := k.JSON(ctx, c)
		severity := Warning
		if k.Name == "tools" {
			severity = Broken
		}
		switch {
		case err == nil && k.Name == "tools":
			all[pin.Tool] = chart.checkTools(list, c.Process() == nil)
		case err == nil:
			kind := map[string]pin.Kind{"prompts": pin.Prompt, "resources": pin.Resource,
				"templates": pin.Template}[k.Name]
			for definition := range jsonscan.Elements(list) {
				all[kind] = append(all[kind], definition)
			}
		case target.IsError[*client.UndeclaredError](err):
		case errors.Is(err, rpc.ErrMethodNotFound):
			capability := strings.Replace(k.Name, "templates", "resources", 1)
			if jsonscan.Member(capabilities, capability) != nil {
				chart.add(severity,
					fmt.Sprintf("it declares %s, and does not know %s", capability, k.Method),
					"it should do the one or leave out the other")
			}
		case target.IsError[*client.TooLargeError](err):
			f := target.Explain(err)
			chart.add(severity, k.Method+": "+f.Why, "")
			return all
		case target.IsError[*client.LostError](err):
			chart.add(Broken,
				fmt.Sprintf("it has ended at %s: %s", k.Method, target.Explain(err).Why), "")
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

// A toolCheck is a check of the definition of a tool.
type toolCheck struct {
	severity  string
	what, way string
	fault     func(t *mcp.Tool) (detail string, wrong bool)
}

const keywordRemedy = "look at what the keyword means in JSON Schema 2020-12"

var toolChecks = []toolCheck{
	{Broken, "tools whose inputSchema is no JSON Schema", keywordRemedy,
		func(t *mcp.Tool) (string, bool) {
			return compileError(t.InputSchema, false)
		}},
	{Broken, "tools whose outputSchema is no JSON Schema", keywordRemedy,
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
		"the specification wants one, also of tools without arguments: {\"type\":\"object\"}",
		func(t *mcp.Tool) (string, bool) {
			return "", t.InputSchema == nil
		}},
	{Warning, `tools whose inputSchema does not say "type": "object"`,
		"the specification wants it, also of tools without arguments; strict clients take no list with such a tool",
		func(t *mcp.Tool) (string, bool) {
			kind, _ := jsonscan.Text(jsonscan.Member(t.InputSchema, "type"))
			return "", t.InputSchema != nil && kind != "object"
		}},
	{Warning, `tools whose outputSchema does not say "type": "object"`,
		"revisions before 2026-07-28 want it; their strict clients take no list with such a tool",
		func(t *mcp.Tool) (string, bool) {
			kind, _ := jsonscan.Text(jsonscan.Member(t.OutputSchema, "type"))
			return "", t.OutputSchema != nil && kind != "object"
		}},
	{Warning, "tools whose names are not 1 to 128 letters, digits, '_', '-' and '.'",
		"models and gateways may not take them", func(t *mcp.Tool) (string, bool) {
			return "", !mcp.ValidToolName(t.Name)
		}},
	{Warning, "tools whose names are longer than 64 bytes", "model providers refuse them",
		func(t *mcp.Tool) (string, bool) {
			return "", len(t.Name) > scan.MaxPortableName
		}},
	{Warning, "tools with properties that model providers refuse",
		"they take 1 to 64 letters, digits, '_', '.' and '-'",
		func(t *mcp.Tool) (string, bool) {
			names := scan.UnportableProperties(t.InputSchema)
			return strings.Join(names, ", "), names != nil
		}},
	{Warning, "tools without a description", "a model chooses by it",
		func(t *mcp.Tool) (string, bool) {
			return "", strings.TrimSpace(t.Description) == ""
		}},
}

// headerCheck checks x-mcp-header. Over HTTP a client must not use a tool in which it is invalid
// (2026-07-28, Streamable HTTP, "Custom Headers from Tool Parameters").
func headerCheck(overHTTP bool) toolCheck {
	check := toolCheck{Warning, "tools with a wrong x-mcp-header",
		"over HTTP they could not be used", func(t *mcp.Tool) (string, bool) {
			_, err := mcp.HeaderParams(t.InputSchema)
			if err == nil {
				return "", false
			}
			return err.Error(), true
		}}
	if overHTTP {
		check.severity, check.way = Broken, "a client must not offer them"
	}
	return check
}

// compileError returns why a schema does not compile, and whether the schema is wrong; it may also
// be one that cannot be checked here. A missing schema is valid.
func compileError(text json.RawMessage, harmless bool) (why string, wrong bool) {
	if text == nil {
		return "", false
	}
	_, err := schema.Compile(text)
	known := errors.Is(err, schema.ErrPattern) || errors.Is(err, schema.ErrDialect) ||
		errors.Is(err, schema.ErrReference) || errors.Is(err, schema.ErrLimit)
	if err == nil || known != harmless {
		return "", false
	}
	return err.Error(), true
}

// checkTools checks the definitions of tools and returns those that are valid JSON objects.
func (chart *Report) checkTools(list []byte, overHTTP bool) (definitions []json.RawMessage) {
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
	chart.addForTools(Broken, "tools that are none", unreadable, "")
	chart.addForTools(Broken, "tools that are there more than once", twice,
		"nobody can tell which is called")
	for _, check := range append(slices.Clone(toolChecks), headerCheck(overHTTP)) {
		var names []string
		for _, t := range tools {
			if detail, wrong := check.fault(t); wrong && detail != "" {
				names = append(names, fmt.Sprintf("%s (%s)", t.Name, detail))
			} else if wrong {
				names = append(names, t.Name)
			}
		}
		chart.addForTools(check.severity, check.what, names, check.way)
	}
	if overHTTP {
		definitions = slices.DeleteFunc(definitions, func(text json.RawMessage) bool {
			_, err := mcp.HeaderParams(jsonscan.Member(text, "inputSchema"))
			return err != nil
		})
	}
	return definitions
}

// addForTools adds a finding about some tools, unless names is empty.
func (chart *Report) addForTools(severity, what string, names []string, hint string) {
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

// comparePins adds what differs from the pins. It pins nothing.
func (chart *Report) comparePins(lock *pin.Lock, c *client.Client,
	all map[pin.Kind][]json.RawMessage, p *subject) {
	server, err := gateway.PinServer(chart.ID, c)
	if err != nil {
		chart.add(Warning, "it cannot be compared with what it was: "+err.Error(),
			"stdwire serve offers nothing of it")
		return
	}
	look := "stdwire serve withholds them; see stdwire pin diff " + p.arguments
	another := false
	for _, kind := range pin.Kinds() {
		things := string(kind) + "s"
		report, err := lock.Compare(server, kind, pin.Distinct(kind, all[kind]))
		if err != nil {
			chart.add(Warning, "its "+things+" cannot be compared with what they were: "+
				err.Error(), "stdwire serve offers none of them")
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
		if report.IdentityChange != "" && !another {
			another = true
			chart.add(Warning, "the identity of the server has changed: "+report.IdentityChange, look)
		}
		chart.addForTools(Warning, things+" that are not what they were when they were first used",
			changed, look)
		chart.addForTools(Warning, things+" that it did not have when it was first used", unseen,
			look)
		chart.addForTools(note, things+" that it has no more", report.Missing, "")
	}
}
