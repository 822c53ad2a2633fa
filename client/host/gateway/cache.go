package gateway

import (
	"crypto/sha256"
	"encoding/json"
	"os"

	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/listcache"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// usesCache reports whether the server's lists are cached.
func (u *upstreamServer) usesCache() bool { return u.g.o.CacheDir != "" && u.digest != "" }

// loadCache offers the cached lists, but for those that were fetched meanwhile. It reports false if
// a list is missing or the file is invalid, so that the server must be listed.
func (u *upstreamServer) loadCache() (complete bool) {
	if !u.usesCache() {
		return false
	}
	r, text, ok := listcache.Read(listcache.Path(u.g.o.CacheDir, u.id))
	if !ok {
		return false
	}
	all := make([][]*definition.Definition, len(u.lists))
	for i, l := range u.lists {
		var invalid []definition.Invalid
		all[i], invalid = definition.ParseTexts(l.kind, *r.Of(l.kind), u.overrides)
		if invalid != nil {
			return false // saveCache writes valid definitions only
		}
	}
	if r.Digest != u.digest {
		// the lists may have changed, but later servers must not get the names in the meantime
		for i, l := range u.lists {
			l.reserve(all[i])
		}
		return false
	}
	u.applying.Lock()
	defer u.applying.Unlock()
	if u.ctx.Err() != nil || u.disabled.Load() {
		return true
	}
	u.cached, u.server = sha256.Sum256(text), r.Name
	complete = true
	for i, l := range u.lists {
		complete = l.setCached(r.Name, *r.Of(l.kind) == nil, all[i]) && complete
	}
	u.setInstructions(r.Name, r.Instructions) // after the tools, see admitInstructions
	return complete
}

// setCached offers a cached list, unless it is missing or the list of a client is offered. It
// reports whether the list is known now.
func (l *itemList) setCached(server string, missing bool, all []*definition.Definition) bool {
	if l.fetcher.Source() == nil && !missing {
		l.setListed(server, all, nil)
	}
	return l.hasListed
}

// saveCache writes the lists if one was fetched since the last time and they have changed.
func (u *upstreamServer) saveCache() {
	if !u.usesCache() {
		return
	}
	u.applying.Lock()
	defer u.applying.Unlock()
	if !u.unsaved {
		return
	}
	u.unsaved = false
	lists := listcache.Lists{Digest: u.digest, Name: u.server,
		Instructions: u.instructions.Load().text()}
	for _, l := range u.lists {
		*lists.Of(l.kind) = l.texts
	}
	text, err := mcp.Marshal(lists)
	sum := sha256.Sum256(text)
	if err != nil || sum == u.cached || len(text) > listcache.MaxSize {
		return
	}
	if err = os.MkdirAll(u.g.o.CacheDir, 0o700); err == nil {
		err = atomicfile.Write(listcache.Path(u.g.o.CacheDir, u.id), json.RawMessage(text), 0o600)
	}
	if err != nil {
		u.warn("the lists of a server cannot be cached", err)
		return
	}
	u.cached = sum
}
