package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/eventually"
)

// Many callers share a connection, and each gets its own reply.
func TestCallersGetTheirOwnReplies(t *testing.T) {
	s := startFake(t, func(_ *fakeConn, args []string) string { return bulk(args[1]) })
	c := s.client(t)
	var callers sync.WaitGroup
	for i := range 64 {
		callers.Go(func() {
			for j := range 50 {
				want := fmt.Sprint(i, j)
				reply, err := c.Do(within(t), "ECHO", want)
				assert.Check(t, err)
				assert.Check(t, string(reply.text) == want)
			}
		})
	}
	callers.Wait()
	assert.Equal(t, s.count, 1)
}

// Commands are accepted when it is said that the server has been reached.
func TestChanged(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	address := l.Addr().String()
	failed, reached := make(chan error, 100), make(chan struct{})
	var c *Client
	created := make(chan struct{})
	c = connectTo(t, Options{Network: "tcp", Address: address, Changed: func(err error) {
		<-created
		if err != nil {
			failed <- err
			return
		}
		c.commands.mu.Lock()
		assert.Check(t, c.commands.down)
		c.commands.mu.Unlock()
		close(reached)
	}})
	close(created)
	refused, err := l.Accept()
	assert.NilError(t, err)
	assert.NilError(t, refused.Close())
	assert.ErrorContains(t, <-failed, address)
	_, err = c.Do(within(t), "PING")
	assert.ErrorIs(t, err, ErrUnavailable)
	startFakeAt(t, l, func(*fakeConn, []string) string { return "+PONG\r\n" })
	<-reached
	_, err = c.Do(within(t), "PING")
	assert.NilError(t, err)
}

// A caller whose context ends leaves, and the replies of others stay their own.
func TestCallerLeaves(t *testing.T) {
	hold := make(chan struct{})
	s := startFake(t, func(_ *fakeConn, args []string) string {
		if args[1] == "held" {
			<-hold
		}
		return bulk(args[1])
	})
	c := s.client(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	left := make(chan error)
	go func() {
		_, err := c.Do(ctx, "ECHO", "held")
		left <- err
	}()
	eventually.True(t, "the command is sent", func() bool { return s.commands() != "" })
	why := errors.New("no patience")
	cancel(why)
	err := <-left
	assert.ErrorIs(t, err, ErrUnknown)
	assert.ErrorIs(t, err, why)
	close(hold)
	reply, err := c.Do(within(t), "ECHO", "next")
	assert.NilError(t, err)
	assert.Equal(t, string(reply.text), "next")

	_, err = c.Do(ctx, "ECHO", "never sent")
	assert.ErrorIs(t, err, ErrUnavailable)
	assert.Equal(t, s.commands(), "ECHO held,ECHO next")
}

// A command whose reply is lost is not sent again, unless its caller says that it may be.
func TestLostReply(t *testing.T) {
	for _, answer := range []string{"", "$10\r\nabc", "garbage\r\n", "$99999999999\r\n",
		strings.Repeat("*1\r\n", 20)} {
		s := startFake(t, func(f *fakeConn, args []string) string {
			if f.number%2 == 1 && args[0] != "WARM" { // the first connection breaks
				_, _ = f.Write([]byte(answer))
				_ = f.Close()
			}
			return "+OK\r\n"
		})
		c := s.client(t)
		_, err := c.Do(within(t), "WARM")
		assert.NilError(t, err)
		_, err = c.Do(within(t), "INCR", "a")
		assert.ErrorIs(t, err, ErrUnknown)
		assert.Assert(t, !errors.Is(err, ErrUnavailable))
		_, err = c.Do(within(t), "GET", "a") // a new connection
		assert.NilError(t, err)
		assert.Equal(t, s.commands(), "WARM,INCR a,GET a")
	}
	s := startFake(t, func(f *fakeConn, args []string) string {
		if f.number < 3 && args[0] != "WARM" {
			_ = f.Close()
		}
		return "+OK\r\n"
	})
	c := s.client(t)
	_, err := c.Do(within(t), "WARM")
	assert.NilError(t, err)
	_, err = c.DoIdempotent(within(t), "GET", "a")
	// the second connection broke before it had answered anything, which ends what waits
	assert.ErrorIs(t, err, ErrUnknown)
	assert.Assert(t, !errors.Is(err, ErrUnavailable))
	assert.Equal(t, s.commands(), "WARM,GET a,GET a")

	s = startFake(t, func(f *fakeConn, args []string) string {
		if f.number == 1 && args[0] != "WARM" {
			_ = f.Close()
		}
		return "+OK\r\n"
	})
	c = s.client(t)
	_, err = c.Do(within(t), "WARM")
	assert.NilError(t, err)
	_, err = c.DoIdempotent(within(t), "GET", "a")
	assert.NilError(t, err)
	assert.Equal(t, s.commands(), "WARM,GET a,GET a")
}

// What the server says it has not run is sent again on a new connection, which finds the master.
func TestNotRun(t *testing.T) {
	for _, refusal := range []string{"LOADING Redis is loading the dataset in memory",
		"READONLY You can't write against a read only replica.", "MASTERDOWN Link is down"} {
		s := startFake(t, func(f *fakeConn, args []string) string {
			if f.number == 1 && args[0] != "WARM" {
				return "-" + refusal + "\r\n"
			}
			return "+OK\r\n"
		})
		c := s.client(t)
		_, err := c.Do(within(t), "WARM")
		assert.NilError(t, err)
		_, err = c.Do(within(t), "SET", "a", "1")
		assert.NilError(t, err, refusal)
		assert.Equal(t, s.commands(), "WARM,SET a 1,SET a 1")
		assert.Equal(t, s.count, 2)
	}
	s := startFake(t, func(*fakeConn, []string) string { return "-LOADING x\r\n" })
	_, err := s.client(t).Do(within(t), "SET", "a", "1")
	assert.ErrorIs(t, err, ErrUnavailable)
	assert.Assert(t, IsCode(err, "LOADING"), err)
}

func TestCluster(t *testing.T) {
	s := startFake(t, func(*fakeConn, []string) string { return "-MOVED 3999 127.0.0.1:6381\r\n" })
	_, err := s.client(t).Do(within(t), "GET", "a")
	assert.ErrorIs(t, err, ErrCluster)
	assert.ErrorContains(t, err, "MOVED 3999")

	s = startFake(t, nil)
	s.hello = "%1\r\n+mode\r\n+cluster\r\n"
	_, err = s.client(t).Do(within(t), "GET", "a")
	assert.ErrorIs(t, err, ErrCluster)
	assert.ErrorIs(t, err, ErrUnavailable)
}

// While the server cannot be reached, commands fail at once, and they work again afterwards.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	address := l.Addr().String()
	assert.NilError(t, l.Close())
	c := connectTo(t, Options{Network: "tcp", Address: address})
	for range 3 {
		_, err = c.Do(within(t), "GET", "a")
		assert.ErrorIs(t, err, ErrUnavailable)
		assert.ErrorContains(t, err, address)
		assert.Assert(t, isAway(err), err)
	}
	_, err = c.Subscribe(within(t), "a")
	assert.ErrorIs(t, err, ErrUnavailable)
	c.Close()
	_, err = c.Do(within(t), "GET", "a")
	assert.ErrorIs(t, err, ErrClosed)
	_, err = c.Subscribe(within(t), "a")
	assert.ErrorIs(t, err, ErrClosed)
}

func TestHandshakeErrors(t *testing.T) {
	for _, tc := range []struct{ hello, want string }{
		{"-NOAUTH HELLO must be called with the client already authenticated\r\n", "wants a password"},
		{"-WRONGPASS invalid username-password pair\r\n", "accepts no such user"},
		{"-NOPROTO unsupported protocol version\r\n", "Redis 6 or later"},
		{"-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `u`, `secret`\r\n",
			"Redis 6 or later"},
		{"-ERR what is secret\r\n", "what is …"},
		{"+OK\r\n", "no map"},
		{"%1\r\n+role\r\n+replica\r\n", "is a replica"},
		{"HTTP/1.1 400 Bad Request\r\n", "is no reply"},
		{"-LOADING Redis is loading the dataset in memory\r\n", "is loading"},
	} {
		s := startFake(t, nil)
		s.hello = tc.hello
		c := connectTo(t, Options{Network: "tcp", Address: s.Addr().String(), Password: "secret"})
		_, err := c.Do(within(t), "GET", "a")
		assert.ErrorIs(t, err, ErrUnavailable)
		assert.ErrorContains(t, err, tc.want)
		assert.Assert(t, !strings.Contains(err.Error(), "secret"), err)
		soon := map[string]bool{"is a replica": true, "is loading": true}
		assert.Equal(t, isAway(err), soon[tc.want], "%v", err)
	}
}

// A server that neither reads nor answers is left, and blocks nobody for longer than the timeout.
func TestSilentServer(t *testing.T) {
	hold := make(chan struct{})
	s := startFake(t, func(_ *fakeConn, args []string) string {
		if args[0] == "STOP" || args[0] == "SET" {
			<-hold
		}
		return "+PONG\r\n"
	})
	t.Cleanup(func() { close(hold) })
	c := connectTo(t, Options{Network: "tcp", Address: s.Addr().String(),
		Bounds: Bounds{Timeout: time.Second}})
	eventually.True(t, "it is connected", func() bool {
		_, err := c.Do(within(t), "WARM")
		return err == nil
	})
	stopped := make(chan error)
	go func() {
		_, err := c.Do(within(t), "STOP")
		stopped <- err
	}()
	eventually.True(t, "it stops", func() bool { return strings.Contains(s.commands(), "STOP") })
	err := ErrUnavailable
	for errors.Is(err, ErrUnavailable) { // such as while it connects
		// more than a socket buffers
		_, err = c.Do(within(t), "SET", "a", strings.Repeat("a", 16<<20))
	}
	assert.ErrorIs(t, err, ErrUnknown)
	assert.ErrorIs(t, <-stopped, ErrUnknown)
	assert.ErrorContains(t, err, "silent for 1s")
}

// An idle server is asked whether it lives.
func TestIdle(t *testing.T) {
	s := startFake(t, func(*fakeConn, []string) string { return "+PONG\r\n" })
	connectTo(t, Options{Network: "tcp", Address: s.Addr().String(),
		Bounds: Bounds{Timeout: time.Second}})
	eventually.True(t, "two pings",
		func() bool { return strings.HasPrefix(s.commands(), "PING,PING") })
}

// Commands at a time are bounded, in number and size, until the server answers them.
func TestPendingIsBounded(t *testing.T) {
	for _, b := range []Bounds{{MaxPending: 2}, {MaxPendingBytes: 100}} {
		hold := make(chan struct{})
		s := startFake(t, func(_ *fakeConn, args []string) string {
			<-hold
			return "+OK\r\n"
		})
		c := connectTo(t, Options{Network: "tcp", Address: s.Addr().String(), Bounds: b})
		argument := strings.Repeat("a", 20)
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error)
		for range 5 {
			go func() {
				_, err := c.Do(ctx, "ECHO", argument)
				errs <- err
			}()
		}
		eventually.True(t, "two commands are sent", func() bool {
			c.commands.mu.Lock()
			defer c.commands.mu.Unlock()
			return c.commands.conn != nil && len(c.commands.conn.sent) == 2
		})
		cancel()
		count := map[bool]int{}
		for range 5 {
			count[errors.Is(<-errs, ErrUnknown)]++
		}
		assert.Equal(t, count[true], 2) // they have been sent, and still count
		short, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := c.Do(short, "ECHO", argument)
		stop()
		assert.ErrorIs(t, err, ErrUnavailable)
		close(hold)
		_, err = c.Do(within(t), "ECHO", argument)
		assert.NilError(t, err)
		if b.MaxPendingBytes > 0 {
			_, err = c.Do(t.Context(), "ECHO", strings.Repeat("a", 100))
			assert.ErrorIs(t, err, ErrTooLarge)
		}
	}
}

// A server that does not have a script gets its text.
func TestScript(t *testing.T) {
	loaded := false
	s := startFake(t, func(_ *fakeConn, args []string) string {
		if args[0] == "EVALSHA" && !loaded {
			return "-NOSCRIPT No matching script.\r\n"
		}
		loaded = true
		return ":1\r\n"
	})
	c := s.client(t)
	script := NewScript("return 1")
	for range 2 {
		reply, err := c.Run(within(t), script, []string{"k"}, "v")
		assert.NilError(t, err)
		n, err := reply.Int()
		assert.NilError(t, err)
		assert.Equal(t, n, int64(1))
	}
	assert.Equal(t, s.commands(), "EVALSHA "+script.digest+" 1 k v,EVAL return 1 1 k v,"+
		"EVALSHA "+script.digest+" 1 k v")
}

// The Sentinels are asked in turn, at every connection.
func TestSentinel(t *testing.T) {
	answer := func(name string) func(f *fakeConn, args []string) string {
		return func(f *fakeConn, args []string) string {
			if args[0] == "DIE" {
				_ = f.Close()
			}
			return bulk(name)
		}
	}
	first, second := startFake(t, answer("first")), startFake(t, answer("second"))
	var mu sync.Mutex
	current := first
	sentinel := startFake(t, func(_ *fakeConn, args []string) string {
		mu.Lock()
		defer mu.Unlock()
		if args[2] != "m" {
			return "_\r\n"
		}
		host, port, _ := net.SplitHostPort(current.Addr().String())
		return "*2\r\n" + bulk(host) + bulk(port)
	})
	sentinel.hello = "%1\r\n+mode\r\n+sentinel\r\n"
	dead := startFake(t, nil)
	assert.NilError(t, dead.Close())
	sentinels := []string{dead.Addr().String(), sentinel.Addr().String()}
	c := connectTo(t, Options{Sentinels: sentinels, MasterName: "m"})
	reply, err := c.Do(within(t), "WHO")
	assert.NilError(t, err)
	assert.Equal(t, string(reply.text), "first")
	mu.Lock()
	current = second
	mu.Unlock()
	_, err = c.Do(within(t), "DIE")
	assert.ErrorIs(t, err, ErrUnknown)
	reply, err = c.Do(within(t), "WHO")
	assert.NilError(t, err)
	assert.Equal(t, string(reply.text), "second")

	_, err = connectTo(t, Options{Sentinels: sentinels, MasterName: "x"}).Do(within(t), "WHO")
	assert.ErrorIs(t, err, ErrUnavailable)
	assert.ErrorContains(t, err, `knows no master "x"`)
}

// A client tries to connect again soon, however long the server has been away, but not to one that
// refuses it, and not always after the same time.
func TestPauses(t *testing.T) {
	for _, tc := range []struct {
		err  error
		most time.Duration
	}{
		{io.EOF, MaxPause},
		{Error("LOADING"), MaxPause},
		{fmt.Errorf("a: %w", &net.OpError{Op: "dial", Err: io.EOF}), MaxPause},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, maxRefusedPause},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, maxRefusedPause},
		{Error("ERR Protocol error"), maxRefusedPause},
	} {
		different, longest := map[time.Duration]bool{}, time.Duration(0)
		for failures := range 1000 {
			pause := pauseAfter(failures, tc.err)
			assert.Assert(t, pause >= 0 && pause < tc.most, "%v after %d", pause, failures)
			different[pause], longest = true, max(longest, pause)
		}
		assert.Assert(t, pauseAfter(0, tc.err) < 50*time.Millisecond)
		assert.Assert(t, len(different) > 900, len(different))
		assert.Assert(t, longest > tc.most*9/10, "%v: %v", tc.err, longest)
	}
}
