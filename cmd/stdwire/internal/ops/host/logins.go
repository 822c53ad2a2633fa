package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

// A UserLogin is the login of a user of the gateway at a server. It has no secrets.
type UserLogin struct {
	User   string   `json:"user" doc:"As the gateway has authenticated it."`
	Client string   `json:"client,omitempty" doc:"The OAuth client by which the user has logged in."`
	Server string   `json:"server"`
	State  string   `json:"state" doc:"valid, renewable (its token has expired, and can be renewed without the user) or expired."`
	Until  string   `json:"until" doc:"When it is forgotten unless it is renewed."`
	Issuer string   `json:"issuer" doc:"The authorization server."`
	Scopes []string `json:"scopes,omitempty"`
}

// MaxLogins is the maximum number of Logins in an [About].
const MaxLogins = 200

// A LoginKey names a login of a user at a server.
type LoginKey struct {
	User   string `json:"user" doc:"As host.about reports it."`
	Client string `json:"client,omitempty" doc:"As host.about reports it."`
	Server string `json:"server"`
}

// Revoked says how a login was revoked.
type Revoked struct {
	Warning string `json:"warning,omitempty" doc:"Why its tokens may stay valid until they expire."`
}

// revokeTimeout is enough to wait for a renewal that is in progress, and for the authorization
// server.
const revokeTimeout = time.Minute

// registerLogins adds the operation that revokes a login.
func (o *Options) registerLogins(r *registry) {
	add(r, dispatch.Spec{Name: "host.revoke", Type: dispatch.Lifecycle, Gate: Gate,
		Timeout: revokeTimeout,
		Summary: "Delete the login of a user at a server, revoke its tokens, and end the connections that use it.",
		Errors:  []dispatch.Code{dispatch.NotFound, dispatch.StateError}},
		func(ctx context.Context, in LoginKey) (out Revoked, err error) {
			if out, err = o.Revoke(ctx, in); err == nil {
				o.logAction(ctx, "revoked", slog.String("login", in.User),
					slog.String("at", in.Server))
			}
			return out, err
		})
}
