package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/internal/oauth"
)

// A challenge is what the WWW-Authenticate headers of a response say about the required token.
type challenge struct {
	resourceMetadataURL string   // resource_metadata
	scopes              []string // nil if there is no scope
	errorCode           string   // "error"
	dpopRequired        bool     // only DPoP tokens are accepted
	otherSchemes        bool     // there are challenges, but for other schemes only
	malformed           error    // what cannot be parsed; nil if there is nothing
}

// parseChallenge combines the Bearer and DPoP challenges of a response. It skips malformed ones.
func parseChallenge(h http.Header) challenge {
	all, err := oauth.ParseChallenges(h.Values("WWW-Authenticate"))
	w := challenge{otherSchemes: len(all) > 0, malformed: err}
	var found *oauth.Challenge
	for i, c := range all {
		if !c.Is(bearer) && !c.Is(dpop) {
			continue
		}
		w.otherSchemes = false
		switch {
		case found == nil:
			found, w.dpopRequired = &all[i], c.Is(dpop)
		case c.Is(bearer): // both schemes are accepted: keep the challenge that names the metadata
			w.dpopRequired = false
			if found.Get("resource_metadata") == "" {
				found = &all[i]
			}
		case c.Is(dpop) && c.Get("error") != "" && found.Get("error") == "":
			found, w.dpopRequired = &all[i], false
		default:
			w.dpopRequired = w.dpopRequired && c.Is(dpop)
		}
	}
	if found != nil {
		w.resourceMetadataURL = found.Get("resource_metadata")
		w.scopes = parseScopes(found.Get("scope"))
		w.errorCode = strings.ToLower(found.Get("error"))
	}
	return w
}

// explain adds to the error of an authorization that the challenge is malformed: the server may
// have said there what was missing.
func (w *challenge) explain(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || w.malformed == nil {
		return err
	}
	note := fmt.Sprintf("(the WWW-Authenticate header of the MCP server is malformed: %s)",
		sanitize(w.malformed.Error()))
	explained := *e
	if e.Err == nil {
		explained.Err = errors.New(note)
	} else {
		explained.Err = fmt.Errorf("%w %s", e.Err, note)
	}
	return &explained
}

// probe sends a request without a token and returns the challenge of the response.
func (a *Authorizer) probe(ctx context.Context) (challenge, error) {
	ctx = context.WithValue(a.traceAddress(ctx), allowPrivateKey{}, true)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.endpointText, nil)
	if err != nil {
		return challenge{}, newError(StepResource, a.endpointText, err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := a.httpClient.Do(req)
	if err != nil {
		return challenge{}, newError(StepResource, a.endpointText, err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized {
		return parseChallenge(resp.Header), nil
	}
	return challenge{}, nil
}
