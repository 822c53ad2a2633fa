package configcmd

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A pinReport is how the definitions of a server differ from their pins.
type pinReport struct {
	Server      string            `json:"server"`
	Source      string            `json:"source,omitempty"`   // the file that defines it
	Identity    string            `json:"identity,omitempty"` // how it has changed
	Definitions []definitionState `json:"definitions"`
	Missing     []missing         `json:"missing,omitempty"`

	total int // number of definitions, those included that are as pinned
}

// A definitionState is a definition that is not as pinned.
type definitionState struct {
	Kind       mcp.Kind        `json:"kind"`
	Name       string          `json:"name"`
	State      pin.State       `json:"state"`
	Definition json.RawMessage `json:"definition"`
	Changes    []valueChange   `json:"changes,omitempty"` // none of a new definition

	shown []jsondiff.Change // of a new definition, all of it
}

type valueChange struct {
	Path string          `json:"path"`
	Old  json.RawMessage `json:"old,omitempty"`
	New  json.RawMessage `json:"new,omitempty"`
}

// missing is a pin without a definition.
type missing struct {
	Kind mcp.Kind `json:"kind"`
	Name string   `json:"name"`
}

// newPinReport returns the report on the definitions with these names, or on all.
func newPinReport(server pin.Server, all []comparison, names []string) *pinReport {
	r := &pinReport{Server: server.ID, Source: server.Source, Definitions: []definitionState{}}
	for _, c := range all {
		r.Identity = c.report.IdentityText()
		for i, v := range c.report.Verdicts {
			r.total++
			if v.Usable() || len(names) > 0 && !slices.Contains(names, v.Name) {
				continue
			}
			d := definitionState{Kind: c.kind, Name: v.Name, State: v.State,
				Definition: c.definitions[i], shown: v.Changes}
			for _, change := range v.Changes {
				d.Changes = append(d.Changes, valueChange{change.Path, json.RawMessage(change.Old),
					json.RawMessage(change.New)})
			}
			if v.State == pin.StateNew {
				d.shown = jsondiff.Compare([]byte("{}"), d.Definition)
			}
			r.Definitions = append(r.Definitions, d)
		}
		for _, name := range c.report.Missing {
			r.Missing = append(r.Missing, missing{c.kind, name})
		}
	}
	return r
}

func (r *pinReport) print(std *term.Streams) {
	if r.Identity != "" {
		std.Out.Print(fmt.Sprintf("the identity of the server has changed: %s\n", r.Identity))
	}
	for _, d := range r.Definitions {
		std.Out.Print(title(d.Kind, d.Name) + " is ")
		std.Out.PrintState(fmt.Sprintf("%s\n", d.State))
		d.printChanges(std)
	}
	for _, m := range r.Missing {
		std.Out.Print(title(m.Kind, m.Name) + " is not there any more\n")
	}
	if len(r.Definitions) == 0 && r.Missing == nil {
		std.Out.Print(fmt.Sprintf("%s: no difference from what was accepted (%s)\n", r.Server,
			command.Plural(r.total, "definition")))
	}
}

// title returns the name of a definition, after its kind unless it is a tool or the instructions.
func title(kind mcp.Kind, name string) string {
	name = printable.ExactName(name, 0)
	if kind == mcp.KindTool || kind == pin.Instructions {
		return name
	}
	return string(kind) + " " + name
}

// printChanges prints all that an accepting user accepts.
func (d *definitionState) printChanges(std *term.Streams) {
	for _, change := range d.shown {
		std.Out.PrintDiff("  " + change.String() + "\n")
	}
}
