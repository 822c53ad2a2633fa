package client

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// wish is which eras and revisions are acceptable.
type eraPreference struct {
	era      mcp.Era      // zero: either
	revision mcp.Revision // preferred; "" is the newest
}

// A verdict is what the answer to the probe means. If err is not nil, there is no connection. If revision is legacy, initialize comes next.
// If it is modern, discovered tells the rest, or is nil: then the probe is repeated in that revision, which may be the one that it was in before.
type probeOutcome struct {
	revision   mcp.Revision
	discovered *mcp.DiscoverResult
	err        error
}

// classify judges the answer to server/discover, asked in a revision: a result, or err (2026-07-28, stdio, "Backward Compatibility"). Only a
// result that is one and the errors that modern servers alone send are modern. Everything else that is an answer is a legacy server's way
// to say that it does not know the method.
func classifyProbe(result []byte, err error, asked mcp.Revision, w eraPreference) probeOutcome {
	refusal, refused := errors.AsType[*rpc.Error](err)
	switch {
	case err != nil && !refused && !errors.Is(err, rpc.ErrProtocol):
		return probeOutcome{err: err} // not an answer: the connection broke
	case refused && refusal.Code == mcp.CodeUnsupportedProtocolVersion:
		var data mcp.UnsupportedProtocolVersionData
		if mcp.Unmarshal(refusal.Data, &data) != nil || len(data.Supported) == 0 {
			return probeOutcome{err: refusal}
		}
		return w.choose(data.Supported)
	case refused && mcp.IsModernError(int64(refusal.Code)), refused && refusal.Code == rpc.CodeBusy:
		return probeOutcome{err: refusal} // who is busy has not looked at the method
	case err == nil && isDiscoverResult(result):
		found := new(mcp.DiscoverResult)
		if err := mcp.Unmarshal(result, found); err != nil {
			return probeOutcome{err: protocolError("the result of server/discover is not one: %v", err)}
		}
		v := w.choose(found.SupportedVersions)
		if v.revision == asked {
			v.discovered = found
		}
		return v
	}
	if w.era == mcp.Modern {
		if err == nil {
			err = protocolError("the result of server/discover is not one")
		}
		return probeOutcome{err: &eraError{mcp.Modern, err}}
	}
	return w.legacy()
}

// isDiscoverResult tells a discover result from what a server may answer to any method that it does not know.
func isDiscoverResult(result []byte) bool {
	versions := jsonscan.Member(result, "supportedVersions")
	return len(versions) > 0 && versions[0] == '['
}

// choose picks one of the revisions that a modern server offers.
func (w eraPreference) choose(offered []string) probeOutcome {
	var acceptable []string
	for _, o := range offered {
		if era := mcp.EraOf(mcp.Revision(o)); era != 0 && (w.era == 0 || era == w.era) {
			acceptable = append(acceptable, o)
		}
	}
	if slices.Contains(acceptable, string(w.revision)) {
		return probeOutcome{revision: w.revision}
	}
	if revision, ok := mcp.NewestCommon(acceptable); ok {
		return probeOutcome{revision: revision}
	}
	return probeOutcome{err: protocolError("the server speaks %.200q; this client speaks %q", offered, w.supported())}
}

// speaks returns the acceptable revisions.
func (w eraPreference) supported() []mcp.Revision {
	if w.era != 0 {
		return mcp.Supported(w.era)
	}
	return mcp.Supported()
}

// legacy is the verdict that initialize comes next, in the preferred revision if that is a legacy one.
func (w eraPreference) legacy() probeOutcome {
	if mcp.EraOf(w.revision) == mcp.Legacy {
		return probeOutcome{revision: w.revision}
	}
	return probeOutcome{revision: mcp.LatestLegacy}
}

// eraError is about a server that does not speak the era that was asked for.
type eraError struct {
	era mcp.Era
	err error
}

func (e *eraError) Error() string {
	return "the server does not speak the " + e.era.String() + " era: " + e.err.Error()
}
func (e *eraError) Unwrap() error { return e.err }

// A session is what was agreed on with the server, or found out.
type session struct {
	revision     mcp.Revision
	features     mcp.Features
	info         mcp.Implementation
	capabilities mcp.ServerCapabilities
	instructions string
	handshake    Handshake
}

// modernSession is the session of a server that has answered server/discover.
func modernSession(revision mcp.Revision, found *mcp.DiscoverResult) *session {
	s := &session{revision: revision, capabilities: found.Capabilities, instructions: found.Instructions}
	s.features, _ = mcp.FeaturesOf(revision)
	if info, err := found.Meta.ServerInfo(); err == nil && info != nil { // it is for display only: a server without is fine
		s.info = *info
	}
	return s
}

// legacySession judges the answer to initialize (2025-11-25, Lifecycle, "Version Negotiation").
func legacySession(result []byte) (*session, error) {
	var r mcp.InitializeResult
	if err := mcp.Unmarshal(result, &r); err != nil {
		return nil, protocolError("the result of initialize is not one: %v", err)
	}
	if mcp.EraOf(r.ProtocolVersion) != mcp.Legacy {
		return nil, protocolError("the server answers initialize with revision %.100q; this client speaks %q there",
			string(r.ProtocolVersion), mcp.Supported(mcp.Legacy))
	}
	s := &session{revision: r.ProtocolVersion, info: r.ServerInfo, capabilities: r.Capabilities, instructions: r.Instructions}
	s.features, _ = mcp.FeaturesOf(s.revision)
	return s, nil
}

// A Handshake is how the connection began.
type Handshake struct {
	Method string          // server/discover or initialize
	Took   time.Duration   // from the first request to the answer, so with the start of the process
	Result json.RawMessage // as the server wrote it
}
