package server

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A portable connection is one of the legacy era over HTTP, with a client whose next request may come to another server: one of several behind one
// address, which share a [Options.StateKey] and nothing else. All that is remembered of the client is what it carries itself. So it is asked
// nothing, as the answer could come to another server, and it can neither subscribe to resources nor set a log level; the server does not declare that it could.

// errNotPortable is for what takes a memory.
var errNotPortable = rpc.Errorf(rpc.CodeInvalidRequest, "Invalid Request: servers that stand in for each other cannot do this for clients before %s", mcp.Latest)

// Portable makes a connection portable, before its client says initialize. It is for transports.
func (c *Conn) Portable() { c.portable = true }

// A handshake is what a client carries of what it has agreed on.
type handshake struct {
	Expires  int64        `json:"e"` // Unix time, seconds
	Revision mcp.Revision `json:"r"`
}

var errHandshake = errors.New("server: the client's session was opened by none of these servers, or too long ago")

// Carry returns what the client of a portable connection is to carry from its initialize on, for so long: visible ASCII, sealed, good for its
// principal only.
func (c *Conn) Carry(lives time.Duration) (string, error) {
	plain, err := json.Marshal(handshake{time.Now().Add(lives).Unix(), c.Revision()})
	if err != nil {
		return "", err
	}
	return c.server.sealer.sealText(plain, c.carrier()), nil
}

// Adopt has a new portable connection go on with what Carry has returned, on this server or another. It fails if that is not so, too old, or somebody else's.
func (c *Conn) Adopt(carried string) error {
	plain, err := c.server.sealer.openText(carried, c.carrier())
	var h handshake
	if err != nil || json.Unmarshal(plain, &h) != nil || time.Now().Unix() >= h.Expires {
		return errHandshake
	}
	features, ok := mcp.FeaturesOf(h.Revision)
	if !ok {
		return errHandshake
	}
	c.legacy.Store(&era{revision: h.Revision, structured: features.StructuredOutput, portable: true})
	c.open.Store(true)
	return nil
}

func (c *Conn) carrier() []byte {
	sum := sha256.Sum256([]byte("legacy session\n" + c.principal))
	return sum[:]
}
