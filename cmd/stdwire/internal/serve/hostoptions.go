package serve

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/gatewaytext"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
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
				Identity: r.Identity}, err
		}
		operations.AcceptPin = func(in ops.AcceptedPin) error {
			err := st.Gateway.AcceptPin(in.Server, in.Kind, in.Name,
				gateway.PinReview{Now: json.RawMessage(in.Now), Identity: in.Identity})
			if err == nil {
				st.shareAccepted(in.Server, in.Kind, in.Name)
			}
			return err
		}
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
	about.Store = st.g.store.About()
	about.Refusals = st.g.Rules.Latest()
	return about
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
