package scan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// SARIF returns findings as a log in the Static Analysis Results Interchange Format (OASIS SARIF
// 2.1.0). Each is a result at a logical location, because servers have no files; its partial
// fingerprint is the [Finding.Fingerprint]. Critical and high findings are errors, medium ones
// warnings, others notes; the severity is a property of the result. version is the version of the
// scanning program.
func SARIF(findings []Finding, version string) ([]byte, error) {
	type (
		message struct {
			Text string `json:"text"`
		}
		level struct {
			Level string `json:"level"`
		}
		ruleJSON struct {
			ID      string         `json:"id"`
			Name    string         `json:"name"`
			Short   message        `json:"shortDescription"`
			Full    message        `json:"fullDescription"`
			Help    message        `json:"help"`
			Default level          `json:"defaultConfiguration"`
			More    map[string]any `json:"properties"`
		}
		driver struct {
			Name    string     `json:"name"`
			Version string     `json:"version"`
			URI     string     `json:"informationUri"`
			Rules   []ruleJSON `json:"rules"`
		}
		logical struct {
			Name string `json:"name"`
			Full string `json:"fullyQualifiedName"`
			Kind string `json:"kind"`
		}
		location struct {
			ID      *int      `json:"id,omitempty"`
			Logical []logical `json:"logicalLocations"`
		}
		result struct {
			Rule      string            `json:"ruleId"`
			Index     int               `json:"ruleIndex"`
			Level     string            `json:"level"`
			Message   message           `json:"message"`
			Locations []location        `json:"locations"`
			Related   []location        `json:"relatedLocations,omitempty"`
			Partial   map[string]string `json:"partialFingerprints"`
			More      map[string]string `json:"properties"`
		}
		tool struct {
			Driver driver `json:"driver"`
		}
		run struct {
			Tool    tool     `json:"tool"`
			Results []result `json:"results"`
		}
	)
	d := driver{Name: "stdwire", Version: version, URI: "https://github.com/stdwire/stdwire"}
	for _, r := range Rules() {
		d.Rules = append(d.Rules, ruleJSON{
			r.ID, camel(r.ID), message{r.Title}, message{r.Help}, message{r.Help + " " + r.Advice},
			level{sarifSeverities[r.Severity].level},
			map[string]any{"security-severity": sarifSeverities[r.Severity].score,
				"tags": []string{"security", "mcp"}},
		})
	}
	at := func(p Place) location {
		name, full := p.Name, []string{p.Server, p.Kind}
		name = cmp.Or(name, p.Server)
		for _, part := range []string{p.Name, p.Where} {
			if part != "" {
				full = append(full, part)
			}
		}
		return location{Logical: []logical{{name, strings.Join(full, "/"), p.Kind}}}
	}
	results := []result{}
	for i := range findings {
		f := &findings[i]
		text := f.What
		if f.Evidence != "" {
			text += " Evidence: " + f.Evidence
		}
		r := result{
			Rule: f.Rule, Index: slices.IndexFunc(d.Rules, func(r ruleJSON) bool {
				return r.ID == f.Rule
			}), Level: sarifSeverities[f.Severity].level, Message: message{text},
			Locations: []location{at(f.Place)},
			Partial:   map[string]string{"stdwireScan/v1": f.Fingerprint()},
			More:      map[string]string{"severity": f.Severity.String()},
		}
		for n, p := range f.Related {
			l := at(p)
			l.ID = &n
			r.Related = append(r.Related, l)
		}
		results = append(results, r)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(map[string]any{
		"$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		"version": "2.1.0",
		"runs":    []run{{tool{d}, results}},
	})
	return bytes.TrimSpace(b.Bytes()), err
}

// sarifSeverities has the level of each Severity, and the score by which some consumers sort.
var sarifSeverities = [...]struct{ level, score string }{
	{"note", "0.0"}, {"note", "3.0"}, {"warning", "5.5"}, {"error", "8.0"}, {"error", "9.5"},
}
