package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/credential"
	"github.com/stdwire/stdwire/server/auth"
	"github.com/stdwire/stdwire/server/streamable"
)

// callerValues are what a server tells another one of the caller of a request that it passes on.
type callerValues struct {
	Identity *auth.Identity `json:"identity,omitempty"`
	// Header has the headers of the request, for the credentials of servers.
	Header http.Header `json:"header,omitempty"`
}

// passCallersOn lets requests that are passed on to other servers have the identity of the caller
// and, while needsHeader returns true, his headers. f may be nil.
func passCallersOn(f *streamable.Forward, needsHeader func() bool) {
	if f == nil {
		return
	}
	f.Values = func(ctx context.Context) ([]byte, error) {
		values := callerValues{Identity: auth.IdentityFrom(ctx)}
		if needsHeader() {
			values.Header = credential.InboundHeader(ctx)
		}
		return json.Marshal(values)
	}
	f.WithValues = func(ctx context.Context, text []byte) (context.Context, error) {
		var values callerValues
		if err := json.Unmarshal(text, &values); err != nil {
			return nil, err
		}
		if values.Identity != nil {
			ctx = auth.WithIdentity(ctx, values.Identity)
		}
		return credential.WithInboundHeader(ctx, values.Header), nil
	}
}

// needsHeaders reports whether a server is used with credentials that come from the requests of its
// users.
func (st *Reloader) needsHeaders() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return slices.ContainsFunc(st.current.Servers, func(s *config.Server) bool {
		return s.Credentials != nil && s.Credentials.Type != config.CredentialOAuth
	})
}
