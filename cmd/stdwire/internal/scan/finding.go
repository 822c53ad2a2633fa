package scan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Severity rates a finding. Greater values are worse.
type Severity int

const (
	Info     Severity = iota // also found in ordinary documentation
	Low                      // mostly harmless
	Medium                   // needs a review
	High                     // rarely harmless
	Critical                 // intended to mislead
)

var severities = []string{"info", "low", "medium", "high", "critical"}

func (s Severity) String() string { return severities[s] }

// MarshalText returns the name of the severity.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the result of MarshalText.
func (s *Severity) UnmarshalText(text []byte) error {
	i := slices.Index(severities, string(text))
	if i < 0 {
		return fmt.Errorf("%.50q is not one of %s", text, strings.Join(Severities(), ", "))
	}
	*s = Severity(i)
	return nil
}

// Severities returns the names of all severities, the worst first.
func Severities() []string {
	names := slices.Clone(severities)
	slices.Reverse(names)
	return names
}

// Findings are about items of servers and about these two.
const (
	kindServer = "server" // its handshake, or the server as a whole
	kindConfig = "config" // the server's configuration
)

// A Place is the location of a finding.
type Place struct {
	Server string `json:"server"`         // its ID
	Kind   string `json:"kind"`           // [mcp.KindInfo].Short, "server" or "config"
	Name   string `json:"name,omitempty"` // of the tool, prompt, resource or template

	// Where is the path in the definition, such as inputSchema.properties.path.description, or ""
	// for the whole definition.
	Where string `json:"where,omitempty"`
}

// Is reports whether a place is in a definition, or in another of the same name.
func (p Place) Is(kind mcp.Kind, definition []byte) bool {
	name, _ := jsonscan.Text(jsonscan.Member(definition, nameMember(kind)))
	return name != "" && p.Kind == kind.Info().Short && p.Name == printableText(name, maxName)
}

// String returns a line such as "tool read, inputSchema.properties.path.description".
func (p Place) String() string {
	text := p.Kind
	if p.Name != "" {
		text += " " + p.Name
	}
	if p.Where != "" {
		text += ", " + p.Where
	}
	return text
}

func (p Place) printableText() Place {
	p.Server, p.Name, p.Where = printableText(p.Server, maxName), printableText(p.Name, maxName),
		printableText(p.Where, maxWhere)
	return p
}

// A Finding is a result of a rule. Its strings are printable and have one line each; invisible
// characters are escaped.
type Finding struct {
	Rule     string   `json:"rule"` // its ID
	Severity Severity `json:"severity"`
	Place
	What     string  `json:"what"`               // a sentence
	Evidence string  `json:"evidence,omitempty"` // the text that matched; never a secret
	Related  []Place `json:"related,omitempty"`  // other places involved
	Advice   string  `json:"advice"`             // a remedy
}

// Fingerprint returns 32 hexadecimal digits that identify the finding. They are the same in every
// run, and do not depend on the sentences What and Advice, which may change with the version.
func (f *Finding) Fingerprint() string {
	h := sha256.New()
	parts := []string{f.Rule, f.Server, f.Kind, f.Name, f.Where, f.Evidence}
	for _, related := range f.Related {
		parts = append(parts, related.Server, related.String())
	}
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Ignored reports whether ignore selects the finding. ignore is RULE, RULE:SERVER or
// RULE:SERVER:NAME.
func (f *Finding) Ignored(ignore string) bool {
	return ignore == f.Rule || ignore == f.Rule+":"+f.Server ||
		ignore == f.Rule+":"+f.Server+":"+f.Name
}
