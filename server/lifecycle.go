package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
	"github.com/stdwire/stdwire/server/internal/sealed"
)

// capabilities returns the server's capabilities for an era.
func (s *Server) capabilities(e *era.Era) mcp.ServerCapabilities {
	has := s.declaredKinds()
	announces := !e.Stateless // changes of lists
	c := mcp.ServerCapabilities{Tools: &mcp.ListCapability{ListChanged: announces}}
	if !e.Replicated {
		c.Logging = &mcp.Object{}
	}
	if has.resources {
		c.Resources = &mcp.ListCapability{Subscribe: !e.Replicated, ListChanged: announces}
	}
	if has.prompts {
		c.Prompts = &mcp.ListCapability{ListChanged: announces}
	}
	if has.completions {
		c.Completions = &mcp.Object{}
	}
	c.Extensions = s.extensions.declared(e, has) // in both eras (SEP-2133, Negotiation)
	if has.tasks && e.ExperimentalTasks() {
		c.Tasks = &mcp.TasksCapability{
			List: &mcp.Object{}, Cancel: &mcp.Object{},
			Requests: map[string]json.RawMessage{"tools": json.RawMessage(`{"call":{}}`)},
		}
	}
	if s.o.Capabilities != nil {
		s.o.Capabilities(&c)
	}
	return c
}

func (s *Server) appendCapabilities(dst []byte, e *era.Era) []byte {
	text, err := mcp.Marshal(s.capabilities(e))
	if err != nil {
		// cannot fail: New has encoded them before
		panic("server: the capabilities cannot be encoded: " + err.Error())
	}
	return append(dst, text...)
}

// Declare makes the server declare the capabilities for these kinds, or for all if there is none,
// before the first item of each is added, because a legacy client reads the capabilities only once,
// in the result of initialize. Tools are always declared; prompts and templates imply completions.
// [mcp.KindApp] declares the apps extension before [Server.AddApp]: afterwards the _meta of the
// server's definitions says which tools have apps, and items with the extension [mcp.ExtensionApps]
// belong to apps.
func (i Integration) Declare(kinds ...mcp.Kind) {
	s := i.s
	if len(kinds) == 0 {
		kinds = slices.Collect(mcp.Kinds())
	}
	for _, kind := range kinds {
		switch kind {
		case mcp.KindApp:
			s.apps.used.Store(true)
			continue
		case mcp.KindPrompt, mcp.KindResourceTemplate:
			s.completions.Store(true)
		}
		if c := s.added[kind]; c != nil {
			c.EverUsed.Store(true)
		}
	}
}

// discover answers server/discover (2026-07-28, server/discover).
func discover(r *request) (*Result, error) {
	s := r.conn.server
	result := s.appendCapabilities(
		[]byte(`{"supportedVersions":["`+string(mcp.Latest)+`"],"capabilities":`), r.era)
	result = r.appendInstructions(result)
	return NewResult(s.results.AppendEnd(
		s.results.AppendHints(result, s.o.PublicLists, false), true)), nil
}

// initialize answers the legacy handshake (2025-11-25, basic/lifecycle). A client may repeat it;
// the last one counts.
func initialize(r *request) (*Result, error) {
	version, ok := jsonscan.Unquote(jsonscan.Member(r.Params, "protocolVersion"))
	if !ok {
		return nil, rpc.Errorf(rpc.CodeInvalidParams,
			"Invalid params: protocolVersion is required and must be a string")
	}
	revision := era.Negotiate(string(version))
	features, _ := mcp.FeaturesOf(revision)
	// the params are valid only during the request
	capabilities := jsonscan.Member(r.Params, "capabilities")
	carried := r.conn.session == SessionCarried
	if carried {
		capabilities = nil
	}
	kept, err := era.Kept(capabilities)
	if err != nil {
		return nil, err
	}
	agreed := &era.Era{Revision: revision, StructuredContent: features.StructuredOutput,
		Capabilities: kept, Replicated: carried, NoTasks: r.conn.hasNoTasks(),
		Stateless: r.conn.isStateless(),
		Client:    era.ReadClientInfo(jsonscan.Member(r.Params, "clientInfo"))}
	if err := r.conn.agree(r.quotaOwner(), agreed); err != nil {
		return nil, err
	}
	if peer := r.Peer(); peer != nil {
		peer.AllowBatch(features.Batch)
		r.conn.setLink(peer)
	}

	s := r.conn.server
	result := s.appendCapabilities(
		[]byte(`{"protocolVersion":"`+string(revision)+`","capabilities":`), agreed)
	result = append(append(result, `,"serverInfo":`...), s.results.Info...)
	result = r.appendInstructions(result)
	return NewResult(append(result, '}')), nil
}

// appendInstructions appends the member instructions: the server's own and then those of its
// upstreams, with an empty line between them. It appends nothing if there are none.
func (r *request) appendInstructions(dst []byte) []byte {
	s := r.conn.server
	text := s.o.Instructions
	if more := s.upstreams.Load().Instructions; more != nil {
		text = strings.TrimPrefix(text+"\n\n"+more(r), "\n\n")
	}
	if text = strings.TrimSuffix(text, "\n\n"); text != "" {
		dst = jsonscan.AppendString(append(dst, `,"instructions":`...), text)
	}
	return dst
}

// initialized handles notifications/initialized. From then on the server may send change
// notifications.
func initialized(c *Conn, _ *rpc.Request) {
	c.initialized.Store(true)
	c.server.clientEvents.Emit(c, ClientReady)
}

func rootsChanged(c *Conn, _ *rpc.Request) { c.server.clientEvents.Emit(c, ClientRoots) }

// A sessionState is what initialize and later requests have made of a session.
type sessionState struct {
	ID           string           `json:"id"` // see Conn.sessionID
	Revision     mcp.Revision     `json:"revision"`
	Capabilities json.RawMessage  `json:"capabilities,omitempty"`
	Client       era.ClientInfo   `json:"client"`
	Initialized  bool             `json:"initialized,omitempty"`
	LogLevel     mcp.LoggingLevel `json:"logLevel,omitempty"`
	URIs         []string         `json:"uris,omitempty"` // of resources/subscribe, sorted
}

// carriedLifetime is how long servers accept a session that its client carries.
const carriedLifetime = 24 * time.Hour

// SessionState returns the state of a legacy client that has sent initialize, for
// [Conn.SetSessionState]: what the client has said of itself, its log level and its subscriptions
// to resources. Equal states have equal texts.
//
// With [SessionCarried] the state is the session ID: the negotiated revision, encrypted, in visible
// ASCII. It is valid for 24 hours, and for the client's principal.
func (c *Conn) SessionState() ([]byte, error) {
	e := era.Legacy(c.legacy.Load())
	if c.session == SessionCarried {
		id, err := c.server.sealer().Session(e.Revision, carriedLifetime, c.sessionBinding())
		return []byte(id), err
	}
	c.mu.Lock()
	uris := slices.Sorted(maps.Keys(c.told.URIs))
	c.mu.Unlock()
	return json.Marshal(sessionState{c.sessionID(), e.Revision, e.Capabilities, e.Client,
		c.initialized.Load(), c.LogLevel(), uris})
}

// SetSessionState gives a connection a state that [Conn.SessionState] has returned on this server
// or another one, of a connection with the same [SessionScope], in place of an earlier state. ctx
// is that of the request which needs it. A client that is initialized now, and was not in the
// earlier state, is told that all lists may have changed. It fails if there is no room for the
// state, for one that cannot be read and, with [SessionCarried], for one that has expired or
// belongs to another principal.
func (c *Conn) SetSessionState(ctx context.Context, state []byte) error {
	if c.session == SessionCarried {
		return c.setCarried(string(state))
	}
	var want sessionState
	if err := json.Unmarshal(state, &want); err != nil {
		return err
	}
	features, ok := mcp.FeaturesOf(want.Revision)
	if !ok || mcp.EraOf(want.Revision) != mcp.Legacy {
		return sealed.ErrSession
	}
	again := c.legacy.Load() != nil
	r := &request{Context: ctx, conn: c}
	if err := c.agree(r.quotaOwner(), &era.Era{Revision: want.Revision,
		StructuredContent: features.StructuredOutput, Capabilities: want.Capabilities,
		Client: want.Client, NoTasks: c.hasNoTasks()}); err != nil {
		return err
	}
	c.mu.Lock()
	c.randomID = want.ID
	c.mu.Unlock()
	if err := c.setSubscribed(r, want.URIs); err != nil {
		return err
	}
	if want.Initialized && !c.initialized.Load() {
		initialized(c, nil)
		if again {
			// of what has changed since then, it was not told here
			Integration{c.server}.Announce(c, "", "")
		}
	}
	if want.LogLevel != c.LogLevel() {
		c.logLevel.Store(want.LogLevel)
		c.server.clientEvents.Emit(c, ClientLevel)
	}
	return nil
}

// setCarried is SetSessionState for a session that the client carries.
func (c *Conn) setCarried(id string) error {
	revision, err := c.server.sealer().OpenSession(id, c.sessionBinding())
	if err != nil {
		return err
	}
	e, ok := era.Replicated(revision)
	if !ok {
		return sealed.ErrSession
	}
	c.legacy.Store(e)
	c.initialized.Store(true)
	return nil
}

func (c *Conn) sessionBinding() []byte {
	sum := sha256.Sum256([]byte("legacy session\n" + c.principal))
	return sum[:]
}

func ping(*request) (*Result, error) { return NewResult([]byte(`{}`)), nil }

// Ping sends a ping to a legacy client, and blocks until the client responds or ctx ends
// (2025-11-25, basic/utilities/ping). It returns [ErrNoRequest] outside of a request, and for a
// modern client, which cannot be called.
func Ping(ctx context.Context) error {
	r := requestFrom(ctx)
	if r == nil || r.era.Modern {
		return ErrNoRequest
	}
	return r.link.Call(ctx, mcp.MethodPing, nil, nil)
}
