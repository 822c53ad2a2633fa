package server

import (
	"crypto/sha256"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/internal/sealed"
)

// errReplicated is the error for a request that a replicated connection cannot serve.
var errReplicated = rpc.Errorf(rpc.CodeInvalidRequest,
	"Invalid Request: servers that share their sessions, or have none, cannot do this for clients before %s",
	mcp.Latest)

// sealSession implements [Integration.SealSession].
func (c *Conn) sealSession(lifetime time.Duration) (string, error) {
	return c.server.sealer().Session(c.Revision(), lifetime, c.sessionBinding())
}

// restoreSession implements [Integration.RestoreSession].
func (c *Conn) restoreSession(id string) error {
	revision, err := c.server.sealer().OpenSession(id, c.sessionBinding())
	if err != nil {
		return err
	}
	e, ok := replicatedEra(revision)
	if !ok {
		return sealed.ErrSession
	}
	c.legacy.Store(e)
	c.initialized.Store(true)
	return nil
}

// replicatedEra returns the era of a legacy client of which only the revision is known.
func replicatedEra(revision mcp.Revision) (e *era, ok bool) {
	features, ok := mcp.FeaturesOf(revision)
	return &era{revision: revision, structuredContent: features.StructuredOutput, replicated: true},
		ok && mcp.EraOf(revision) == mcp.Legacy
}

func (c *Conn) sessionBinding() []byte {
	sum := sha256.Sum256([]byte("legacy session\n" + c.principal))
	return sum[:]
}
