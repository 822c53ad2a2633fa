package server

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/era"
)

// declaredKinds says which kinds of items a server has or has had. A declared capability stays
// declared.
type declaredKinds struct {
	tools, resources, prompts, completions, tasks, apps, skills bool
}

func (s *Server) declaredKinds() declaredKinds {
	return declaredKinds{
		tools: true,
		resources: s.resources.EverUsed.Load() || s.templates.EverUsed.Load() ||
			s.skills.EverUsed.Load(), // the files are resources
		prompts:     s.prompts.EverUsed.Load(),
		completions: s.completions.Load(),
		tasks:       s.tasks.enabled.Load(),
		apps:        s.apps.used.Load(),
		skills:      s.skills.EverUsed.Load(),
	}
}

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
