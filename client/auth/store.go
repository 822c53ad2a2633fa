package auth

import "context"

// A Store keeps credentials between runs of a program, and shares them between programs. It must be
// safe for concurrent use and protect the credentials from other users. A panic in a method becomes
// an error.
type Store interface {
	// Find returns the credentials for an MCP server, which may be none. It may return an error
	// together with credentials if it could read only some.
	Find(endpoint string) ([]Credentials, error)
	// Put saves credentials and replaces those with the same Key.
	Put(Credentials) error
	// Delete removes the credentials with a Key. It is not an error if there are none.
	Delete(Key) error
	// Lock prevents other users of the Store, including other processes, from refreshing the
	// credentials with a Key until unlock is called. It waits for the lock until ctx ends.
	Lock(ctx context.Context, key Key) (unlock func(), err error)
}
