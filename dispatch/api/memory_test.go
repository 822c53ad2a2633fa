package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
)

// named tells callers apart by a header.
func named(r *http.Request) (string, error) { return r.Header.Get("X-Name"), nil }

// heap returns the bytes in use, garbage aside.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

const budget = 64 << 20

// blob is a catalog whose one operation returns eight mebibytes, and counts how often it has.
func blob(ran *atomic.Int64) *dispatch.Catalog {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "blob", Summary: "Returns eight mebibytes.",
		Type: dispatch.Read}, func(context.Context, struct{}) (string, error) {
		defer ran.Add(1)
		return strings.Repeat("x", 8<<20), nil
	})
	return c
}

// sendAll opens a connection for each of so many requests and writes the text to it. Nothing is
// read.
func sendAll(t *testing.T, server *httptest.Server, n int, text string) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, n)
	for i := range conns {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		assert.NilError(t, err)
		t.Cleanup(func() { conn.Close() })
		assert.NilError(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
		write(t, conn, text)
		conns[i] = conn
	}
	return conns
}

func postAs(name, path, body string, length int) string {
	return fmt.Sprintf(
		"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Name: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, name, length, body)
}

// statuses counts the statuses of the answers, without reading what follows.
func statuses(t *testing.T, conns []net.Conn) map[int]int {
	t.Helper()
	count := map[int]int{}
	for _, conn := range conns {
		answer, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
		assert.NilError(t, err)
		count[answer.StatusCode]++
		if answer.StatusCode != 200 {
			assert.Equal(t, answer.Header.Get("Retry-After"), "1")
		}
	}
	return count
}

func TestAnswersThatNobodyReadsStayWithinTheMemory(t *testing.T) {
	var ran atomic.Int64
	h := api.Options{Principal: named,
		Memory: dispatch.NewBudget(budget)}.New(
		dispatch.Options{}.New(blob(&ran)))
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	before := heap()
	conns := sendAll(t, server, 30, postAs("ada", "/v1/blob", "{}", 2))
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if ran.Load() == 30 {
			return poll.Success()
		}
		return poll.Continue("%d calls have run", ran.Load())
	}, poll.WithTimeout(time.Minute))
	count := statuses(t, conns)
	used := heap() - before
	t.Logf("%d MiB for %v", used>>20, count)
	assert.Assert(t, count[200] > 0 && count[429] > 0 && count[200]+count[429] == 30, "%v", count)
	assert.Assert(t, used < budget, "%d MiB", used>>20)

	r, err := http.NewRequest("POST", server.URL+"/v1/blob", strings.NewReader("{}"))
	assert.NilError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Name", "ben")
	answer, err := server.Client().Do(r)
	assert.NilError(t, err)
	defer answer.Body.Close()
	assert.Equal(t, answer.StatusCode, 200, "another principal")
	text, err := io.ReadAll(answer.Body)
	assert.NilError(t, err)
	assert.Assert(t, len(text) > 8<<20)
}

func TestBodiesThatDoNotComeWholeStayWithinTheMemory(t *testing.T) {
	var ran atomic.Int64
	h := api.Options{Principal: named,
		Memory: dispatch.NewBudget(budget)}.New(
		dispatch.Options{}.New(blob(&ran)))
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	before := heap()
	half := `{"params":{"x":"` + strings.Repeat("x", 3<<20)
	var refused, sent atomic.Int64
	for range 60 {
		conn := sendAll(t, server, 1, postAs("ada", "/v1/blob", "", 4<<20))[0]
		go func() {
			_, _ = io.WriteString(conn, half) // it fails where the body is refused
			sent.Add(1)
			if answer, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil &&
				answer.StatusCode == 429 {
				refused.Add(1)
			}
		}()
	}
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if sent.Load() == 60 && refused.Load() > 30 {
			return poll.Success()
		}
		return poll.Continue("%d are sent, %d refused", sent.Load(), refused.Load())
	}, poll.WithTimeout(time.Minute))
	used := heap() - before
	t.Logf("%d MiB", used>>20)
	assert.Assert(t, used < budget, "%d MiB", used>>20)

	body := `{"params":{}}`
	answer, err := http.ReadResponse(
		bufio.NewReader(sendAll(t, server, 1, postAs("ben", "/v1/blob", body, len(body)))[0]), nil)
	assert.NilError(t, err)
	assert.Equal(t, answer.StatusCode, 200, "another principal")
}

func TestOnePrincipalLeavesPlacesToOthers(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "wait", Summary: "Waits.", Type: dispatch.Wait},
		func(context.Context, struct{}) (struct{}, error) {
			running <- struct{}{}
			<-release
			return struct{}{}, nil
		})
	h := api.Options{Principal: named,
		MaxCalls: 8}.New(dispatch.Options{}.New(c))
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	waiting := sendAll(t, server, 4, postAs("ada", "/v1/wait", "{}", 2))
	for range waiting {
		<-running
	}
	more := sendAll(t, server, 8, postAs("ada", "/v1/wait", "{}", 2))
	assert.DeepEqual(t, statuses(t, more), map[int]int{429: 8})
	others := sendAll(t, server, 1, postAs("ben", "/v1/wait", "{}", 2))
	<-running
	close(release)
	assert.DeepEqual(t, statuses(t, append(waiting, others...)), map[int]int{200: 5})
}

// A body that is still to come holds no place.
func TestBodiesThatDoNotComeHoldNoPlace(t *testing.T) {
	var ran atomic.Int64
	h := api.Options{MaxCalls: 2}.New(dispatch.Options{}.New(blob(&ran)))
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	sendAll(t, server, 10, postAs("", "/v1/blob", "{", 2))
	assert.DeepEqual(t, statuses(t, sendAll(t, server, 1, postAs("", "/v1/blob", "{}", 2))),
		map[int]int{200: 1})
}
