package web

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/scan"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/paramheader"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// definitions are the lists of a server, with the findings of the scan and the state of the pins.
type definitions struct {
	Lists    map[mcp.Kind][]definition   `json:"lists"`              // without those that failed
	Problems map[mcp.Kind]*reply.Problem `json:"problems,omitempty"` // lists that failed
	Pins     *reply.Problem              `json:"pins,omitempty"`     // why they were not compared
	Identity string                      `json:"identity,omitempty"` // see [pin.Report.IdentityText]
	Findings []scan.Finding              `json:"findings"`           // about the server as a whole
}

// A definition is a tool, prompt, resource or template, as the server wrote it.
type definition struct {
	Definition json.RawMessage  `json:"definition"`
	Denied     bool             `json:"denied,omitempty"` // by the configuration
	Pin        pin.State        `json:"pin,omitempty"`    // "" if the kind was never pinned
	Diff       []reply.DiffLine `json:"diff,omitempty"`   // to the pin
	Findings   []scan.Finding   `json:"findings,omitempty"`

	Offered *offered `json:"offered,omitempty"` // if overrides of the configuration change it

	// Of a tool:
	Tokens      int                `json:"tokens,omitempty"`   // about, for a model that gets it
	Excluded    string             `json:"excluded,omitempty"` // why a client must not offer it
	Headers     []headerArgument   `json:"headers,omitempty"`
	Portability []portabilityIssue `json:"portability,omitempty"`
}

// A headerArgument is an argument that is also sent as an HTTP header.
type headerArgument struct {
	Argument string `json:"argument"`
	Header   string `json:"header"`
}

// A portabilityIssue is a feature of a tool's schema that hosts must convert for the API of a
// model.
type portabilityIssue struct {
	What   string          `json:"what"`
	Places []scan.Obstacle `json:"places"`
}

// An offered definition is what a gateway offers in place of the server's own.
type offered struct {
	Name   string           `json:"name,omitempty"` // without the prefix of the gateway
	Hidden bool             `json:"hidden,omitempty"`
	Diff   []reply.DiffLine `json:"diff,omitempty"`
	Why    string           `json:"why,omitempty"` // why the gateway cannot change it so
}

// describeTool sets the fields of a definition that only tools have. overHTTP says that the server
// is at a URL and of the modern era.
func (d *definition) describeTool(overHTTP bool) {
	d.Tokens = output.CostOf(output.DefinitionBytes(d.Definition)).Tokens
	schema := jsonscan.Member(d.Definition, "inputSchema")
	headers, err := paramheader.Of(schema)
	switch {
	case err != nil && overHTTP:
		d.Excluded = "a client must not offer it: " + err.Error()
	case err != nil:
		d.Excluded = "a client must not offer it over HTTP: " + err.Error()
	case overHTTP:
		for _, h := range headers {
			d.Headers = append(d.Headers, headerArgument{strings.Join(h.Path, "."),
				paramheader.Prefix + h.Header})
		}
	}
	name, _ := jsonscan.Text(jsonscan.Member(d.Definition, "name"))
	for _, r := range scan.PortabilityRules() {
		if !r.Converted { // a finding of the scan
			continue
		}
		if places := r.Find(name, schema); places != nil {
			d.Portability = append(d.Portability, portabilityIssue{r.What, places})
		}
	}
}

const listTimeout = 30 * time.Second // for all lists of a server

// definitions lists what a server offers, and compares it with its pins.
func (s *servers) definitions(ctx context.Context, id string) (*definitions, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	all := &definitions{Lists: map[mcp.Kind][]definition{}, Problems: map[mcp.Kind]*reply.Problem{},
		Findings: []scan.Finding{}}
	err := s.use(ctx, id, func(srv *server, c *client.Client) error {
		raw := map[mcp.Kind][]json.RawMessage{}
		for kind := range mcp.Kinds() {
			list, err := gateway.Definitions(ctx, c, kind)
			if err != nil {
				all.Problems[kind] = reply.ProblemOf(err)
				continue
			}
			raw[kind], all.Lists[kind] = list, make([]definition, 0, len(list))
			for _, text := range list {
				d := definition{Definition: text}
				if kind == mcp.KindTool {
					d.Denied = !srv.filter.Allows(kind.KeyOf(text))
					d.describeTool(srv.url != "" && c.Era() == mcp.Modern)
				}
				all.Lists[kind] = append(all.Lists[kind], d)
			}
			all.override(kind, list, srv.upstream.Overrides)
		}
		all.comparePins(srv, c, raw)
		delete(raw, mcp.KindApp) // pages and files are not read for a scan
		delete(raw, mcp.KindSkill)
		all.scan(scan.Server{ID: id, Handshake: c.Handshake().Result, Config: srv.config,
			Lists: raw})
		return nil
	})
	return all, err
}

// override sets what a gateway offers in place of the definitions of a kind.
func (all *definitions) override(kind mcp.Kind, list []json.RawMessage,
	o map[string]host.Override) {
	if len(o) == 0 {
		return
	}
	now, refused := gateway.Overridden(kind, list, o)
	for i, text := range list {
		d, own := &all.Lists[kind][i], kind.KeyOf(text)
		if text, found := now[own]; found {
			d.Offered = &offered{Hidden: text == nil}
			if text != nil {
				d.Offered.Name = kind.KeyOf(text)
				d.Offered.Diff = reply.DiffOf(jsondiff.Diff(d.Definition, text))
			}
		} else if err := refused[own]; err != nil {
			d.Offered = &offered{Why: err.Error()}
		}
	}
}

// comparePins compares the definitions with their pins.
func (all *definitions) comparePins(srv *server, c *client.Client,
	raw map[mcp.Kind][]json.RawMessage) {
	lock, err := target.OpenPins()
	if err != nil {
		all.Pins = reply.ProblemOf(err)
		return
	}
	s, err := target.PinServer(srv.id, srv.upstream.Source, c)
	if err != nil {
		all.Pins = reply.ProblemOf(err)
		return
	}
	for kind, list := range raw {
		report, err := lock.Compare(s, kind, list)
		if err != nil {
			all.Pins = reply.ProblemOf(err)
			return
		}
		if report.First {
			continue
		}
		all.Identity = report.IdentityText()
		for i, v := range report.Verdicts {
			d := &all.Lists[kind][i]
			d.Pin, d.Diff = v.State, reply.DiffOf(v.Changes)
		}
	}
}

// scan adds the findings of stdwire scan to the definitions.
func (all *definitions) scan(s scan.Server) {
	for _, f := range scan.Scan([]scan.Server{s}) {
		if d := all.at(f.Place); d != nil {
			d.Findings = append(d.Findings, f)
		} else {
			all.Findings = append(all.Findings, f)
		}
	}
}

// at returns the definition at the place of a finding, or nil for another place.
func (all *definitions) at(p scan.Place) *definition {
	for kind, list := range all.Lists {
		for i := range list {
			if p.Is(kind, list[i].Definition) {
				return &list[i]
			}
		}
	}
	return nil
}

// accept pins the definitions with these names as they are now.
func (s *servers) accept(ctx context.Context, id string, kind mcp.Kind, names []string) error {
	if kind.Info().Key == "" || len(names) == 0 {
		return command.BadArgs("a kind and names are required")
	}
	return s.use(ctx, id, func(srv *server, c *client.Client) error {
		lock, err := target.OpenPins()
		if err != nil {
			return err
		}
		server, err := target.PinServer(id, srv.upstream.Source, c)
		if err != nil {
			return err
		}
		list, err := gateway.Definitions(ctx, c, kind)
		if err != nil {
			return err
		}
		return lock.Accept(server, kind, list, names...)
	})
}
