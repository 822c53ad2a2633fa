// Package gatewaytext tells users what a gateway does not offer: withheld definitions, and changes
// of the configuration that wait for them.
package gatewaytext

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/host/gateway"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/internal/printable"
)

// withheldReasons maps reasons to explanations and remedies; %s is the detail, and the id of the
// server.
var withheldReasons = map[gateway.Reason]struct{ why, remedy string }{
	gateway.ReasonChanged:  {"it has changed since it was first used (%s)", pinRemedy},
	gateway.ReasonNew:      {"it is new since its server was first used%s", pinRemedy},
	gateway.ReasonIdentity: {"the identity of its server has changed (%s)", pinRemedy},
	gateway.ReasonCollision: {"the server %s, which is earlier in the configuration, also has it",
		"remove it from one of the two, or remove one of the servers from the configuration"},
	gateway.ReasonUnusable: {"it cannot be used: %s", "stdwire doctor %s may show the cause"},
}

const pinRemedy = "review it with stdwire pin diff -s %[1]s, and to accept it: stdwire pin accept -s %[1]s" +
	", for the server of %[2]s"

// maxDetail is how many characters of a detail are shown. A change of a definition, which shows 200
// characters of its path and of each value, is shorter.
const maxDetail = 800

// DescribeWithheld returns a withheld definition of the server of that id and file, with its
// explanation and remedy.
func DescribeWithheld(id, file string, w gateway.WithheldItem) ops.WithheldItem {
	r := withheldReasons[w.Reason]
	remedy := r.remedy
	switch {
	case remedy == pinRemedy:
		remedy = fmt.Sprintf(remedy, id, file)
	case strings.Contains(remedy, "%"):
		remedy = fmt.Sprintf(remedy, id)
	}
	return ops.WithheldItem{Kind: string(w.Kind), Name: w.Name, Reason: string(w.Reason),
		Why: fmt.Sprintf(r.why, printable.TruncateRunes(w.Detail, maxDetail)), Remedy: remedy}
}

// WithheldLines describes the withheld definitions of a server. It calls a collision of names an
// error, because only the user can decide which server keeps the name.
func WithheldLines(s ops.Status) string {
	var b strings.Builder
	var remedies []string
	for _, w := range s.Withheld {
		severity := "withheld"
		if w.Reason == string(gateway.ReasonCollision) {
			severity = "error"
		}
		what := w.Kind + " " + printable.TruncateRunes(printable.Line(w.Name), 200)
		if w.Kind == w.Name { // the instructions
			what = w.Kind
		}
		fmt.Fprintf(&b, "    %s: %s is not offered: %s\n", severity, what, printable.Line(w.Why))
		if !slices.Contains(remedies, w.Remedy) {
			remedies = append(remedies, w.Remedy)
		}
	}
	if s.WithheldMore > 0 {
		fmt.Fprintf(&b, "    withheld: %d more\n", s.WithheldMore)
	}
	for _, remedy := range remedies {
		fmt.Fprintf(&b, "      → %s\n", printable.Line(remedy))
	}
	return b.String()
}
