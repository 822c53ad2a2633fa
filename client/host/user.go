package host

import "context"

type (
	userKey       struct{}
	latestUserKey struct{}
)

// WithUser returns a context for [Manager.Use] of a server with [PerUser], with what
// [Server.Connect] needs to know of the user beyond his name, such as a token of his. The Manager
// keeps the latest value that is not nil for as long as the user has a client.
func WithUser(ctx context.Context, user any) context.Context {
	return context.WithValue(ctx, userKey{}, user)
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
	if user := ctx.Value(userKey{}); user != nil && sv.key.session != "" {
		sv.mu.Lock()
		sv.user = user
		sv.mu.Unlock()
	}
}

func (sv *supervisor) latestUser() any {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.user
}
