package serve

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/gatewaytext"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/login"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/server"
)

// hostOptions returns the options of the operations that manage servers, for clients.
func (st *Reloader) hostOptions() ops.Options {
	return ops.Options{Manager: st.Gateway.Manager(), Switched: st.switched,
		Tools: st.Gateway.Tools, ToolBytes: st.g.Server.Integration().ToolBytes,
		Unlisted: st.Gateway.Unlisted,
		Withheld: func() map[string][]ops.WithheldItem { return st.withheld(false) },
		Profile:  st.profile, About: st.About, Logger: st.log}
}

// operatorOptions returns the options of the same operations for the operator, who may also see and
// accept what waits.
func (st *Reloader) operatorOptions() ops.Options {
	operations := st.hostOptions()
	operations.Withheld = func() map[string][]ops.WithheldItem { return st.withheld(true) }
	operations.Release, operations.Waiting = st.Accept, st.allWaiting
	if st.g.Messages != nil {
		operations.Messages = st.g.Messages.Since
	}
	if st.pinFile != "" {
		operations.Review = func(in ops.Withheld) (ops.Review, error) {
			r, err := st.Gateway.ReviewPin(in.Server, in.Kind, in.Name)
			return ops.Review{Pinned: string(r.Pinned), Now: string(r.Now),
				Identity: r.Identity, SHA256: r.Digest}, err
		}
		operations.AcceptPin = st.acceptPin
	}
	if st.g.Logins != nil {
		operations.Revoke = st.revokeLogin
	}
	return operations
}

func (st *Reloader) profile(name string) ([]string, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	ids, ok := st.profiles[name]
	if !ok {
		return nil, &config.UnknownError{What: "profile", Name: name}
	}
	return ids, nil
}

// maxInvalid is the maximum number of errors of the configuration in About.
const maxInvalid = 20

func (st *Reloader) About() ops.About {
	logins, moreLogins := st.userLogins() // which may wait for a store
	st.mu.Lock()
	defer st.mu.Unlock()
	about := ops.About{Pid: os.Getpid(), Version: command.Version(),
		Since: st.started.UTC().Format(time.RFC3339), Dir: st.dir, Endpoint: st.endpoint,
		Files: []string{}, Profiles: []string{}}
	if st.clients != nil {
		about.Socket = st.clients.Path
	}
	for _, f := range st.current.Files {
		if f.State == config.StateUsed {
			about.Files = append(about.Files, f.Path)
		}
	}
	about.Profiles = append(about.Profiles, slices.Sorted(maps.Keys(st.profiles))...)
	for _, why := range st.invalid[:min(len(st.invalid), maxInvalid)] {
		about.Invalid = append(about.Invalid, printable.TruncateRunes(why, 1000))
	}
	for _, w := range st.waiting {
		w.Definition = ""
		about.Waiting = append(about.Waiting, w)
	}
	about.Clients, about.Costs = st.clientTools(), st.costs()
	if st.g.Rates != nil {
		about.Rates = st.g.Rates.Uses()
	}
	about.Logins, about.LoginsMore = logins, moreLogins
	about.Store = st.g.store.About()
	about.Refusals = st.g.Rules.Latest()
	return about
}

// aboutTimeout is how long the store may take to list the logins for About.
const aboutTimeout = 2 * time.Second

// userLogins returns the first logins of users at servers, and how many more there are.
func (st *Reloader) userLogins() (all []ops.UserLogin, more int) {
	if st.g.Logins == nil {
		return nil, 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), aboutTimeout)
	defer cancel()
	logins, more, err := st.g.Logins.First(ctx, ops.MaxLogins)
	why := ""
	if err != nil {
		why = err.Error()
	}
	st.mu.Lock()
	was := st.unlisted
	st.unlisted = why
	st.mu.Unlock()
	if err != nil && why != was { // a page asks every few seconds
		st.log.Warn("the logins of users cannot be listed", slog.Any("error", err))
	}
	for _, l := range logins {
		all = append(all, ops.UserLogin{User: l.User, Client: l.Client, Server: l.Server,
			State: l.State(time.Now()), Until: l.Until.UTC().Format(time.RFC3339),
			Issuer: l.Issuer, Scopes: l.Scopes})
	}
	return all, more
}

// revokeLogin revokes the login of a user at a server.
func (st *Reloader) revokeLogin(ctx context.Context, in ops.LoginKey) (out ops.Revoked, err error) {
	key := login.Key{User: in.User, Client: in.Client, Server: in.Server}
	if there, err := st.g.Logins.Keeps(ctx, key); err == nil && !there {
		return out, dispatch.Errorf(dispatch.NotFound, "%.100q has no login at %.50q", in.User,
			in.Server)
	}
	unrevoked, err := st.g.Logins.Revoke(ctx, key)
	switch {
	case err != nil:
		err = dispatch.Errorf(dispatch.StateError, "%w", err)
	case unrevoked != nil:
		out.Warning = unrevoked.Error()
	}
	return out, err
}

// costs returns what the tools of the profiles cost, for those that have tools. The caller holds
// mu.
func (st *Reloader) costs() (all []ops.ProfileTools) {
	tools, bytes := st.Gateway.Tools(), st.g.Server.Integration().ToolBytes()
	for _, name := range slices.Sorted(maps.Keys(st.profiles)) {
		p := ops.ProfileTools{Profile: name}
		for _, id := range st.profiles[name] {
			p.Tools += tools[id]
			p.Bytes += bytes[id]
		}
		if p.Tools > 0 {
			all = append(all, p)
		}
	}
	return all
}

// clientTools returns what clients got with their latest list of tools.
func (st *Reloader) clientTools() (all []ops.ClientTools) {
	views := map[string][]server.ToolViewUse{"": st.g.Server.Integration().ToolViews()}
	if st.g.Endpoints != nil {
		views = st.g.Endpoints.ToolViews()
	}
	for _, profile := range slices.Sorted(maps.Keys(views)) {
		for _, v := range views[profile] {
			all = append(all, ops.ClientTools{Client: v.Client, Version: v.Version,
				Principal: v.Principal, Profile: profile,
				Search: v.Search, Tools: v.Tools, Bytes: v.Bytes, ListedBytes: v.Listed,
				OtherNames: v.Names, Cut: v.Cut})
		}
	}
	return all
}

// withheld returns the withheld definitions by server: those that only users have for the operator
// alone.
func (st *Reloader) withheld(ofUsers bool) map[string][]ops.WithheldItem {
	all := map[string][]ops.WithheldItem{}
	for id, some := range st.Gateway.Withheld() {
		for _, w := range some {
			if w.OfUser && !ofUsers {
				continue
			}
			all[id] = append(all[id], gatewaytext.DescribeWithheld(id, st.source(id), w))
		}
	}
	return all
}

// source returns the file that defines a server.
func (st *Reloader) source(id string) string {
	st.mu.Lock()
	defer st.mu.Unlock()
	if s, err := st.current.Server(id); err == nil {
		return s.File
	}
	return "a former configuration"
}
