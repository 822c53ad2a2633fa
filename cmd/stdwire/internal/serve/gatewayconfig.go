package serve

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/auditfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/hook"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/login"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/sharedstore"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/dispatch"
)

const megabyte = 1000_000 // decimal, as in the sizes that are printed

// A GatewayConfig selects the configured servers that stdwire serve offers, and how.
type GatewayConfig struct {
	target.ConfigFlags
	Profile string
	All     bool   // all configured servers
	Pins    string // "", block, warn, off
	control bool   // clients may enable, disable and restart servers

	// how long the first lists wait for servers; 0 is settleTimeout, negative without limit
	waitLists time.Duration
	warmLists bool // fetch the lists into the cache and end

	discover   *config.Discovery // nil: as the configuration says
	fitResults bool              // shorten results for applications that are known to cut them

	noPrefix, noDescPrefix bool // names or descriptions of tools and prompts have no server ID

	logins    login.Flags
	publicURL string // at which browsers reach the gateway; "": as other flags say

	hooks       hook.Config
	audit       string // the file of the audit log, or ""
	auditValues bool   // the audit log contains the values of arguments
	auditSize   int    // megabytes of a file; 0 means no limit
	auditKeep   int    // number of full files
}

func (m *GatewayConfig) flags() []command.Flag {
	flags := append(m.ConfigFlags.Flags(),
		target.ProfileFlag(&m.Profile),
		command.SwitchFlag(&m.All, "--servers", "offer all servers of the configuration"),
		command.ChoiceFlag(&m.Pins, "--pins",
			"if a tool, prompt or resource of these servers has changed since its first use: withhold it, warn only, or do not compare (default block)",
			"block", "warn", "off"),
		waitListsFlag(&m.waitLists),
		command.SwitchFlag(&m.warmLists, "--warm-lists",
			"start all these servers, store their lists for the next start, and end; the other flags may be those of that start"),
		discoverFlag(&m.discover),
		command.SwitchFlag(&m.fitResults, "--fit-results",
			"shorten results for applications that are known to cut them, and let them read on; see stdwire help context"),
		command.SwitchFlag(&m.noPrefix, "--no-prefix",
			"offer tools and prompts under the names that their servers use; of two with the same name, one is withheld"),
		command.SwitchFlag(&m.noDescPrefix, "--no-desc-prefix",
			"offer their descriptions without [ID] before them"),
		command.SwitchFlag(&m.control, "--allow-host",
			"let clients enable, disable and restart these servers"),
		command.FileFlag(&m.audit, "--audit",
			"append a line of JSON for each call, read and prompt of these servers"),
		command.SwitchFlag(&m.auditValues, "--audit-values",
			"include the values of arguments in the audit log; they may be secrets"),
		command.NumberFlag(&m.auditSize, "--audit-size", "MB", 1, 1000_000,
			"rename the audit log to FILE.1 before it is larger than this (default: no limit)"),
		command.NumberFlag(&m.auditKeep, "--audit-keep", "N", 1, 1000,
			"how many such files stay, FILE.1 to FILE.N (default 9)"),
	)
	flags = append(flags, m.logins.Flags()...)
	flags = append(flags, command.Flag{Name: publicURLFlag, Value: "URL",
		Help: "the URL without /mcp at which browsers reach this gateway, to log in to servers (default: as --oauth-audience or --card-url says, or that of this machine)",
		Set: func(value string) error {
			m.publicURL = value
			return login.CheckBase(value)
		}})
	return append(flags, m.hooks.Flags()...)
}

const publicURLFlag = "--public-url"

// newLogins returns the logins of the users of a gateway over HTTP: in the store that gateways with
// a secret share, unless that is nil.
func (m *GatewayConfig) newLogins(shared *sharedstore.Store, secret []byte,
	log *slog.Logger) (*login.Logins, error) {
	if shared != nil {
		kept, err := login.NewShared(shared, secret)
		if err != nil {
			return nil, err
		}
		logins := login.New(kept, log)
		shared.Use(sharedstore.Part{Name: "logins", IsUsed: logins.InUse,
			DoesWithout: func() bool { return kept.Failure() != nil },
			Without:     "calls of servers to which users log in are refused until it can be used"})
		return logins, nil
	}
	if !m.logins.HasKey() {
		return login.New(login.NewMemory(), log), nil
	}
	store, err := m.logins.Open(target.StateFile)
	if err != nil {
		return nil, err
	}
	return login.New(store, log), nil
}

// waitListsFlag is the flag --wait-lists. Without it target stays 0.
func waitListsFlag(target *time.Duration) command.Flag {
	*target = settleTimeout
	wait := command.DurationFlag(target, "--wait-lists",
		"how long the first lists wait for servers that start; a list without some of them is partial")
	*target = 0
	return wait
}

func discoverFlag(target **config.Discovery) command.Flag {
	return command.Flag{Name: "--discover", Value: "MODE",
		Help: "list all tools, or four that find and call the others: list, search, auto, auto:N for from N tools, auto:N% for from N % of 200,000 tokens; for all clients, in place of the configuration",
		Set: func(text string) error {
			d, err := config.ParseDiscovery(text)
			*target = &d
			return err
		}}
}

// isEnabled reports whether configured servers are offered.
func (m *GatewayConfig) isEnabled() bool { return m.All || m.Files != nil || m.Profile != "" }

// gates returns the gates that the flags open to clients.
func (m *GatewayConfig) gates() []dispatch.Gate {
	if m.control {
		return []dispatch.Gate{ops.Gate}
	}
	return nil
}

// check returns an error if a flag of own, those of m, has no effect with the others.
func (m *GatewayConfig) check(given command.Given, own []command.Flag) error {
	for _, f := range own {
		if !m.isEnabled() && slices.Contains(given, f.Name) {
			return command.Usagef("no servers are selected").WithHint(f.Name +
				" is for them: select some with --config FILE or --profile NAME, or all configured servers with --servers")
		}
	}
	if m.All && m.Profile != "" {
		return command.Usagef("--servers and --profile exclude each other").WithHint(
			"leave out --servers for the servers of the profile only")
	}
	for _, f := range []struct {
		name  string
		given bool
	}{{"--audit-values", m.auditValues}, {"--audit-size", m.auditSize > 0}} {
		if f.given && m.audit == "" {
			return command.Usagef("%s needs an audit log", f.name).WithHint("add --audit FILE")
		}
	}
	if m.auditKeep > 0 && m.auditSize == 0 {
		return command.Usagef("--audit-keep needs a limit of the audit log").WithHint(
			"add --audit-size MB")
	}
	if err := m.logins.CheckKept(); err != nil {
		return err
	}
	return m.hooks.Check()
}

// checkHTTP returns an error for a flag that is for clients over HTTP, without them.
func (m *GatewayConfig) checkHTTP(address string) error {
	given := m.logins.Given()
	if given == "" {
		given = command.FirstGiven(publicURLFlag, m.publicURL)
	}
	if given != "" && address == "" {
		return command.Usagef("%s is for clients over HTTP", given).WithHint("add --http ADDR")
	}
	return nil
}

// loadSettings reads the limits of the configuration and how it lists tools. It returns only errors
// of the configuration itself; Start reports others.
func (m *GatewayConfig) loadSettings() (limits config.Limits, views *toolViews, err error) {
	c, _, err := m.Load()
	if err != nil {
		return limits, nil, err
	}
	return c.Limits, newToolViews(m.discover, c), nil
}

// openAudit opens the audit log, or returns nil if there is none.
func (m *GatewayConfig) openAudit(log *slog.Logger) (*auditfile.File, error) {
	if m.audit == "" {
		return nil, nil
	}
	f, err := auditfile.Open(m.audit, int64(m.auditSize)*megabyte, cmp.Or(m.auditKeep, 9), log)
	if err != nil {
		return nil, command.Usagef("--audit: %v", err)
	}
	return f, nil
}
