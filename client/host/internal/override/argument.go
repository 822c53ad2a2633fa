package override

import (
	"encoding/json"
	"errors"

	"github.com/stdwire/stdwire/client/host"
)

// Fixed returns the value of a hidden argument, or nil for one that callers see.
func Fixed(a *host.ArgumentOverride) json.RawMessage {
	switch {
	case a.Value != nil:
		return a.Value
	case a.Hidden:
		return a.Default
	}
	return nil
}

// CheckArgument returns an error if the members of a exclude each other or one is missing.
func CheckArgument(a *host.ArgumentOverride) error {
	switch {
	case a.Value != nil && a.Default != nil:
		return errors.New("it has a value and a default; remove one of them")
	case a.Hidden && a.Value == nil && a.Default == nil:
		return errors.New(`it is hidden and has no value: add "value", which the server always gets`)
	case Fixed(a) != nil && (a.Name != "" || a.Description != ""):
		return errors.New("it is hidden, so nobody sees its name and description; remove them")
	}
	return nil
}
