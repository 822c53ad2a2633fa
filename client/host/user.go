package host

import "context"

type (
	userKey       struct{}
	latestUserKey struct{}
)

// userOf is what a context of WithUser says of a user.
type userOf struct {
	owner string
	value any
}

// WithUser returns a context for [Manager.Use] of a server with [PerUser]. The client of the user
// counts in the share that owner, a principal who may have several users, has of the server's
// MaxSessions; "" has no share of its own. value is what [Server.Connect] needs to know of the user
// beyond his name, such as a token of his. The Manager keeps the latest value that is not nil for
// as long as the user has a client.
func WithUser(ctx context.Context, owner string, value any) context.Context {
	return context.WithValue(ctx, userKey{}, userOf{owner, value})
}

// UserFrom returns, from the context of [Server.Connect], a function that returns the latest value
// of [WithUser] for the user of the client, or nil. The function may be called for as long as the
// client is open, because what is known of a user changes: tokens expire. It is safe for concurrent
// use. UserFrom returns nil for another context.
func UserFrom(ctx context.Context) func() any {
	latest, _ := ctx.Value(latestUserKey{}).(func() any)
	return latest
}

// setUser keeps the value of WithUser, if there is one.
func (sv *supervisor) setUser(ctx context.Context) {
	if of, _ := ctx.Value(userKey{}).(userOf); of.value != nil && sv.key.session != "" {
		sv.mu.Lock()
		sv.user = of.value
		sv.mu.Unlock()
	}
}

func (sv *supervisor) latestUser() any {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.user
}
