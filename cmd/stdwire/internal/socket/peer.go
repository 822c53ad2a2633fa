package socket

import (
	"encoding/json"
	"errors"
	"net"
	"os/user"
	"strconv"
	"sync"

	"github.com/stdwire/stdwire/server/auth"
)

// maxGroups limits the groups of a user.
const maxGroups = 256

// Peer returns a function that returns the identity of the user at the other end of a Unix socket,
// as of the time when that end connected: the issuer is "unix", the subject the name of the user,
// or the number if it has none, the groups those of the user, and the claims uid and gid the
// numbers. It returns nil if conn is no Unix socket, if the system cannot say who the user is or
// has more than 256 groups for him, or unless [HasPeers]. It may block, the first time, while the
// system looks up the user, and it is safe for concurrent use.
func Peer(conn net.Conn) func() *auth.Identity {
	return sync.OnceValue(func() *auth.Identity {
		uid, gid, ok := peerOf(conn)
		if !ok {
			return nil
		}
		number := strconv.FormatUint(uint64(uid), 10)
		group := strconv.FormatUint(uint64(gid), 10)
		id := &auth.Identity{Issuer: "unix", Subject: number, Claims: map[string]json.RawMessage{
			"uid": json.RawMessage(number), "gid": json.RawMessage(group)}}
		u, err := user.LookupId(number)
		if _, unknown := errors.AsType[user.UnknownUserIdError](err); unknown {
			return id
		}
		if err != nil {
			return nil // rules about his name or groups must not pass him
		}
		id.Subject = u.Username
		ids, err := u.GroupIds()
		if err != nil || len(ids) > maxGroups {
			return nil
		}
		for _, g := range ids {
			if found, err := user.LookupGroupId(g); err == nil {
				g = found.Name
			}
			id.Groups = append(id.Groups, g)
		}
		return id
	})
}
