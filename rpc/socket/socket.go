// Package socket serves JSON-RPC on the connections of a listener: TCP and Unix sockets, or any
// other [net.Listener].
//
//	newPeer := func(conn net.Conn) *rpc.Peer {
//		return rpc.Options{Handler: router.Serve}.New(conn)
//	}
//	err := socket.Options{}.ListenAndServe(ctx, "tcp", "127.0.0.1:4711", newPeer)
//
// It is a separate package so that a program that speaks on standard input and output does not link
// package net.
package socket

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc"
)

// Options configures how connections are served.
type Options struct {
	// MaxConns is how many connections are served at once. Others wait. Default 256.
	MaxConns int
	// IdleTimeout is how long Serve runs without a connection before it returns. Zero means no
	// limit.
	IdleTimeout time.Duration
	// Grace is how long handlers may run on after Serve has stopped accepting, as in
	// [rpc.Peer.Shutdown]. Zero cancels them at once.
	Grace time.Duration
}

// ListenAndServe listens on a network address, as [net.Listen] does, and calls [Options.Serve].
func (o Options) ListenAndServe(ctx context.Context, network, address string,
	newPeer func(net.Conn) *rpc.Peer) error {
	var config net.ListenConfig
	ln, err := config.Listen(ctx, network, address)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	return o.Serve(ctx, ln, newPeer)
}

// Serve accepts connections from ln until ctx ends, Options.IdleTimeout has passed without a
// connection, or Accept fails. It calls newPeer for each connection, concurrently; if newPeer
// returns nil or panics, Serve closes the connection. [rpc.Options].Context of a peer must not end
// with ctx, or its handlers have no Grace.
//
// Before Serve returns, it closes ln, shuts down all peers, and waits for their handlers. It
// returns nil after the end of ctx and after IdleTimeout, else the error of Accept.
func (o Options) Serve(ctx context.Context, ln net.Listener,
	newPeer func(net.Conn) *rpc.Peer) error {
	if o.MaxConns <= 0 {
		o.MaxConns = 256
	}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer ln.Close()
	context.AfterFunc(ctx, func() { _ = ln.Close() })

	accepted, failed := make(chan net.Conn), make(chan error, 1)
	running.Go(func() { failed <- accept(ctx, ln, accepted) })
	idle := time.NewTimer(o.IdleTimeout)
	if o.IdleTimeout <= 0 {
		idle.Stop()
	}
	closed := make(chan struct{})
	for open := 0; ; {
		next := accepted
		if open == o.MaxConns {
			next = nil
		}
		select {
		case conn := <-next:
			open++
			idle.Stop()
			running.Go(func() {
				serveConn(ctx, conn, newPeer, o.Grace)
				select {
				case closed <- struct{}{}:
				case <-ctx.Done():
				}
			})
		case <-closed:
			if open--; open == 0 && o.IdleTimeout > 0 {
				idle.Reset(o.IdleTimeout)
			}
		case <-idle.C:
			return nil
		case <-ctx.Done():
			return nil
		case err := <-failed:
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("socket: %w", err)
		}
	}
}

// accept sends the connections of ln to accepted until ctx ends or Accept fails. It tries again if
// the process has no file descriptor left, as net/http does.
func accept(ctx context.Context, ln net.Listener, accepted chan<- net.Conn) error {
	for {
		conn, err := ln.Accept()
		if e, ok := err.(net.Error); ok && e.Temporary() {
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		if err != nil {
			return err
		}
		select {
		case accepted <- conn:
		case <-ctx.Done():
			_ = conn.Close()
			return ctx.Err()
		}
	}
}

// serveConn runs a peer until it closes or ctx ends.
func serveConn(ctx context.Context, conn net.Conn, newPeer func(net.Conn) *rpc.Peer,
	grace time.Duration) {
	var peer *rpc.Peer
	if contain.Run(func() { peer = newPeer(conn) }) != nil || peer == nil {
		_ = conn.Close()
		return
	}
	select {
	case <-peer.Closed():
	case <-ctx.Done():
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		_ = peer.Shutdown(ending)
	}
	_ = peer.Wait()
}
