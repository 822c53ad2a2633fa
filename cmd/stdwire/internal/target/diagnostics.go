package target

import (
	"fmt"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// PrintDiagnostics prints the diagnostics of a configuration.
func PrintDiagnostics(std *term.Streams, all []config.Diagnostic) {
	for _, d := range all {
		std.Err.PrintLabeled(d.Severity, term.StyleOf(d.Severity),
			fmt.Sprintf("%s: %v", d.Severity, d))
	}
}

// ErrorsAmong returns the diagnostics that are errors.
func ErrorsAmong(all []config.Diagnostic) (errors []config.Diagnostic) {
	for _, d := range all {
		if d.Severity == config.SeverityError {
			errors = append(errors, d)
		}
	}
	return errors
}
