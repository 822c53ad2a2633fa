package serve

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/dispatch"
)

// Whoever can write a configuration file decides what is started, and that may be a client with
// tools for files. So a file that changes while a gateway runs takes away by itself: it drops and
// disables servers, and lets fewer of their tools pass. What gives more waits for the operator.

// An offering is a server as the operator has let it in, less what its file has taken away since.
type offering struct {
	definition *config.Server
	resolved   resolution
	server     host.Server
}

// A resolution is what a definition was when the operator let it in, with the values of its
// variables and the content of its envFile: what these become later is not used without the
// operator either.
type resolution struct {
	endpoint *config.Endpoint
	err      error
}

func resolve(s *config.Server, env *config.Environment) (r resolution) {
	r.endpoint, r.err = s.Resolve(env)
	return r
}

func (r resolution) get() (*config.Endpoint, error) { return r.endpoint, r.err }

func (r resolution) same(o resolution) bool {
	return fmt.Sprint(r.err) == fmt.Sprint(o.err) && reflect.DeepEqual(r.endpoint, o.endpoint)
}

// A Release is what the operator lets in: everything, or one thing, which must have a digest unless
// that is "".
type Release struct {
	All bool
	one ops.Release
}

func (r Release) lets(kind, name, digest string) bool {
	return r.All || r.one.Kind == kind && r.one.Name == name && (r.one.SHA256 == "" || r.one.SHA256 == digest)
}

// Why something waits.
const (
	waitsAsNew            = "new"
	waitsAsChanged        = "changed"
	WaitsForItsEnvFile    = "environment"
	WaitsForTrust         = "untrusted"
	waitsWithMore         = "more servers"
	letInServer           = "stdwire trust %[1]s or stdwire restart %[1]s lets it in, " + command.AcceptsAllChanges + " all that waits"
	letInProfile          = "stdwire trust %[1]s lets it in, " + command.AcceptsAllChanges + " all that waits"
	letInWhatIsOfAProject = "stdwire trust %[1]s lets it in"
)

// admit returns what of a server may be offered; none has no ID. Why says why that is not all of
// it, "" if it is.
func (st *Standing) admit(s *config.Server, env *config.Environment, by Release) (o offering, why string) {
	was, there := st.offered[s.ID]
	resolved := resolve(s, env)
	if !by.lets(ops.WaitingServer, s.ID, s.TrustDigest()) {
		if !there {
			return offering{}, waitsAsNew
		}
		less, whole := s.Within(was.definition)
		switch {
		case !whole:
			why = waitsAsChanged
		case !resolved.same(was.resolved):
			why = WaitsForItsEnvFile
		}
		s, resolved = less, was.resolved
	}
	return offering{s, resolved, st.m.server(s, resolved.get, st.Gateway, st.log)}, why
}

// admitProfiles returns the profiles that may be in effect, and what waits of them.
func (st *Standing) admitProfiles(c *config.Config, by Release) (profiles map[string][]string, waiting []ops.Waiting) {
	profiles = make(map[string][]string)
	for _, p := range c.Claims {
		if _, ok := c.Profiles[p.Name]; !ok || !slices.Equal(c.Profiles[p.Name], p.Servers) {
			waiting = append(waiting, waitingProfile(p, WaitsForTrust))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		p := c.Profile(name)
		was, there := st.profiles[name]
		less := slices.DeleteFunc(slices.Clone(p.Servers), func(id string) bool { return !slices.Contains(was, id) })
		switch {
		case by.lets(ops.WaitingProfile, name, p.TrustDigest()):
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

// note remembers what was found, for whoever asks.
func (st *Standing) note(c *target.Selection, profiles map[string][]string, waiting []ops.Waiting, wanted map[string]offering) {
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
	st.now, st.profiles, st.waiting, st.watched = c.All, profiles, waiting, watched
}

func waitingServer(s *config.Server, why string) ops.Waiting {
	return ops.Waiting{
		Kind: ops.WaitingServer, Name: s.ID, Why: why, Source: s.Position.String(), Project: s.Project, SHA256: s.TrustDigest(),
		Definition: target.DescribeServer(s),
	}
}

func waitingProfile(p *config.Profile, why string) ops.Waiting {
	return ops.Waiting{
		Kind: ops.WaitingProfile, Name: p.Name, Why: why, Source: p.Position.String(), Project: p.Project, SHA256: p.TrustDigest(),
		Definition: target.DescribeProfile(p),
	}
}

// WaitingText says that something waits, and what lets it in.
func WaitingText(w ops.Waiting) string {
	what := map[string]string{
		waitsAsNew: "is new", waitsAsChanged: "has changed", WaitsForItsEnvFile: "has another environment",
		WaitsForTrust: "is not trusted", waitsWithMore: "has more servers",
	}[w.Why]
	way := letInServer
	switch {
	case w.Kind == ops.WaitingOrder:
		return w.Source + ": the order of the servers has changed, and waits: " + command.AcceptsAllChanges + " lets it in"
	case w.Why == WaitsForTrust:
		way = letInWhatIsOfAProject
	case w.Kind == ops.WaitingProfile:
		way = letInProfile
	}
	return fmt.Sprintf("%s: %s %q %s, and waits: ", w.Source, w.Kind, w.Name, what) + fmt.Sprintf(way, w.Name)
}

func (st *Standing) allWaiting() []ops.Waiting {
	st.mu.Lock()
	defer st.mu.Unlock()
	return append([]ops.Waiting{}, st.waiting...)
}

// Release lets in what waits of a server or profile, at the operator's word.
func (st *Standing) Release(ctx context.Context, what ops.Release) error {
	err := st.Reload(ctx, Release{one: what})
	for _, w := range st.allWaiting() {
		switch {
		case w.Kind != what.Kind || w.Name != what.Name:
		case w.Why == WaitsForTrust:
			return dispatch.Errorf(dispatch.StateError, "%s", WaitingText(w))
		case what.SHA256 != "":
			return dispatch.Errorf(dispatch.StateError, "the %s %q is not what was shown: it has changed again", w.Kind, w.Name)
		}
	}
	if err != nil && what.SHA256 != "" {
		return dispatch.Errorf(dispatch.StateError, "the configuration cannot be used: %w", err)
	}
	return nil
}
