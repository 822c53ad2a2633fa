package serve

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
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

func resolve(s *config.Server, env *config.Environment) (r resolution) {
	r.endpoint, r.err = s.Resolve(env)
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

func (r Acceptance) includes(kind, name, digest string) bool {
	return r.All || r.change.Kind == kind && r.change.Name == name &&
		(r.change.SHA256 == "" || r.change.SHA256 == digest)
}

// The reasons for which a change waits, and how to accept it.
const (
	waitsAsNew         = "new"
	waitsAsChanged     = "changed"
	WaitsForItsEnvFile = "environment"
	WaitsForTrust      = "untrusted"
	waitsWithMore      = "more servers"
	acceptServer       = "stdwire trust %[1]s or stdwire restart %[1]s accepts it, " +
		command.AcceptsAllChanges + " all waiting changes"
	acceptProfile = "stdwire trust %[1]s accepts it, " + command.AcceptsAllChanges +
		" all waiting changes"
	acceptProject = "stdwire trust %[1]s accepts it"
)

// checkServer returns the part of a server that may be offered; its ID is empty if nothing may be
// offered. If that is not the whole definition, why is the reason.
func (st *Reloader) checkServer(s *config.Server, env *config.Environment,
	by Acceptance) (o acceptedServer, why string) {
	was, there := st.accepted[s.ID]
	resolved := resolve(s, env)
	if !by.includes(ops.PendingServer, s.ID, s.TrustDigest()) {
		if !there {
			return acceptedServer{}, waitsAsNew
		}
		less, whole := s.Restrict(was.definition)
		switch {
		case !whole:
			why = waitsAsChanged
		case !resolved.equal(was.resolved):
			why = WaitsForItsEnvFile
		}
		s, resolved = less, was.resolved
	}
	return acceptedServer{s, resolved,
		st.m.upstream(s, st.std, resolved.endpointOrError, st.Gateway, st.log)}, why
}

// checkProfiles returns the profiles that take effect and the changes of profiles that wait.
func (st *Reloader) checkProfiles(c *config.Config, by Acceptance) (profiles map[string][]string,
	waiting []ops.PendingChange) {
	profiles = make(map[string][]string)
	for _, p := range c.ProfilesRequiringTrust {
		if _, ok := c.Profiles[p.Name]; !ok || !slices.Equal(c.Profiles[p.Name], p.Servers) {
			waiting = append(waiting, waitingProfile(p, WaitsForTrust))
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
			waiting = append(waiting, waitingProfile(p, waitsAsNew))
		default:
			if len(less) < len(p.Servers) {
				waiting = append(waiting, waitingProfile(p, waitsWithMore))
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
	watched := []string{st.m.store.Path}
	for _, f := range c.All.Files {
		watched = append(watched, f.Path)
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
		if d.Severity == config.Error {
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
		Kind: ops.PendingServer, Name: s.ID, Why: why, Source: s.Position.String(),
		Project: s.Project, SHA256: s.TrustDigest(),
		Definition: target.DescribeServer(s),
	}
}

func waitingProfile(p *config.Profile, why string) ops.PendingChange {
	return ops.PendingChange{
		Kind: ops.PendingProfile, Name: p.Name, Why: why, Source: p.Position.String(),
		Project: p.Project, SHA256: p.TrustDigest(),
		Definition: target.DescribeProfile(p),
	}
}

// WaitingText returns a message that a change waits and how to accept it.
func WaitingText(w ops.PendingChange) string {
	what := map[string]string{
		waitsAsNew: "is new", waitsAsChanged: "has changed",
		WaitsForItsEnvFile: "has another environment",
		WaitsForTrust:      "is not trusted", waitsWithMore: "has more servers",
	}[w.Why]
	way := acceptServer
	switch {
	case w.Kind == ops.PendingOrder:
		return w.Source + ": the order of the servers has changed, and waits: " +
			command.AcceptsAllChanges + " accepts it"
	case w.Why == WaitsForTrust:
		way = acceptProject
	case w.Kind == ops.PendingProfile:
		way = acceptProfile
	}
	return fmt.Sprintf("%s: %s %q %s, and waits: ", w.Source, w.Kind, w.Name, what) +
		fmt.Sprintf(way, w.Name)
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
		case w.Kind != what.Kind || w.Name != what.Name:
		case w.Why == WaitsForTrust:
			return dispatch.Errorf(dispatch.StateError, "%s", WaitingText(w))
		case what.SHA256 != "":
			return dispatch.Errorf(dispatch.StateError,
				"the %s %q has changed since it was shown", w.Kind, w.Name)
		}
	}
	if err != nil && what.SHA256 != "" {
		return dispatch.Errorf(dispatch.StateError, "the configuration cannot be used: %w", err)
	}
	return nil
}
