// Package era determines the era of a server from its response to the probe server/discover.
package era

import (
	"errors"
	"slices"

	"github.com/stdwire/stdwire/client/internal/errtext"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Preference holds the acceptable era and the preferred revision.
type Preference struct {
	Era      mcp.Era      // zero for either
	Revision mcp.Revision // "" for the newest
}

// An Outcome is the meaning of a response to the probe. If Err is set, the connection fails. If
// Revision is legacy, initialize comes next. If it is modern, Discovered is the result, or nil if
// the probe must be repeated with that revision, which may be the same as before.
type Outcome struct {
	Revision   mcp.Revision
	Discovered *mcp.DiscoverResult
	Err        error
}

// Classify interprets the response to server/discover in a revision (2026-07-28, stdio,
// "Backward Compatibility"). A valid result and the error codes that only modern servers use mean a
// modern server. Any other response means a legacy server that does not know the method.
func Classify(result []byte, err error, asked mcp.Revision, w Preference) Outcome {
	refusal, refused := errors.AsType[*rpc.Error](err)
	switch {
	case err != nil && !refused && !errors.Is(err, rpc.ErrProtocol):
		return Outcome{Err: err} // no response: the connection ended
	case refused && refusal.Code == mcp.CodeUnsupportedProtocolVersion:
		var data mcp.UnsupportedProtocolVersionData
		if mcp.Unmarshal(refusal.Data, &data) != nil || len(data.Supported) == 0 {
			return Outcome{Err: refusal}
		}
		return w.choose(data.Supported)
	case refused && mcp.IsModernError(int64(refusal.Code)), refused && refusal.Code == rpc.CodeBusy:
		return Outcome{Err: refusal} // a busy server has not looked at the method
	case err == nil && isDiscoverResult(result):
		found := new(mcp.DiscoverResult)
		if err := mcp.Unmarshal(result, found); err != nil {
			return Outcome{
				Err: errtext.Protocol("an invalid result of server/discover: %v", err)}
		}
		v := w.choose(found.SupportedVersions)
		if v.Revision == asked {
			v.Discovered = found
		}
		return v
	}
	if w.Era == mcp.Modern {
		if err == nil {
			err = errtext.Protocol("an invalid result of server/discover")
		}
		return Outcome{Err: &eraError{mcp.Modern, err}}
	}
	return w.Legacy()
}

// isDiscoverResult distinguishes a DiscoverResult from a result that a server returns for any
// unknown method.
func isDiscoverResult(result []byte) bool {
	versions := jsonscan.Member(result, "supportedVersions")
	return len(versions) > 0 && versions[0] == '['
}

// choose selects one of the revisions that a modern server offers.
func (w Preference) choose(offered []string) Outcome {
	var acceptable []string
	for _, o := range offered {
		if era := mcp.EraOf(mcp.Revision(o)); era != 0 && (w.Era == 0 || era == w.Era) {
			acceptable = append(acceptable, o)
		}
	}
	if slices.Contains(acceptable, string(w.Revision)) {
		return Outcome{Revision: w.Revision}
	}
	if len(acceptable) > 0 {
		return Outcome{Revision: mcp.Revision(slices.Max(acceptable))} // the newest
	}
	return Outcome{
		Err: errtext.Protocol("the server speaks %.200q; this client speaks %q", offered,
			w.supported())}
}

// supported returns the acceptable revisions.
func (w Preference) supported() []mcp.Revision {
	if w.Era != 0 {
		return mcp.Supported(w.Era)
	}
	return mcp.Supported()
}

// Legacy returns the outcome that initialize comes next, with the preferred revision if it is
// legacy.
func (w Preference) Legacy() Outcome {
	if mcp.EraOf(w.Revision) == mcp.Legacy {
		return Outcome{Revision: w.Revision}
	}
	return Outcome{Revision: mcp.LatestLegacy}
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
