package serve

import (
	"context"
	"log/slog"
	"sync"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/access"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/filewatch"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/gatewaytext"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/policy"
)

// policyFlags are the flags for rules about who may do what.
type policyFlags struct {
	file   string
	dryRun bool
}

func (f *policyFlags) flags() []command.Flag {
	return []command.Flag{
		access.FileFlag(&f.file),
		command.SwitchFlag(&f.dryRun, "--policy-dry-run",
			"let everything pass, and log what the rules would deny, hide or ask"),
	}
}

// watch applies changes of the file alone, for a server without a gateway, until stop is called.
// What may permit more waits for SIGHUP.
func (f *policyFlags) watch(ctx context.Context, rules *access.Rules, changed func(),
	std *term.Streams, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	files := &filewatch.Watcher{Limit: jsonedit.MaxText,
		Files: filewatch.At(func() []string { return []string{f.file} })}
	watching.Go(func() {
		files.Run(ctx, onHangup(ctx, std), func(asked bool) {
			p, err := access.Load(f.file, nil)
			if err != nil {
				std.Err.Printf("warning: the rules stay as they were: %v", err)
				return
			}
			differs, waits := rules.Set(p, asked)
			if waits {
				std.Err.Printf("warning: %s", gatewaytext.WaitingText(waitingPolicy(f.file)))
			}
			if differs {
				log.Info("the rules have changed", slog.Int("rules", p.Rules()))
				changed()
			}
		})
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

func waitingPolicy(source string) ops.PendingChange {
	return ops.PendingChange{Subject: ops.PendingPolicy, Why: gatewaytext.WaitsAsChanged,
		Source: source}
}

// applyPolicy applies the rules of a configuration and of --policy, as far as they permit nothing
// that the operator has not accepted. Rules that are gone stay in effect: a file without rules is
// more often a mistake than the wish that everybody may do everything.
func (st *Reloader) applyPolicy(p *policy.Policy, at config.Position, by Acceptance) (changes,
	warning string, waiting []ops.PendingChange) {
	if st.policyGone {
		warning = "warning: the configuration has no policy any more; its rules stay in effect until the next start"
	}
	if p == nil {
		return "", warning, nil
	}
	changed, waits := st.g.Rules.Set(p, by.All)
	if waits {
		source := st.g.PolicyFile
		if at != (config.Position{}) {
			source = command.JoinNonEmpty(", ", source, at.String())
		}
		waiting = append(waiting, waitingPolicy(source))
	}
	if !changed {
		return "", warning, waiting
	}
	st.g.Server.Integration().ListsChanged(nil)
	if st.g.Endpoints != nil {
		st.g.Endpoints.ListsChanged()
	}
	return "other rules", warning, waiting
}
