package server

import "context"

// A missing waits for what there is not.
type missing struct {
	await func(ctx context.Context, kind Kind, name string) error
}

// AwaitMissing has await called when a client calls a tool, or gets a prompt, that this server does
// not have: for one that still learns what it has. When await has returned nil, the name is looked
// up once more. The error is as that of [Resource].Read. The latest one counts; nil asks nobody.
func (s *Server) AwaitMissing(await func(ctx context.Context, kind Kind, name string) error) {
	if await == nil {
		s.missing.Store(nil)
		return
	}
	s.missing.Store(&missing{await})
}

// awaitMissing waits until there may be something of that name, if anybody knows that.
func (r *request) awaitMissing(kind Kind, name []byte) error {
	s := r.conn.server
	if m := s.missing.Load(); m != nil && s.visible(r, kind, string(name)) {
		return m.await(r, kind, string(name))
	}
	return nil
}
