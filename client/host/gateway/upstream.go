package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/client/host/gateway/internal/legacypeers"
	"github.com/stdwire/stdwire/client/host/gateway/internal/listfetch"
	"github.com/stdwire/stdwire/client/host/gateway/internal/resultcache"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/ondemand"
	"github.com/stdwire/stdwire/internal/uritemplate"
	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// An upstreamServer is a server that the gateway offers, with its lists. One goroutine, run, keeps
// the lists current until ctx ends.
type upstreamServer struct {
	g         *Gateway
	id        string
	filter    host.Filter
	listed    *host.Filter // of Upstream.Listed; nil: none
	overrides map[string]host.Override
	hidden    *uritemplate.Set                      // of overrides; nil: none
	asTools   map[mcp.Kind][]*definition.Definition // nil without Upstream.AsTools
	sharing   host.Sharing
	// Upstream.User and Login; may be nil
	user             func(context.Context) (name string, user any, err error)
	login            func(context.Context) askLogin
	answersQuestions bool // the application has set Options.OnElicit of the server
	digest           string
	source           string
	ctx              context.Context
	cancel           context.CancelFunc
	done             chan struct{}
	wake             chan struct{} // capacity 1
	recalled         chan struct{} // closed after the attempt to load the cached lists
	listedOnce       chan struct{} // closed after the first attempt to fetch each list
	disabled         atomic.Bool
	reenabled        atomic.Bool   // enabled again, and not ready since
	recheck          chan struct{} // capacity 1: pins have changed
	fetching         atomic.Int64  // number of fetches of lists in progress
	peer             legacypeers.Upstream
	hasApps          atomic.Bool // a tool with an app was offered once

	maxArguments, maxResult int            // bytes
	maxResultText           map[string]int // see Upstream

	cache *resultcache.Cache // nil: no results are cached

	subscriptions subscriptions

	users     userTable               // the lists of users, with host.PerUser
	loginTool *server.Item            // nil without Upstream.Login
	toLogIn   func() *server.OwnItems // the tool, for users who have to log in

	fetches listfetch.Server
	lists   []*itemList // of each kind that servers list

	applying sync.Mutex        // held while lists change, without waiting for the server
	server   string            // serverInfo.name of the latest list; guarded by applying
	cached   [sha256.Size]byte // of the cache file; guarded by applying
	unsaved  bool              // a list came after that was written; guarded by applying
	unknown  []string          // keys of overrides that were logged as unknown; guarded by applying

	instructions atomic.Pointer[serverInstructions] // never nil; set while applying is held
}

// An askLogin is a function that Upstream.Login returns.
type askLogin = func(ctx context.Context, kind mcp.Kind, name string) (json.RawMessage, error)

// subscriptions are the resources of one server that clients of any downstream server subscribe to.
// The gateway subscribes on their behalf, and so the server is not stopped for lack of use.
type subscriptions struct {
	wanted  chan struct{} // capacity 1: there may be some, for upstreamServer.run
	changed chan struct{} // capacity 1: for whoever keeps them
	task    ondemand.Task // keeps them; woken only by upstreamServer.run

	mu   sync.Mutex
	uris []string
}

func (s *subscriptions) set(uris []string) {
	s.mu.Lock()
	s.uris = uris
	s.mu.Unlock()
	wake.Up(s.changed)
	wake.Up(s.wanted)
}

func (s *subscriptions) get() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uris
}

// serverInstructions are the instructions of a server.
type serverInstructions struct {
	isKnown  bool              // the server, or the cache of its lists, has said them
	server   string            // serverInfo.name
	pinned   []json.RawMessage // of pin.InstructionsOf; nil: there are none
	withheld *WithheldItem     // why they are not offered; nil: they are
}

// text returns the instructions, as far as they are pinned.
func (i *serverInstructions) text() string {
	if i.pinned == nil {
		return ""
	}
	text, _ := jsonscan.Text(jsonscan.Member(i.pinned[0], "text"))
	return text
}

// offered returns the text that clients may get.
func (i *serverInstructions) offered() string {
	if i.withheld != nil {
		return ""
	}
	return i.text()
}

// list returns the list of a kind of items.
func (u *upstreamServer) list(kind mcp.Kind) *itemList {
	i := slices.IndexFunc(u.lists, func(l *itemList) bool { return l.kind == kind })
	return u.lists[i]
}

// fetchers returns the fetchers of all lists.
func (u *upstreamServer) fetchers() (all []*listfetch.Fetcher) {
	for _, l := range u.lists {
		all = append(all, l.fetcher)
	}
	return all
}

// notify wakes run. It does not block.
func (u *upstreamServer) notify() { wake.Up(u.wake) }

func (u *upstreamServer) warn(message string, err error) {
	u.g.o.Logger.Warn("gateway: "+message, slog.String("server", u.id), slog.Any("error", err))
}

// warnAmbiguous logs that a question is refused.
func (u *upstreamServer) warnAmbiguous(method string) {
	u.g.o.Logger.Warn(
		"gateway: a question is refused: the server does not say which call it belongs to",
		slog.String("server", u.id), slog.String("method", method))
}
