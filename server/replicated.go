package server

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// errReplicated is the error for a request that a replicated connection cannot serve.
var errReplicated = rpc.Errorf(rpc.CodeInvalidRequest,
	"Invalid Request: servers that share their sessions, or have none, cannot do this for clients before %s",
	mcp.Latest)

// A sealedSession is the content of the session ID of a replicated connection.
type sealedSession struct {
	Expires  int64        `json:"e"` // Unix time, seconds
	Revision mcp.Revision `json:"r"`
}

var errSealedSession = errors.New(
	"server: the client's session was opened by none of these servers, or too long ago")

// sealSession implements [Integration.SealSession].
func (c *Conn) sealSession(lifetime time.Duration) (string, error) {
	plain, err := json.Marshal(sealedSession{time.Now().Add(lifetime).Unix(), c.Revision()})
	if err != nil {
		return "", err
	}
	return c.server.sealer().sealText(plain, c.sessionBinding()), nil
}

// restoreSession implements [Integration.RestoreSession].
func (c *Conn) restoreSession(id string) error {
	plain, err := c.server.sealer().openText(id, c.sessionBinding())
	var h sealedSession
	if err != nil || json.Unmarshal(plain, &h) != nil || time.Now().Unix() >= h.Expires {
		return errSealedSession
	}
	e, ok := replicatedEra(h.Revision)
	if !ok {
		return errSealedSession
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
