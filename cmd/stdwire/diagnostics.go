package main

import (
	"github.com/stdwire/stdwire/client/host/config"
)

// profileFlag is the flag --profile.
func profileFlag(profile *string) flag {
	return flag{name: "--profile", value: "NAME", help: "only the servers of a profile, a set that the configuration has a name for", set: func(value string) error {
		*profile = value
		return nil
	}}
}

// printDiagnostics prints what is wrong.
func printDiagnostics(std *streams, all []config.Diagnostic) {
	for _, d := range all {
		std.err.printf("%v: %v", d.Severity, d)
	}
}

func errorsAmong(all []config.Diagnostic) (errors []config.Diagnostic) {
	for _, d := range all {
		if d.Severity == config.Error {
			errors = append(errors, d)
		}
	}
	return errors
}
