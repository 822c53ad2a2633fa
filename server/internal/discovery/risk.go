package discovery

import (
	"fmt"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A Risk is what a tool may do, as its annotations say. A missing hint counts as the worst.
type Risk int

const (
	Unknown     Risk = iota // not a risk
	Read                    // the tool changes nothing
	Write                   // it changes something and destroys nothing
	Destructive             // it may do anything
)

// risks says which tool calls the tools of a risk and of the lower ones.
var risks = [...]struct{ caller, title, permits, annotations string }{
	Read: {"call_tool_read", "Call a read-only tool", "read-only tools (readOnlyHint is true)",
		`{"readOnlyHint":true,"openWorldHint":true}`},
	Write: {"call_tool_write", "Call a tool that writes",
		"tools that destroy nothing (destructiveHint is false)",
		`{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":true}`},
	Destructive: {"call_tool_destructive", "Call any tool", "tools",
		`{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":true}`},
}

// RiskOf returns the risk of the tool with this definition.
func RiskOf(definition []byte) Risk {
	hints := jsonscan.Member(definition, "annotations")
	switch {
	case string(jsonscan.Member(hints, "readOnlyHint")) == "true":
		return Read
	case string(jsonscan.Member(hints, "destructiveHint")) == "false":
		return Write
	}
	return Destructive
}

// Caller returns the name of the tool that calls tools of the risk.
func (r Risk) Caller() string { return risks[r].caller }

// CallerRisk returns the risk up to which the tool with this name calls others, and Unknown if it
// does not call others.
func CallerRisk(name []byte) Risk {
	for risk := Read; risk <= Destructive; risk++ {
		if string(name) == risks[risk].caller {
			return risk
		}
	}
	return Unknown
}

// Check returns an error for the model if the tool with this name and definition has a higher risk.
func (r Risk) Check(name string, definition []byte) error {
	if needed := RiskOf(definition); needed > r {
		return fmt.Errorf("%s calls %s, and %.200q is none of them: call it with %s", r.Caller(),
			risks[r].permits, name, needed.Caller())
	}
	return nil
}
