package login

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

// lock prevents others, including other processes, from renewing or revoking a login. Those in a
// file share a few locks, which are files.
func (s *Store) lock(ctx context.Context, k Key) (unlock func(), err error) {
	name := fmt.Sprintf("%q %q %q", k.User, k.Client, k.Server)
	if s.path != "" {
		h := fnv.New32a()
		_, _ = h.Write([]byte(name))
		name = fmt.Sprintf("%s.%d.lock", s.path, h.Sum32()%fileLocks)
	}
	leave, err := s.lockHere(ctx, name)
	if err != nil {
		return nil, err
	}
	release := func() {}
	switch {
	case s.shared != nil:
		release, err = s.shared.lock(ctx, k)
	case s.path != "":
		release, err = atomicfile.Lock(ctx, name)
	}
	if err != nil {
		leave()
		return nil, err
	}
	return func() {
		release()
		leave()
	}, nil
}

// A localLock is held by whoever has sent to it.
type localLock struct {
	held  chan struct{}
	users int // who hold it or wait for it; Store.mu guards it
}

// lockHere is lock in this process.
func (s *Store) lockHere(ctx context.Context, name string) (unlock func(), err error) {
	s.mu.Lock()
	l := s.locks[name]
	if l == nil {
		l = &localLock{held: make(chan struct{}, 1)}
		s.locks[name] = l
	}
	l.users++
	s.mu.Unlock()
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(s.locks, name)
		}
	}
	select {
	case l.held <- struct{}{}:
		return func() {
			<-l.held
			leave()
		}, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
