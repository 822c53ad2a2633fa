package configcmd

import (
	"context"
	"errors"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

func configCheckCommand() command.Command {
	return command.Command{
		Name: "config check", Usage: "[--profile NAME] [--config FILE]… [-o text|json]",
		Summary: "check the configuration, and list the usable servers",
		Help: `Lists every server as valid, disabled, untrusted (see stdwire trust) or broken, with the reason
on stderr. A variable without a value makes a server broken; an input, for which stdwire asks,
does not. The exit code is 8 if there is an error. No server is started.`,
		Make: func() (command.Grammar, command.Runner) {
			var from target.ConfigFlags
			var output, profile string
			flags := append(
				[]command.Flag{command.FormatFlag(&output, "text", "json"),
					target.ProfileFlag(&profile)}, from.Flags()...)
			return command.Grammar{Flags: flags}, func(_ context.Context, std *term.Streams) error {
				return checkConfig(std, &from, profile, output)
			}
		},
	}
}

// A ServerCheck is the state of a configured server: valid, disabled, untrusted, broken or unknown.
type ServerCheck struct {
	ID     string   `json:"id"`
	State  string   `json:"state"`
	Source string   `json:"source"`
	Inputs []string `json:"inputs,omitempty"` // required, without a value
}

// A diagnostic is a config.Diagnostic as JSON.
type diagnostic struct {
	Severity string `json:"severity"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Server   string `json:"server,omitempty"`
	Message  string `json:"message"`
}

func checkConfig(std *term.Streams, from *target.ConfigFlags, profile, output string) error {
	c, env, err := from.Load()
	if err != nil {
		return err
	}
	servers, err := c.Select(profile)
	if err != nil {
		return target.ConfigFailure(err)
	}
	all := []ServerCheck{}
	for _, s := range servers {
		check, unresolved := CheckServer(s, env)
		if check.State == "unknown" { // the store cannot be read
			return target.ConfigFailure(unresolved)
		}
		if e, ok := errors.AsType[*config.ResolveError](unresolved); ok {
			c.Diagnostics = append(c.Diagnostics,
				config.Diagnostic{Position: s.Position, Severity: config.SeverityError,
					Server:  s.ID,
					Message: e.Reason()})
		}
		all = append(all, check)
	}
	failures := len(target.ErrorsAmong(c.Diagnostics))
	if output == "json" {
		if err := std.Out.PrintValue(struct {
			Servers  []ServerCheck `json:"servers"`
			Findings []diagnostic  `json:"diagnostics"`
		}{all, findings(c.Diagnostics)}); err != nil {
			return err
		}
	} else {
		var rows [][]string
		for _, check := range all {
			wants := ""
			if check.Inputs != nil {
				wants = "wants --input " + strings.Join(check.Inputs, ", ")
			}
			rows = append(rows, []string{check.ID, check.State, check.Source, wants})
		}
		std.Out.PrintTable(rows, 1)
		target.PrintDiagnostics(std, c.Diagnostics)
		if len(all) == 0 && failures == 0 {
			std.Err.Printf(target.NothingConfigured)
		}
	}
	if failures > 0 {
		return &command.Failure{Code: "config", Why: command.Plural(failures, "error")}
	}
	return nil
}

// CheckServer returns the state of a server. The error is why it cannot be used, or why its trust
// is unknown.
func CheckServer(s *config.Server, env *config.Environment) (ServerCheck, error) {
	check := ServerCheck{ID: s.ID, State: "valid", Source: s.Position.String()}
	asking := *env
	asking.Ask = func(input config.Input) (string, error) {
		check.Inputs = append(check.Inputs, input.ID)
		return "", nil
	}
	_, err := s.Resolve(&asking)
	if err != nil && check.Inputs != nil && s.Err == nil { // perhaps for lack of an input's value
		if e, ok := errors.AsType[*config.ResolveError](err); ok && e.Missing == nil {
			err = nil
		}
	}
	untrusted := config.UserStore(env).Check(s)
	_, distrusted := errors.AsType[*config.UntrustedError](untrusted)
	switch {
	case untrusted != nil && !distrusted:
		check.State = "unknown"
		return check, untrusted
	case err != nil:
		check.State = "broken"
	case s.Disabled:
		check.State = "disabled"
		err = nil
	case distrusted:
		check.State = "untrusted"
	}
	return check, err
}

func findings(all []config.Diagnostic) []diagnostic {
	out := []diagnostic{}
	for _, d := range all {
		out = append(out,
			diagnostic{d.Severity, d.File, d.Line, d.Column, d.Server, d.Message})
	}
	return out
}
