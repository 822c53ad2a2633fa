package target

import (
	"fmt"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// ProfileFlag is the flag --profile.
func ProfileFlag(profile *string) command.Flag {
	return command.TextFlag(profile, "--profile", "NAME",
		"only the servers of this profile of the configuration")
}

// PrintDiagnostics prints the diagnostics of a configuration.
func PrintDiagnostics(std *term.Streams, all []config.Diagnostic) {
	for _, d := range all {
		severity := d.Severity.String()
		std.Err.PrintLabeled(severity, term.StyleOf(severity), fmt.Sprintf("%s: %v", severity, d))
	}
}

func ErrorsAmong(all []config.Diagnostic) (errors []config.Diagnostic) {
	for _, d := range all {
		if d.Severity == config.SeverityError {
			errors = append(errors, d)
		}
	}
	return errors
}
