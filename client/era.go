package client

import (
	"errors"
	"slices"

	"github.com/stdwire/stdwire/client/internal/errtext"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// eraPreference holds the acceptable era and the preferred revision.
type eraPreference struct {
	era      mcp.Era      // zero for either
	revision mcp.Revision // "" for the newest
}

// A probeOutcome is the meaning of a response to the probe. If err is set, the connection fails. If
// revision is legacy, initialize comes next. If it is modern, discovered is the result, or nil if
// the probe must be repeated with that revision, which may be the same as before.
type probeOutcome struct {
	revision   mcp.Revision
	discovered *mcp.DiscoverResult
	err        error
}

// classifyProbe interprets the response to server/discover in a revision (2026-07-28, stdio,
// "Backward Compatibility"). A valid result and the error codes that only modern servers use mean a
// modern server. Any other response means a legacy server that does not know the method.
func classifyProbe(result []byte, err error, asked mcp.Revision, w eraPreference) probeOutcome {
	refusal, refused := errors.AsType[*rpc.Error](err)
	switch {
	case err != nil && !refused && !errors.Is(err, rpc.ErrProtocol):
		return probeOutcome{err: err} // no response: the connection ended
	case refused && refusal.Code == mcp.CodeUnsupportedProtocolVersion:
		var data mcp.UnsupportedProtocolVersionData
		if mcp.Unmarshal(refusal.Data, &data) != nil || len(data.Supported) == 0 {
			return probeOutcome{err: refusal}
		}
		return w.choose(data.Supported)
	case refused && mcp.IsModernError(int64(refusal.Code)), refused && refusal.Code == rpc.CodeBusy:
		return probeOutcome{err: refusal} // a busy server has not looked at the method
	case err == nil && isDiscoverResult(result):
		found := new(mcp.DiscoverResult)
		if err := mcp.Unmarshal(result, found); err != nil {
			return probeOutcome{
				err: errtext.Protocol("an invalid result of server/discover: %v", err)}
		}
		v := w.choose(found.SupportedVersions)
		if v.revision == asked {
			v.discovered = found
		}
		return v
	}
	if w.era == mcp.Modern {
		if err == nil {
			err = errtext.Protocol("an invalid result of server/discover")
		}
		return probeOutcome{err: &eraError{mcp.Modern, err}}
	}
	return w.legacy()
}

// isDiscoverResult distinguishes a DiscoverResult from a result that a server returns for any
// unknown method.
func isDiscoverResult(result []byte) bool {
	versions := jsonscan.Member(result, "supportedVersions")
	return len(versions) > 0 && versions[0] == '['
}

// choose selects one of the revisions that a modern server offers.
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
	return probeOutcome{
		err: errtext.Protocol("the server speaks %.200q; this client speaks %q", offered,
			w.supported())}
}

// supported returns the acceptable revisions.
func (w eraPreference) supported() []mcp.Revision {
	if w.era != 0 {
		return mcp.Supported(w.era)
	}
	return mcp.Supported()
}

// legacy returns the outcome that initialize comes next, with the preferred revision if it is
// legacy.
func (w eraPreference) legacy() probeOutcome {
	if mcp.EraOf(w.revision) == mcp.Legacy {
		return probeOutcome{revision: w.revision}
	}
	return probeOutcome{revision: mcp.LatestLegacy}
}

// An eraError says that the server does not speak the required era.
type eraError struct {
	era mcp.Era
	err error
}

func (e *eraError) Error() string {
	return "the server does not speak the " + e.era.String() + " era: " + e.err.Error()
}
func (e *eraError) Unwrap() error { return e.err }
