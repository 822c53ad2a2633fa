package rpchttp

import (
	"errors"
	"io"
	"net/http"

	"github.com/stdwire/stdwire/internal/hostname"
	"github.com/stdwire/stdwire/internal/lograte"
	"github.com/stdwire/stdwire/internal/quota"
)

const smallBody = 64 << 10 // bytes of a body that are not counted; its request is

// ownerOf returns the quota owner of a request, the network that it came from. Requests from this
// machine, as from a proxy, have the owner that may use everything.
func ownerOf(r *http.Request) string {
	if hostname.IsLoopback(hostname.Of(r.RemoteAddr)) {
		return ""
	}
	if network := lograte.Network(r.RemoteAddr); network.IsValid() {
		return network.String()
	}
	return r.RemoteAddr // HTTP middleware may set any text
}

// quotaRefusal returns the refusal for an error of a pool. what says what the owner has too much
// of.
func quotaRefusal(err error, what string) *refusal {
	switch {
	case errors.Is(err, quota.ErrNever):
		return refuse(http.StatusRequestEntityTooLarge, "Connection", "close",
			"the body is larger than the memory that one sender may use")
	case errors.Is(err, quota.ErrShare):
		return refuse(http.StatusTooManyRequests, "Retry-After", "1",
			"this sender has its share of %s; send it again later", what)
	}
	return refuse(http.StatusServiceUnavailable, "Retry-After", "1",
		"there are too many %s already; send it again later", what)
}

// readAll reads to EOF. It reserves memory before it allocates it, so that it grows with what
// arrives. Its error is that of the pool or of the reader.
func readAll(in io.Reader, memory *quota.Account) ([]byte, error) {
	body := make([]byte, 0, 1<<10)
	for {
		if len(body) == cap(body) {
			room := 2 * cap(body)
			if room > smallBody {
				if err := memory.Resize(int64(room)); err != nil {
					return nil, err
				}
			}
			body = append(make([]byte, 0, room), body...)
		}
		n, err := in.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch err {
		case nil:
		case io.EOF:
			return body, nil
		default:
			return nil, err
		}
	}
}
