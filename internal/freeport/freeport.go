// Package freeport finds addresses for servers that tests start.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Address returns a local address that nobody listens on. Its port is one that Linux, macOS and
// Windows, by default, give only to who asks for it: any other may be taken again before the server
// listens.
func Address() (string, error) {
	var err error
	for range 100 {
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", 15_000+rand.N(15_000))); err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", err
}
