package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// A conn is a connection after its handshake. What does not belong to the goroutine that reads is
// guarded by the mutex of its link.
type conn struct {
	net.Conn
	replies *reader
	silence time.Duration // after which the server is dead

	wake     chan struct{} // the writer looks again
	sent     []*call       // whose replies are awaited, in order
	again    []*call       // which the server has not run and shall run on the next connection
	answered bool          // it has replied to a command
	retired  error         // if not nil, why nothing more is sent
	broken   bool
}

// Read ends the connection, rather than a reply, when nothing has come for too long.
func (c *conn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.silence)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w for %v", errSilent, c.silence)
	}
	return n, err
}

// exchange sends a command and returns its reply, while nobody else uses the connection.
func (c *conn) exchange(args ...string) (Reply, error) {
	if _, err := c.Write(appendCommand(nil, args...)); err != nil {
		return Reply{}, err
	}
	reply, err := c.replies.read()
	if err == nil {
		err = reply.Err()
	}
	return reply, err
}

// connect returns a connection to the server, or to the master that a Sentinel names.
func (o *Options) connect(ctx context.Context) (*conn, error) {
	address := o.Address
	if len(o.Sentinels) > 0 {
		var err error
		if address, err = o.master(ctx); err != nil {
			return nil, err
		}
	}
	c, err := o.open(ctx, o.Network, address, o.Username, o.Password, func(c *conn) error {
		if o.Database != 0 {
			if _, err := c.exchange("SELECT", strconv.Itoa(o.Database)); err != nil {
				return err
			}
		}
		_, err := c.exchange("PING") // HELLO is answered while the server loads, too
		if e, ok := errors.AsType[Error](err); ok && notRun[e.Code()] == "" {
			return nil // the user need not have the permission
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return c, nil
}

// master asks the Sentinels, in turn, for the address of the master.
func (o *Options) master(ctx context.Context) (address string, err error) {
	var failures []error
	for _, sentinel := range o.Sentinels {
		c, err := o.open(ctx, "tcp", sentinel, o.SentinelUsername, o.SentinelPassword,
			func(c *conn) error {
				reply, err := c.exchange("SENTINEL", "GET-MASTER-ADDR-BY-NAME", o.MasterName)
				if err != nil {
					return err
				}
				items, err := reply.Items()
				if err != nil || len(items) != 2 {
					return fmt.Errorf("the Sentinel knows no master %q", o.MasterName)
				}
				address = net.JoinHostPort(string(items[0].text), string(items[1].text))
				return nil
			})
		if err == nil {
			_ = c.Close()
			return address, nil
		}
		failures = append(failures, fmt.Errorf("sentinel %s: %w", sentinel, err))
	}
	return "", errors.Join(failures...)
}

// open connects, says hello, and calls then, all within the timeout. Errors have no password.
func (o *Options) open(ctx context.Context, network, address, user, password string,
	then func(*conn) error) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	nc, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if o.TLS != nil {
		config := o.TLS.Clone()
		if host, _, err := net.SplitHostPort(address); err == nil && config.ServerName == "" {
			config.ServerName = host
		}
		nc = tls.Client(nc, config)
	}
	c := &conn{Conn: nc, silence: o.Timeout, wake: make(chan struct{}, 1)}
	c.replies = newReader(c, o.MaxReply)
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	if err = c.hello(user, password); err == nil {
		err = then(c)
	}
	if !stop() { // closed in the middle
		err = errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		_ = nc.Close()
		return nil, redact(err, password)
	}
	return c, nil
}

func (c *conn) hello(user, password string) error {
	args := []string{"HELLO", "3"}
	if user != "" || password != "" {
		user = cmp.Or(user, "default")
		args = append(args, "AUTH", user, password)
	}
	reply, err := c.exchange(args...)
	if e, ok := errors.AsType[Error](err); ok {
		switch e.Code() {
		case "NOAUTH":
			return errors.New("the server wants a password, and there is none")
		case "WRONGPASS":
			return errors.New("the server accepts no such user and password")
		case "NOPROTO":
			return errors.New("the server does not speak RESP3: it must be Redis 6 or later")
		}
		if strings.Contains(string(e), "unknown command") {
			return errors.New("the server does not know HELLO: it must be Redis 6 or later")
		}
	}
	if err != nil {
		return err
	}
	items, err := reply.Items()
	if err != nil || len(items)%2 != 0 {
		return fmt.Errorf("%w: the reply to HELLO is no map", errProtocol)
	}
	for i := 0; i < len(items); i += 2 {
		switch key, value := string(items[i].text), string(items[i+1].text); {
		case key == "mode" && value == "cluster":
			return ErrCluster
		case key == "role" && (value == "replica" || value == "slave"):
			return errReplica
		}
	}
	return nil
}

// redact returns err without the password, should the server repeat it.
func redact(err error, password string) error {
	if password == "" || !strings.Contains(err.Error(), password) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), password, "…"))
}
