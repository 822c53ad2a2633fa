package scan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// A Severity says how bad a finding is. They can be compared: a worse one is greater.
type Severity int

const (
	Info     Severity = iota // worth knowing to who looks closely; ordinary documentation has it too
	Low                      // mostly harmless
	Medium                   // to be looked at
	High                     // hard to explain by anything harmless
	Critical                 // somebody means to mislead
)

var severities = []string{"info", "low", "medium", "high", "critical"}

func (s Severity) String() string { return severities[s] }

// MarshalText gives the name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes what MarshalText gives.
func (s *Severity) UnmarshalText(text []byte) error {
	i := slices.Index(severities, string(text))
	if i < 0 {
		return fmt.Errorf("%.50q is none of %s", text, strings.Join(Severities(), ", "))
	}
	*s = Severity(i)
	return nil
}

// Severities are the names of all, the worst first.
func Severities() []string {
	names := slices.Clone(severities)
	slices.Reverse(names)
	return names
}

// A Kind is what a finding is about.
type Kind string

const (
	KindServer   Kind = "server" // what it said in the handshake, or all of it
	KindTool     Kind = "tool"
	KindPrompt   Kind = "prompt"
	KindResource Kind = "resource"
	KindTemplate Kind = "template" // of resources
	KindConfig   Kind = "config"   // how the server is reached
)

// A Place is where something was found.
type Place struct {
	Server string `json:"server"` // its ID
	Kind   Kind   `json:"kind"`
	Name   string `json:"name,omitempty"`  // of the tool, prompt, resource or template
	Where  string `json:"where,omitempty"` // in its definition: inputSchema.properties.path.description; "" for all of it
}

// String shows a place on one line: tool read, inputSchema.properties.path.description.
func (p Place) String() string {
	text := string(p.Kind)
	if p.Name != "" {
		text += " " + p.Name
	}
	if p.Where != "" {
		text += ", " + p.Where
	}
	return text
}

func (p Place) shown() Place {
	p.Server, p.Name, p.Where = shown(p.Server, maxName), shown(p.Name, maxName), shown(p.Where, maxWhere)
	return p
}

// A Finding is one thing that was found. All of it is fit to be printed, on one line each: what is invisible is spelled as an escape.
type Finding struct {
	Rule     string   `json:"rule"` // its ID
	Severity Severity `json:"severity"`
	Place
	What     string  `json:"what"`               // a sentence
	Evidence string  `json:"evidence,omitempty"` // the text that it is about; never a secret
	Related  []Place `json:"related,omitempty"`  // the others that it is about
	Advice   string  `json:"advice"`             // what to do about it
}

// Fingerprint tells findings apart, the same in every run as long as what was found is the same. It is 32 hexadecimal digits.
func (f *Finding) Fingerprint() string {
	h := sha256.New()
	for _, part := range []string{f.Rule, f.Server, string(f.Kind), f.Name, f.Where, f.What, f.Evidence} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Ignored reports whether somebody has looked at the finding and wants it left out: if ignore is RULE, RULE:SERVER or RULE:SERVER:NAME, as they are in the finding.
func (f *Finding) Ignored(ignore string) bool {
	return ignore == f.Rule || ignore == f.Rule+":"+f.Server || ignore == f.Rule+":"+f.Server+":"+f.Name
}
