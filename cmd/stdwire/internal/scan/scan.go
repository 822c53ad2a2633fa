// Package scan checks the definitions of MCP servers for content that could mislead a model or a
// user: invisible text, instructions to the model, names that imitate others, combinations of tools
// that can exfiltrate data. It reads definitions only: it does not call tools, send or store data.
//
//	findings := scan.Scan([]scan.Server{{ID: "files", Handshake: result, Lists: lists}})
//	for _, f := range findings {
//		if f.Severity >= scan.High {
//			…
//		}
//	}
//
// # What is checked
//
// Scan checks every string of every definition, including member names, schemas and annotations,
// of the files of skills, and of the handshake, which contains the server's instructions. It checks
// the server's configuration for secrets. [Rules] lists the checks. All servers must be passed in
// one call, because some rules compare servers.
//
// # What it cannot detect
//
// Rules for instructions are patterns of English text, normalized to what a model reads: without
// hidden characters, and with look-alike letters replaced. Other wordings are not found. The
// effects of tools are guessed from their names and arguments. So a server without findings is not
// necessarily trustworthy, and a finding below [High] does not prove that it is not. Package
// [github.com/stdwire/stdwire/internal/pin] detects changes of a definition after its review.
//
// # Limits
//
// Scan reads 16 KiB of a string; 2,000 strings of a definition; and 5,000 definitions and 4 MiB of
// text, paths included, of a server. Exceeding a limit is itself a finding. Scan returns one
// finding of a rule at a place, 10 of a rule in one definition, and the worst 2,000 in total.
package scan

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Server is the input of a scan for one server.
type Server struct {
	ID        string          // its ID in the configuration
	Handshake json.RawMessage // the result of initialize or server/discover; nil if unknown
	Config    Config          // how it is reached

	// Lists has the definitions, like Handshake the JSON that the server wrote; of skills, the
	// entries.
	Lists map[mcp.Kind][]json.RawMessage
	Files []File // of the skills
	Apps  []App
}

const (
	maxText        = 16 << 10 // bytes of a string
	maxServerText  = 4 << 20  // bytes of all strings of a server, and of their paths
	maxDefinitions = 5000     // of a server
	maxStrings     = 2000     // of a definition
	maxPerRule     = 10       // findings of a rule in a definition
	maxPerServer   = 100      // findings of a rule in all of a server that is no definition
	maxFindings    = 2000
)

// Scan returns the findings for servers, the worst first; findings of the same severity are in the
// order of the servers and their definitions. It does not modify its argument and may be called
// concurrently. Its time is linear in the size of the text: some seconds per MiB in the worst case.
func Scan(servers []Server) []Finding {
	sc := newScanner(servers)
	rules := ruleTable()
	for _, s := range sc.servers {
		sc.server(s, rules)
	}
	for _, r := range rules {
		if r.scanner != nil {
			for _, f := range r.scanner(sc) {
				sc.add(r, f)
			}
		}
	}
	sc.trim()
	return sc.findings
}

// A scanner holds all servers and the findings so far.
type scanner struct {
	servers      []*scannedServer
	mentionIndex map[string][]mention // see the function mentionIndex
	findings     []Finding
}

// A scannedServer is a server with its parsed definitions.
type scannedServer struct {
	*Server
	definitions   []*definition
	limitFindings []Finding // findings about limits exceeded
	text          int       // number of bytes that may still be read
}

func newScanner(servers []Server) *scanner {
	sc := &scanner{}
	for i := range servers {
		s := &scannedServer{Server: &servers[i], text: maxServerText}
		s.read()
		sc.servers = append(sc.servers, s)
	}
	sc.mentionIndex = mentionIndex(sc.servers)
	return sc
}

// read parses the server's definitions.
func (s *scannedServer) read() {
	if s.Handshake != nil {
		s.definitions = append(s.definitions, s.newDefinition(kindServer, s.Handshake))
	}
	for kind := range mcp.Kinds() {
		for _, raw := range s.Lists[kind] {
			if len(s.definitions) == maxDefinitions {
				s.skipped(kindServer, "", "",
					"the server offers more than 5,000 definitions; the others are not scanned")
				return
			}
			s.definitions = append(s.definitions, s.newDefinition(kind, raw))
		}
	}
	for _, f := range s.Files {
		s.definitions = append(s.definitions, s.newFile(f))
	}
}

// skipped records that a limit was exceeded.
func (s *scannedServer) skipped(kind mcp.Kind, name, where, what string) {
	f := Finding{Rule: ruleTooLarge, Severity: Medium,
		Place: Place{s.ID, kind.Info().Short, name, where}, What: what}
	// One finding for each limit at a place is enough.
	if !slices.ContainsFunc(s.limitFindings, func(b Finding) bool {
		return b.Place == f.Place && b.What == f.What
	}) && len(s.limitFindings) < maxPerRule {
		s.limitFindings = append(s.limitFindings, f)
	}
}

// server checks one server.
func (sc *scanner) server(s *scannedServer, rules []rule) {
	for _, r := range rules {
		switch {
		case r.ID == ruleTooLarge:
			for _, f := range s.limitFindings {
				sc.add(r, f)
			}
		case r.config != nil:
			for _, f := range r.config(s.Server) {
				sc.add(r, f)
			}
		case r.app != nil:
			for i := range s.Apps {
				for _, f := range r.app(s.ID, &s.Apps[i]) {
					sc.add(r, f)
				}
			}
		}
	}
	for _, d := range s.definitions {
		var found []Finding
		for _, r := range rules {
			ruleFindings := r.check(sc, d)
			for i := range ruleFindings {
				ruleFindings[i].Rule = r.ID
			}
			found = append(found, ruleFindings...)
		}
		sc.escalate(found, rules)
	}
}

// check returns the findings of a rule in one definition.
func (r *rule) check(sc *scanner, d *definition) (found []Finding) {
	if r.definition != nil {
		found = r.definition(sc, d)
	}
	if r.text == nil {
		return found[:min(len(found), maxPerRule)]
	}
	for i := range d.texts {
		t := &d.texts[i]
		if f, ok := r.text(sc, d, t); ok {
			f.Place = d.place(t.where)
			found = append(found, f)
		}
		if len(found) == maxPerRule {
			break
		}
	}
	return found
}

// escalate adds the findings of one definition. If several rules about injected text match it, its
// high findings become critical, because innocent reasons for all of them are unlikely.
func (sc *scanner) escalate(found []Finding, rules []rule) {
	byID := func(id string) rule {
		return rules[slices.IndexFunc(rules, func(r rule) bool { return r.ID == id })]
	}
	kinds := map[string]bool{}
	for _, f := range found {
		if byID(f.Rule).injection && f.Severity >= Medium {
			kinds[f.Rule] = true
		}
	}
	for _, f := range found {
		r := byID(f.Rule)
		if r.injection && f.Severity == High && len(kinds) > 1 {
			f.Severity = Critical
		}
		sc.add(r, f)
	}
}

// add completes a finding, makes it printable, and stores it.
func (sc *scanner) add(r rule, f Finding) {
	f.Rule, f.Advice = r.ID, cmp.Or(f.Advice, r.Advice)
	f.Place = f.Place.printableText()
	f.Related = slices.Clone(f.Related)
	for i := range f.Related {
		f.Related[i] = f.Related[i].printableText()
	}
	f.What, f.Evidence = printableText(strings.ToUpper(f.What[:1])+f.What[1:], maxSentence)+".",
		printableText(f.Evidence, maxEvidence)
	if sc.findings = append(sc.findings, f); len(sc.findings) > 4*maxFindings {
		sc.trim()
	}
}

// trim sorts the findings and keeps the worst.
func (sc *scanner) trim() {
	slices.SortStableFunc(sc.findings,
		func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	sc.findings = sc.findings[:min(len(sc.findings), maxFindings)]
}
