// Package scan looks through what MCP servers offer for what could mislead a model or a user: text that is not seen, instructions that have no place in a definition, names that are
// taken for others, combinations of tools that carry data away. It looks at the definitions alone: nothing is called, sent or stored.
//
//	findings := scan.Scan([]scan.Server{{ID: "files", Handshake: result, Tools: tools}})
//	for _, f := range findings {
//		if f.Severity >= scan.High {
//			…
//		}
//	}
//
// # What is looked at
//
// Every string of every definition, names of members, schemas and annotations included, and of what the server said in the handshake, of which its instructions are a part; and the
// configuration that the server is started with, for secrets. [Rules] has what is looked for. All servers are to be given at once: some of the rules are about several of them.
//
// # What it cannot know
//
// Rules for instructions are patterns of English, read as a model would read them: without what is hidden, and with letters that look like others taken for them. Who words it
// differently is not found. What tools do is guessed from their names and arguments. So no findings do not mean that a server is to be trusted, and one below [High] does not mean that
// it is not. [github.com/stdwire/stdwire/client/host/pin] tells when a definition has changed since it was looked at.
//
// # Limits
//
// Of a text 16 KiB are looked at; of a server 4 MiB of text, with the names that lead to it, and 5,000 definitions; of each of them 2,000 strings. That there is more is a finding: nothing
// goes unlooked at in silence. There is one finding of a rule at a place, 10 of a rule in one definition, and 2,000 altogether: the worst.
package scan

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// A Server is what is known of one server.
type Server struct {
	ID        string          // by which it is known here
	Handshake json.RawMessage // the result of initialize or server/discover; nil if it was not asked
	Config    Config          // how it is reached

	// The definitions, and the Handshake, are as the server wrote them.
	Tools     []json.RawMessage
	Prompts   []json.RawMessage
	Resources []json.RawMessage
	Templates []json.RawMessage // of resources
}

const (
	maxText        = 16 << 10 // bytes of a string
	maxServerText  = 4 << 20  // bytes of all strings of a server, and of their paths
	maxDefinitions = 5000     // of a server
	maxStrings     = 2000     // of a definition
	maxOfRule      = 10       // findings of a rule in a definition
	maxFindings    = 2000
)

// Scan returns what there is to be said of servers, the worst first; of the same severity, in the order of the servers and of what they offer. Nothing is changed. It may be called from
// anywhere at any time; the time it takes is in proportion to the text, some seconds for each MiB of what is made to take long.
func Scan(servers []Server) []Finding {
	w := newWorld(servers)
	rules := table()
	for _, s := range w.servers {
		w.server(s, rules)
	}
	for _, r := range rules {
		if r.world != nil {
			for _, f := range r.world(w) {
				w.add(r, f)
			}
		}
	}
	w.trim()
	return w.findings
}

// A world is all servers, and what has been found so far.
type world struct {
	servers  []*subject
	mentions map[string][]mention // what a text may mention
	findings []Finding
}

// A subject is a server that is looked at.
type subject struct {
	*Server
	definitions []*definition
	beyond      []Finding // what is not looked at
	text        int       // bytes that may still be looked at
}

func newWorld(servers []Server) *world {
	w := &world{}
	for i := range servers {
		s := &subject{Server: &servers[i], text: maxServerText}
		s.read()
		w.servers = append(w.servers, s)
	}
	w.mentions = mentions(w.servers)
	return w
}

// read takes a server's definitions apart.
func (s *subject) read() {
	if s.Handshake != nil {
		s.definitions = append(s.definitions, s.define(KindServer, s.Handshake))
	}
	for _, list := range []struct {
		kind Kind
		raw  []json.RawMessage
	}{{KindTool, s.Tools}, {KindPrompt, s.Prompts}, {KindResource, s.Resources}, {KindTemplate, s.Templates}} {
		for _, raw := range list.raw {
			if len(s.definitions) == maxDefinitions {
				s.skipped(KindServer, "", "", "the server offers more than 5,000 things; the others are not looked at")
				return
			}
			s.definitions = append(s.definitions, s.define(list.kind, raw))
		}
	}
}

// skipped notes that something is not looked at.
func (s *subject) skipped(kind Kind, name, where, what string) {
	f := Finding{Rule: ruleTooLarge, Severity: Medium, Place: Place{s.ID, kind, name, where}, What: what}
	// One of each kind of limit at a place is enough.
	if !slices.ContainsFunc(s.beyond, func(b Finding) bool { return b.Place == f.Place && b.What == f.What }) && len(s.beyond) < maxOfRule {
		s.beyond = append(s.beyond, f)
	}
}

// server goes through one server's definitions.
func (w *world) server(s *subject, rules []rule) {
	for _, r := range rules {
		switch {
		case r.ID == ruleTooLarge:
			for _, f := range s.beyond {
				w.add(r, f)
			}
		case r.config != nil:
			for _, f := range r.config(s.Server) {
				w.add(r, f)
			}
		}
	}
	for _, d := range s.definitions {
		var found []Finding
		for _, r := range rules {
			of := r.within(w, d)
			for i := range of {
				of[i].Rule = r.ID
			}
			found = append(found, of...)
		}
		w.escalate(found, rules)
	}
}

// within returns the findings of a rule in one definition.
func (r *rule) within(w *world, d *definition) (found []Finding) {
	if r.definition != nil {
		found = r.definition(w, d)
	}
	if r.text == nil {
		return found[:min(len(found), maxOfRule)]
	}
	for i := range d.texts {
		t := &d.texts[i]
		if f, ok := r.text(w, d, t); ok {
			f.Place = d.place(t.where)
			found = append(found, f)
		}
		if len(found) == maxOfRule {
			break
		}
	}
	return found
}

// escalate adds the findings of one definition. Where several things come together that each may have a reason, there is none any more: what is high becomes critical.
func (w *world) escalate(found []Finding, rules []rule) {
	byID := func(id string) rule { return rules[slices.IndexFunc(rules, func(r rule) bool { return r.ID == id })] }
	kinds := map[string]bool{}
	for _, f := range found {
		if byID(f.Rule).poison && f.Severity >= Medium {
			kinds[f.Rule] = true
		}
	}
	for _, f := range found {
		r := byID(f.Rule)
		if r.poison && f.Severity == High && len(kinds) > 1 {
			f.Severity = Critical
		}
		w.add(r, f)
	}
}

// add makes a finding whole, and fit to be printed.
func (w *world) add(r rule, f Finding) {
	f.Rule, f.Advice = r.ID, cmp.Or(f.Advice, r.Advice)
	f.Place = f.Place.shown()
	f.Related = slices.Clone(f.Related)
	for i := range f.Related {
		f.Related[i] = f.Related[i].shown()
	}
	f.What, f.Evidence = shown(strings.ToUpper(f.What[:1])+f.What[1:], maxSentence)+".", shown(f.Evidence, maxEvidence)
	if w.findings = append(w.findings, f); len(w.findings) > 4*maxFindings {
		w.trim()
	}
}

// trim sorts the findings, and leaves the worst.
func (w *world) trim() {
	slices.SortStableFunc(w.findings, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	w.findings = w.findings[:min(len(w.findings), maxFindings)]
}
