package redis

import (
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/quota"
)

// Bounds limit what a client holds. Zero values stand for the defaults.
type Bounds struct {
	MaxReply        int64 // memory of one reply, about; 64 MiB
	MaxPending      int   // commands, and subscriptions, at a time; further ones wait; 4096
	MaxPendingBytes int64 // of commands, and of messages of subscriptions; 64 MiB

	// Timeout is how long connecting takes at most, and how long the server may be silent before
	// it counts as dead; 10 s.
	Timeout time.Duration
}

// A Client talks to one server, or to the master that Sentinel names. Its methods are safe for
// concurrent use.
type Client struct {
	o        Options
	slots    chan struct{} // one for each command
	bytes    *quota.Pool
	commands *link

	mu       sync.Mutex
	closed   bool
	channels *channels // nil until the first subscription
}

// New returns a client, which connects in the background. The caller must close it.
func New(o Options) (*Client, error) {
	switch {
	case len(o.Sentinels) > 0 && o.MasterName == "":
		return nil, errors.New("redis: Sentinels need the name of the master")
	case len(o.Sentinels) == 0 && (o.Network == "" || o.Address == ""):
		return nil, errors.New("redis: the server has no address")
	}
	o.Network = cmp.Or(o.Network, "tcp")
	o.MaxReply = cmp.Or(o.MaxReply, 64<<20)
	o.MaxPending = cmp.Or(o.MaxPending, 4096)
	o.MaxPendingBytes = cmp.Or(o.MaxPendingBytes, 64<<20)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	c := &Client{o: o, slots: make(chan struct{}, o.MaxPending),
		bytes: quota.NewPool(o.MaxPendingBytes)}
	c.commands = newLink(&c.o, func() []*call { return nil }, func(Reply) {})
	if o.Changed != nil {
		c.commands.changed = o.Changed
	}
	go c.commands.run()
	return c, nil
}

// Close closes the connections and waits for the goroutines of the client. Commands without a reply
// and subscriptions end with an error.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	channels := c.channels
	c.mu.Unlock()
	c.commands.close()
	if channels != nil {
		channels.close()
	}
}

// Do sends a command and waits for its reply. An error of the server is an [Error]. Another one
// matches [ErrUnavailable], [ErrUnknown], [ErrTooLarge] or [ErrCluster]; it matches the context's
// cause as well if the context ends, which ends the waiting only.
func (c *Client) Do(ctx context.Context, args ...string) (Reply, error) {
	return c.do(ctx, newCall(args...))
}

// DoIdempotent is Do for a command that may run twice: if its reply is lost with the connection, it
// is sent again.
func (c *Client) DoIdempotent(ctx context.Context, args ...string) (Reply, error) {
	call := newCall(args...)
	call.idempotent = true
	return c.do(ctx, call)
}

func (c *Client) do(ctx context.Context, call *call) (Reply, error) {
	size := int64(len(call.frame))
	if size > c.o.MaxPendingBytes {
		return Reply{}, fmt.Errorf("%w: it has %d bytes, and the bound is %d", ErrTooLarge, size,
			c.o.MaxPendingBytes)
	}
	if err := ctx.Err(); err != nil {
		return Reply{}, unavailable(context.Cause(ctx))
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return Reply{}, unavailable(context.Cause(ctx))
	}
	if err := c.bytes.Wait(ctx, "", size); err != nil {
		<-c.slots
		return Reply{}, unavailable(err)
	}
	release := func() { // when it ends: a caller that leaves does not free its memory
		c.bytes.Give("", size)
		<-c.slots
	}
	call.then = release
	l := c.commands
	l.mu.Lock()
	err := l.add(call)
	l.mu.Unlock()
	if err != nil {
		release()
		return Reply{}, err
	}
	return l.wait(ctx, call)
}

// A Script is a Lua script that the server keeps under its digest.
type Script struct{ text, digest string }

// NewScript returns a script.
func NewScript(text string) Script {
	digest := sha1.Sum([]byte(text))
	return Script{text, hex.EncodeToString(digest[:])}
}

// Run runs a script, like [Client.Do]. If the server does not have it, for instance because it was
// restarted, it gets the text.
func (c *Client) Run(ctx context.Context, s Script, keys []string, args ...string) (Reply, error) {
	command := append([]string{"EVALSHA", s.digest, strconv.Itoa(len(keys))}, keys...)
	command = append(command, args...)
	reply, err := c.Do(ctx, command...)
	if IsCode(err, "NOSCRIPT") {
		command[0], command[1] = "EVAL", s.text
		reply, err = c.Do(ctx, command...)
	}
	return reply, err
}
