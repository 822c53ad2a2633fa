package serve

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/gatewaytext"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/dispatch"
)

// A configuration file decides which programs are started, and a client with file tools may be able
// to write it. So the gateway applies by itself only changes that remove or disable servers, or
// offer fewer of their tools. All other changes wait for the operator.

// An acceptedServer is a server as the operator accepted it, less what changes of its file have
// removed since.
type acceptedServer struct {
	definition *config.Server
	resolved   resolution
	server     gateway.Upstream
}

// A resolution is a definition with the values that its variables and envFile had when the operator
// accepted it. Later values are not used until they are accepted.
type resolution struct {
	endpoint *config.Endpoint
	err      error
}

// resolve returns the resolution of a server, whose variables say which gateways are above it.
func (st *Reloader) resolve(s *config.Server, env *config.Environment) (r resolution) {
	if r.endpoint, r.err = s.Resolve(env); r.err == nil {
		variables := maps.Clone(r.endpoint.Command.Env)
		if variables == nil {
			variables = make(map[string]string)
		}
		variables[aboveVariable] = st.g.above
		r.endpoint.Command.Env = variables
	}
	return r
}

func (r resolution) endpointOrError() (*config.Endpoint, error) { return r.endpoint, r.err }

func (r resolution) equal(o resolution) bool {
	return fmt.Sprint(r.err) == fmt.Sprint(o.err) && reflect.DeepEqual(r.endpoint, o.endpoint)
}

// An Acceptance selects the waiting changes that the operator accepts: all, or one. If change has a
// digest, the waiting change must have the same digest.
type Acceptance struct {
	All    bool
	change ops.Release
}

func (r Acceptance) includes(subject, name, digest string) bool {
	return r.All || r.change.Subject == subject && r.change.Name == name &&
		(r.change.SHA256 == "" || r.change.SHA256 == digest)
}

// checkServer returns the part of a server that may be offered; its ID is empty if nothing may be
// offered. If that is not the whole definition, why is the reason.
func (st *Reloader) checkServer(s *config.Server, env *config.Environment,
	by Acceptance) (o acceptedServer, why string) {
	was, there := st.accepted[s.ID]
	resolved := st.resolve(s, env)
	if !by.includes(ops.PendingServer, s.ID, s.TrustDigest()) {
		if !there {
			return acceptedServer{}, gatewaytext.WaitsAsNew
		}
		less, whole := restrict(was.definition, s)
		switch {
		case !whole:
			why = gatewaytext.WaitsAsChanged
		case !resolved.equal(was.resolved):
			why = gatewaytext.WaitsForItsEnvFile
		}
		s, resolved = less, was.resolved
	}
	return acceptedServer{s, resolved, st.upstream(s, resolved)}, why
}

// upstream returns a configured server for the gateway, which starts it as resolved and whose
// messages are observed.
func (st *Reloader) upstream(s *config.Server, resolved resolution) gateway.Upstream {
	up := target.GatewayUpstream(s, st.g.Std, resolved.endpointOrError, st.Gateway, st.g.Logins,
		st.log)
	if up.Login != nil {
		up.Login = st.g.Rules.Login(s.ID, up.Login)
	}
	if st.g.Messages != nil {
		st.g.Messages.Observe(&up.Options.Hooks, s.ID)
	}
	st.g.Recorder.Client(&up.Options, s.ID)
	return up
}

// checkProfiles returns the profiles that take effect and the changes of profiles that wait.
func (st *Reloader) checkProfiles(c *config.Config, by Acceptance) (profiles map[string][]string,
	waiting []ops.PendingChange) {
	profiles = make(map[string][]string)
	for _, p := range c.ProfilesRequiringTrust {
		if _, ok := c.Profiles[p.Name]; !ok || !slices.Equal(c.Profiles[p.Name], p.Servers) {
			waiting = append(waiting, waitingProfile(p, gatewaytext.WaitsForTrust))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		p := c.Profile(name)
		was, there := st.profiles[name]
		less := slices.DeleteFunc(slices.Clone(p.Servers),
			func(id string) bool { return !slices.Contains(was, id) })
		switch {
		case by.includes(ops.PendingProfile, name, p.TrustDigest()):
			profiles[name] = p.Servers
		case !there:
			waiting = append(waiting, waitingProfile(p, gatewaytext.WaitsAsNew))
		default:
			if len(less) < len(p.Servers) {
				waiting = append(waiting, waitingProfile(p, gatewaytext.WaitsWithMore))
			}
			profiles[name] = less
		}
	}
	return profiles, waiting
}

// record stores the configuration and the waiting changes, for status. It reports whether the
// configuration had errors before and has none now.
func (st *Reloader) record(c *target.Selection, profiles map[string][]string,
	waiting []ops.PendingChange, wanted map[string]acceptedServer) (validAgain bool) {
	watched := []string{st.store.Path}
	for _, f := range c.All.Files {
		watched = append(watched, f.Path)
	}
	if st.g.PolicyFile != "" {
		watched = append(watched, st.g.PolicyFile)
	}
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		if e := wanted[id].resolved.endpoint; e != nil && e.EnvFile != "" {
			watched = append(watched, e.EnvFile)
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.current, st.profiles, st.waiting, st.watchedFiles = c.All, profiles, waiting, watched
	before := len(st.invalid)
	st.invalid = nil
	for _, d := range c.Diagnostics {
		if d.Severity == config.SeverityError {
			st.invalid = append(st.invalid, d.Error())
		}
	}
	return before > 0 && len(st.invalid) == 0
}

// recordRequired records which of the accepted servers are required. The caller holds applying.
func (st *Reloader) recordRequired() {
	required := make(map[string]bool)
	for id, s := range st.accepted {
		if s.definition.Required {
			required[id] = true
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.required = required
}

// requiredServers returns the IDs of the required servers. The map is never modified.
func (st *Reloader) requiredServers() map[string]bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.required
}

// recordInvalid records that the configuration on disk cannot be used.
func (st *Reloader) recordInvalid(err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.invalid = []string{err.Error()}
}

func waitingServer(s *config.Server, why string) ops.PendingChange {
	return ops.PendingChange{
		Subject: ops.PendingServer, Name: s.ID, Why: why, Source: s.Position.String(),
		Project: s.Project, SHA256: s.TrustDigest(),
		Definition: target.DescribeServer(s),
	}
}

func waitingProfile(p *config.Profile, why string) ops.PendingChange {
	return ops.PendingChange{
		Subject: ops.PendingProfile, Name: p.Name, Why: why, Source: p.Position.String(),
		Project: p.Project, SHA256: p.TrustDigest(),
		Definition: target.DescribeProfile(p),
	}
}

func (st *Reloader) allWaiting() []ops.PendingChange {
	st.mu.Lock()
	defer st.mu.Unlock()
	return append([]ops.PendingChange{}, st.waiting...)
}

// Accept accepts the waiting change of one server or profile.
func (st *Reloader) Accept(ctx context.Context, what ops.Release) error {
	err := st.Reload(ctx, Acceptance{change: what})
	for _, w := range st.allWaiting() {
		switch {
		case w.Subject != what.Subject || w.Name != what.Name:
		case w.Why == gatewaytext.WaitsForTrust:
			return dispatch.Errorf(dispatch.StateError, "%s", gatewaytext.WaitingText(w))
		case what.SHA256 != "":
			return dispatch.Errorf(dispatch.StateError,
				"the %s %q has changed since it was shown", w.Subject, w.Name)
		}
	}
	if err != nil && what.SHA256 != "" {
		return dispatch.Errorf(dispatch.StateError, "the configuration cannot be used: %w", err)
	}
	return nil
}
