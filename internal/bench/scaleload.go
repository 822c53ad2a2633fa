package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// A loadCurve is a kind of load, of which a server gets up to max.
type loadCurve struct {
	things string
	factor int // from one number to the next; the last step may be smaller
	max    int
	run    func(n int, o options) (*loadRun, error)
}

const (
	sizeUnit       = 64       // of the texts whose sizes differ, in bytes
	maxSize        = 16 << 20 // of a text, in bytes
	maxConnections = 19_900

	// stdioTimeout is for the responses to calls over stdio, of up to 32 MiB each.
	stdioTimeout = 2 * time.Minute
)

// scaleLoadSuite measures how the costs of a server process grow with the load on it: modern calls
// of a typed echo.
func scaleLoadSuite(o options) ([]measure, error) { return scaleLoad(o, math.MaxInt) }

func scaleLoad(o options, limit int) ([]measure, error) {
	connections, err := allowedConnections(maxConnections)
	if err != nil {
		return nil, err
	}
	return measureLoads([]loadCurve{
		{"calls in flight", 4, 4096, func(n int, o options) (*loadRun, error) {
			return loadStdio(n, sizeUnit, o)
		}},
		{"× 64 B, one in flight", 4, maxSize / sizeUnit, func(n int, o options) (*loadRun, error) {
			return loadStdio(1, n*sizeUnit, o)
		}},
		{"× 64 B, 16 in flight", 4, maxSize / sizeUnit, func(n int, o options) (*loadRun, error) {
			return loadStdio(16, n*sizeUnit, o)
		}},
		{"connections, HTTP", 10, connections, loadHTTP},
		{"connections, Unix socket", 10, connections, loadUnix},
	}, o, limit)
}

// measureLoads measures each curve with 1 of its things and so on up to limit, each with a server
// process of its own. The row "call" is the time divided by the number of calls, whose rate is the
// inverse; "peak RSS" is VmHWM of Linux. The last column is the exponent of the growth since the
// preceding number.
func measureLoads(curves []loadCurve, o options, limit int) (all []measure, err error) {
	for _, c := range curves {
		last := min(c.max, limit)
		table := scaleTable{things: c.things}
		for n, before := 1, 0; n > before; before, n = n, min(c.factor*n, last) {
			r, err := c.run(n, o)
			if err != nil {
				return nil, fmt.Errorf("%d %s: %w", n, c.things, err)
			}
			table.add(n, []measure{
				{what: "call", value: 1e6 / r.rate(), unit: "µs", extra: fmt.Sprintf(
					"%.0f calls/s, p50 %.3g ms, %.1f µs CPU", r.rate(),
					milliseconds(r.quantile(0.5)), r.cpuPerCall())},
				{what: "call, p99", value: microseconds(r.quantile(0.99)), unit: "µs"},
				{what: "peak RSS", value: r.peakRSS, unit: "MiB"},
			})
		}
		all = append(all, table.rows...)
	}
	return all, nil
}

// loadStdio keeps calls in flight to a server over stdio.
func loadStdio(calls, size int, o options) (*loadRun, error) {
	p, err := startSelf("-loaded", "stdio", "-profile", o.profiles)
	if err != nil {
		return nil, err
	}
	// Reads from pipes have no deadline, and a server that does not end has to be killed, too.
	defer time.AfterFunc(2*o.time+stdioTimeout, func() { _ = p.cmd.Process.Kill() }).Stop()
	defer p.stop()
	// The response has the text twice. A buffer that is too small would make the client slow.
	p.in = bufio.NewReaderSize(p.in, 2*size+64<<10)
	frame := modern(callFrame("echo", 1, strings.Repeat("x", size)))
	return p.runLoad(o.time, func(d time.Duration) ([]time.Duration, time.Duration, error) {
		r, err := p.keepInFlight(calls, frame, d)
		if err != nil {
			return nil, 0, err
		}
		return r.times, r.took, nil
	})
}

// loadHTTP keeps a call in flight on each of n connections.
func loadHTTP(n int, o options) (*loadRun, error) {
	p, err := startHTTP("stdwire", o.profiles)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	return p.runClients(n, o.time, func(c *httpClient) error {
		if err := p.open(c); err != nil {
			return err
		}
		return firstCall(c)
	})
}

// loadUnix is like loadHTTP, with lines of JSON-RPC over a Unix socket.
func loadUnix(n int, o options) (*loadRun, error) {
	p, err := startListener("-loaded", "unix", o.profiles)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	call := modern(callFrame("echo", 1, string(httpEcho)))
	clients, err := openAll(n, func(int) (*socketClient, error) {
		conn, err := net.Dial("unix", p.address)
		if err != nil {
			return nil, err
		}
		c := newSocketClient(conn, call)
		return c, firstCall(c)
	})
	defer closeAll(clients)
	if err != nil {
		return nil, err
	}
	return p.runLoad(o.time, func(d time.Duration) ([]time.Duration, time.Duration, error) {
		return load(clients, d)
	})
}

// firstCall makes a call, so that the server has accepted the connection before another is made.
// The system refuses connections to a Unix socket if too many wait.
func firstCall(c loadClient) error {
	if err := c.SetDeadline(time.Now().Add(responseTimeout)); err != nil {
		return err
	}
	return c.echo()
}

// A socketClient makes one call at a time over one connection, and only checks that the response is
// correct.
type socketClient struct {
	net.Conn
	lines lineClient
	call  []byte
}

func newSocketClient(conn net.Conn, call []byte) *socketClient {
	return &socketClient{conn, lineClient{bufio.NewReaderSize(conn, 1<<10), conn}, call}
}

func (c *socketClient) echo() error {
	answer, err := c.lines.exchange(c.call)
	if err == nil && !isEcho(answer) {
		err = fmt.Errorf("the server says %.600s", answer)
	}
	return err
}

// serveLoaded is the main function of the server process: over stdio, or over a Unix socket until
// standard input ends. The responses may have the longest text twice, which the default limits
// forbid.
func serveLoaded(transport, profiles string) error {
	limits := rpc.Limits{Limits: framing.Limits{MaxAppend: 3 * maxSize}}
	s := server.Options{Limits: limits}.New(server.Info{Name: "echo", Version: "1"}, nil)
	server.AddTool(s, mcp.Tool{Name: "echo", Description: "Echo."}, echo)
	stop, err := profile(profiles, "stdwire-"+transport)
	if err != nil {
		return err
	}
	serve := s.ServeStdio
	if transport == "unix" {
		serve = func(ctx context.Context) error { return serveUnix(ctx, s) }
	}
	return errors.Join(serve(context.Background()), stop())
}

// serveUnix serves at an abstract socket, which is no file, and prints its address.
func serveUnix(ctx context.Context, s *server.Server) error {
	listener, err := net.Listen("unix", fmt.Sprintf("@stdwire-bench-%d", os.Getpid()))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	failed := make(chan error, 1)
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				failed <- exceptError(err, net.ErrClosed)
				return
			}
			running.Go(func() { _ = s.Serve(ctx, conn) })
		}
	})
	fmt.Println(listener.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	err = errors.Join(err, listener.Close())
	cancel()
	running.Wait()
	return errors.Join(err, <-failed)
}
