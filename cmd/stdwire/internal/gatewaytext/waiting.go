package gatewaytext

import (
	"fmt"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
)

// The reasons for which a change waits, and how to accept it.
const (
	WaitsAsNew         = "new"
	WaitsAsChanged     = "changed"
	WaitsForItsEnvFile = "environment"
	WaitsForTrust      = "untrusted"
	WaitsWithMore      = "more servers"
	acceptServer       = "stdwire trust %[1]s or stdwire restart %[1]s accepts it, " +
		command.AcceptsAllChanges + " all waiting changes"
	acceptProfile = "stdwire trust %[1]s accepts it, " + command.AcceptsAllChanges +
		" all waiting changes"
	acceptProject = "stdwire trust %[1]s accepts it"
)

// WaitingText returns a message that a change waits and how to accept it.
func WaitingText(w ops.PendingChange) string {
	what := map[string]string{
		WaitsAsNew: "is new", WaitsAsChanged: "has changed",
		WaitsForItsEnvFile: "has another environment",
		WaitsForTrust:      "is not trusted", WaitsWithMore: "has more servers",
	}[w.Why]
	way := acceptServer
	switch {
	case w.Subject == ops.PendingOrder:
		return w.Source + ": the order of the servers has changed, and waits: " +
			command.AcceptsAllChanges + " accepts it"
	case w.Subject == ops.PendingRates:
		return w.Source + ": the rates have changed, and wait: " +
			command.AcceptsAllChanges + " accepts them"
	case w.Subject == ops.PendingPolicy:
		return w.Source + ": the rules have changed, and what they permit beyond the former ones " +
			"waits: " + command.AcceptsAllChanges + " accepts it"
	case w.Why == WaitsForTrust:
		way = acceptProject
	case w.Subject == ops.PendingProfile:
		way = acceptProfile
	}
	return fmt.Sprintf("%s: %s %q %s, and waits: ", w.Source, w.Subject, w.Name, what) +
		fmt.Sprintf(way, w.Name)
}
