package store

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/stdwire/stdwire/internal/redis"
)

// Options say how a store is opened.
type Options struct {
	// Password is that of the user in the URL, or of the default one, so that the URL, which
	// others may see, need not have it.
	Password string
	// Secret is what the replicas have in common, at least 16 bytes.
	Secret []byte
	// Prefix begins all keys; "" stands for "stdwire:". Programs with another prefix or another
	// secret share nothing.
	Prefix string
	// Changed, if not nil, is called with nil whenever the server has been reached, and with the
	// reason whenever an attempt to has failed. Calls do not overlap; they must not block, and may
	// not close the store.
	Changed func(error)
}

// Open returns a store on the server of a URL, in the form of [redis.ParseURL]. It connects in the
// background, and again and again; until then and in between, methods fail at once. An error of
// Open says what is wrong with the URL or the options, without anything that may be secret. The
// caller closes the store.
func Open(url string, o Options) (*Redis, error) {
	server, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	if o.Password != "" {
		if server.Password != "" {
			return nil, errors.New("store: the URL has a password, and another one is given: leave " +
				"it out of the URL")
		}
		server.Password = o.Password
	}
	server.Changed = o.Changed
	client, err := redis.New(server)
	if err != nil {
		return nil, err
	}
	r, err := NewRedis(client, cmp.Or(o.Prefix, "stdwire:"), o.Secret)
	if err != nil {
		client.Close()
		return nil, err
	}
	r.url = server.URL()
	return r, nil
}

// URL returns the URL with which the store was opened, without users and passwords.
func (r *Redis) URL() string { return r.url }

// Close closes the connections. What waits ends with an error.
func (r *Redis) Close() { r.client.Close() }

// A Server is what a server says about itself. What it does not say is "".
type Server struct {
	Name    string // such as redis or valkey
	Version string
	// Eviction is which keys the server removes when it is full, such as noeviction or allkeys-lru.
	Eviction string
}

// Evicts reports whether the server removes keys when it is full that have not expired.
func (s Server) Evicts() bool { return s.Eviction != "" && s.Eviction != "noeviction" }

// Server asks the server about itself. A user of the server who may use neither INFO nor CONFIG
// learns nothing, which is no error.
func (r *Redis) Server(ctx context.Context) (s Server, err error) {
	s.Name = "redis"
	reply, err := r.client.DoIdempotent(ctx, "INFO")
	if err != nil {
		return s, ignoreRefusal(err)
	}
	text, err := reply.Bytes()
	if err != nil {
		return s, err
	}
	other := ""
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = value[:min(len(value), 100)]
		switch name {
		case "redis_version": // of others, the version of Redis that they are like
			s.Version = value
		case "server_name":
			s.Name = value
		case "valkey_version", "dragonfly_version":
			s.Name, _, _ = strings.Cut(name, "_")
			other = value
		case "maxmemory_policy":
			s.Eviction = value
		}
	}
	s.Version = cmp.Or(other, s.Version)
	if s.Eviction != "" {
		return s, nil
	}
	reply, err = r.client.DoIdempotent(ctx, "CONFIG", "GET", "maxmemory-policy")
	if err != nil {
		return s, ignoreRefusal(err)
	}
	items, err := reply.Items()
	if err == nil && len(items) == 2 {
		text, err = items[1].Bytes()
		s.Eviction = string(text)
	}
	return s, err
}

// ignoreRefusal returns err unless the server has refused a command.
func ignoreRefusal(err error) error {
	if _, ok := errors.AsType[redis.Error](err); ok {
		return nil
	}
	return err
}
