package policy

import (
	"encoding/json"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Caller is who wants to do something. It must not be modified.
type Caller struct {
	// Known says that the caller has been authenticated. Of an unknown one only the Profile counts.
	Known    bool
	Issuer   string
	Subject  string
	ClientID string // of the OAuth client; "": unknown
	Groups   []string
	Scopes   []string
	Claims   map[string]json.RawMessage // by name; valid JSON
	Profile  string                     // whose endpoint he uses; "": the main one
}

// who has the conditions about a caller, all of which must hold. nil says nothing.
type who struct {
	text                                                 string   // as in the file
	issuers, subjects, groups, scopes, clients, profiles []string // any of them
	claims                                               []*condition
}

// String returns the conditions as in the file.
func (w *who) String() string {
	if w == nil {
		return ""
	}
	return w.text
}

// holds evaluates the conditions.
func (w *who) holds(c *Caller) outcomes {
	if w == nil {
		return isTrue
	}
	all := isTrue
	if w.profiles != nil {
		all = outcome(slices.Contains(w.profiles, c.Profile))
	}
	if !c.Known {
		if w.isAboutIdentity() {
			all = all.and(isUnclear)
		}
		return all
	}
	for _, one := range [...]struct {
		wanted []string
		has    string
	}{{w.issuers, c.Issuer}, {w.subjects, c.Subject}, {w.clients, c.ClientID}} {
		if one.wanted != nil && !slices.Contains(one.wanted, one.has) {
			return isFalse
		}
	}
	if w.groups != nil && !overlap(w.groups, c.Groups) ||
		w.scopes != nil && !overlap(w.scopes, c.Scopes) {
		return isFalse
	}
	for _, claim := range w.claims {
		value := valueOf(c.claim(claim.at))
		all = all.and(claim.holds(&value, c))
	}
	return all
}

// isAboutIdentity reports whether a condition needs a known caller.
func (w *who) isAboutIdentity() bool {
	return w.issuers != nil || w.subjects != nil || w.groups != nil || w.scopes != nil ||
		w.clients != nil || w.claims != nil
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(b, func(text string) bool { return slices.Contains(a, text) })
}

// claim returns the value of a claim, or nil if there is none that is unambiguous. What the
// identity has of its own counts in place of a claim of that name.
func (c *Caller) claim(at pointer) []byte {
	if !c.Known {
		return nil
	}
	var value []byte
	switch name := at[0]; {
	case name == "sub":
		value = jsonscan.AppendString(nil, c.Subject)
	case name == "iss":
		value = jsonscan.AppendString(nil, c.Issuer)
	case name == "client_id" && c.ClientID != "":
		value = jsonscan.AppendString(nil, c.ClientID)
	case name == "groups" && c.Claims[name] == nil && c.Groups != nil:
		value = texts(c.Groups)
	case name == "scope" && c.Claims[name] == nil && c.Scopes != nil:
		value = texts(c.Scopes)
	default:
		value = c.Claims[name]
	}
	return at[1:].in(value)
}

// texts returns a JSON array.
func texts(all []string) []byte {
	array := []byte{'['}
	for _, text := range all {
		array = jsonscan.AppendElement(array, jsonscan.AppendString(nil, text))
	}
	return append(array, ']')
}
