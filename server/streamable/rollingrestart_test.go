package streamable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/store/storetest"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// A fleet is replicas behind a load balancer, in a bubble.
type fleet struct {
	t     *testing.T
	store *storetest.Server
	owns  bool // sessions have owners

	mu      sync.Mutex
	all     []*fleetReplica // by number, those that have ended too
	serving []*fleetReplica // to which the load balancer connects
	next    int
	runs    map[string]int // how often each call has run
	longest time.Duration  // the longest that a call took
}

type fleetReplica struct {
	*bubble
	web  *http.Server
	link *storetest.Link
	kept *streamable.Store
}

// grace is how long a replica lets running calls finish.
const grace = 3 * time.Second

// start starts a replica. Its tool work takes as many milliseconds as it is told, and hang does not
// end by itself.
func (f *fleet) start() *fleetReplica {
	r := &fleetReplica{web: new(http.Server), link: f.store.Link()}
	r.kept = streamable.StoreOf(r.link)
	o := streamable.Options{Store: r.kept, Heartbeat: time.Hour}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owns {
		o.Forward = &streamable.Forward{URL: fmt.Sprint("http://", len(f.all))}
		streamable.DialBy(o.Forward, func(_ context.Context, _, address string) (net.Conn, error) {
			host, _, _ := strings.Cut(address, ":")
			n, err := strconv.Atoi(host)
			if err != nil {
				return nil, err
			}
			f.mu.Lock()
			to := f.all[n]
			f.mu.Unlock()
			return to.connectTo()
		})
	}
	r.bubble, _ = openBubble(f.t, r.web, o)
	for name, call := range map[string]func(ctx context.Context, id string, ms int) error{
		"work": func(ctx context.Context, id string, ms int) error {
			f.mu.Lock()
			f.runs[id]++
			f.mu.Unlock()
			select {
			case <-time.After(time.Duration(ms) * time.Millisecond):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
		"hang": func(ctx context.Context, _ string, _ int) error {
			r.begun <- "hang"
			<-ctx.Done()
			return context.Cause(ctx)
		},
	} {
		assert.NilError(f.t, r.server.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: name},
			Tasks: mcp.TaskOptional,
			Call: func(ctx context.Context, in json.RawMessage) (*mcp.CallToolResult, error) {
				var arguments struct {
					ID string
					MS int
				}
				if err := json.Unmarshal(in, &arguments); err != nil {
					return nil, err
				}
				if err := call(ctx, arguments.ID, arguments.MS); err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.Content{
					&mcp.TextContent{Text: "done " + arguments.ID}}}, nil
			}}))
	}
	f.all, f.serving = append(f.all, r), append(f.serving, r)
	return r
}

// connectTo returns a connection to a replica, unless it listens no more.
func (r *fleetReplica) connectTo() (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case r.pipes.conns <- far:
		return near, nil
	case <-r.pipes.closed:
		return nil, errors.New("connection refused")
	}
}

// drain ends a replica as serve does, and returns how long that took. The load balancer notices a
// while after it has begun, and before the replica listens no more: package http does not answer
// requests that it reads after that.
func (f *fleet) drain(r *fleetReplica) time.Duration {
	begun := time.Now()
	time.AfterFunc(time.Second, func() { f.remove(r) })
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	_ = r.handler.Shutdown(ctx)
	time.Sleep(time.Until(begun.Add(1100 * time.Millisecond)))
	answered, cancel := context.WithTimeout(context.Background(), 250*time.Millisecond)
	defer cancel()
	if r.web.Shutdown(answered) != nil {
		_ = r.web.Close()
	}
	r.kept.Close()
	return time.Since(begun)
}

func (f *fleet) remove(r *fleetReplica) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, other := range f.serving {
		if other == r {
			f.serving = append(f.serving[:i:i], f.serving[i+1:]...)
			return
		}
	}
}

// client returns an HTTP client of the load balancer, which sends each request to another replica,
// and to the one after that if it is refused the connection.
func (f *fleet) client() *http.Client {
	dial := func(context.Context, string, string) (net.Conn, error) {
		f.mu.Lock()
		serving, from := f.serving, f.next
		f.next++
		f.mu.Unlock()
		for i := range serving {
			if c, err := serving[(from+i)%len(serving)].connectTo(); err == nil {
				return c, nil
			}
		}
		return nil, errors.New("no replica listens")
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
}

// A fleetClient is a client with a session, or a modern one.
type fleetClient struct {
	f       *fleet
	http    *http.Client
	session string
}

// postOnce sends a message and returns the answer, or nil.
func (c *fleetClient) postOnce(body string, h header) (*http.Response, string) {
	r, err := http.NewRequest("POST", "http://fleet/mcp", strings.NewReader(body))
	assert.Check(c.f.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", bothKinds)
	h.apply(r.Header)
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	res, err := c.http.Do(r)
	if !assert.Check(c.f.t, err, body) {
		return nil, ""
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if !assert.Check(c.f.t, err, body) {
		return nil, ""
	}
	return res, string(text)
}

// post is postOnce, until the message is not refused for a moment.
func (c *fleetClient) post(body string, h header) (*http.Response, string) {
	for range 20 {
		res, text := c.postOnce(body, h)
		if res == nil || res.StatusCode != 503 {
			return res, text
		}
		after, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if !assert.Check(c.f.t, err, "%s: %s", body, text) {
			return nil, ""
		}
		time.Sleep(time.Duration(after) * time.Second)
	}
	assert.Check(c.f.t, false, "refused for too long: %s", body)
	return nil, ""
}

func (f *fleet) connect() *fleetClient {
	c := &fleetClient{f: f, http: f.client()}
	res, text := c.post(strings.Replace(initialize, "REVISION", "2025-11-25", 1), "")
	assert.Assert(f.t, res != nil && res.StatusCode == 200, text)
	c.session = res.Header.Get("Mcp-Session-Id")
	res, text = c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "")
	assert.Assert(f.t, res != nil && res.StatusCode == 202, text)
	return c
}

// work makes the nth call of a client.
func (c *fleetClient) work(name string, n int) {
	id := fmt.Sprint(name, "/", n)
	params := fmt.Sprintf(`"name":"work","arguments":{"id":%q,"ms":%d}`, id, n*797%2500)
	body, h := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s}}`, n, params),
		header("")
	if c.session == "" {
		body, h = modernCall("tools/call", params+","), header(modernTool+"work")
	}
	begun := time.Now()
	res, text := c.post(body, h)
	if res == nil {
		return
	}
	assert.Check(c.f.t, res.StatusCode == 200 && strings.Contains(text, `"done `+id+`"`), "%s: %d %s",
		id, res.StatusCode, text)
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.longest = max(c.f.longest, time.Since(begun))
	assert.Check(c.f.t, c.f.runs[id] == 1, "%s ran %d times", id, c.f.runs[id])
}

// Three replicas under load are restarted one after the other, twice. Every call is answered, after
// a Retry-After at most, and runs once.
func TestRollingRestart(t *testing.T) {
	for _, owns := range []bool{false, true} {
		t.Run(fmt.Sprint("owners ", owns), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fleet{t: t, owns: owns, runs: map[string]int{},
					store: storetest.New(1, storetest.Faults{Latency: time.Millisecond})}
				for range 3 {
					f.start()
				}
				time.Sleep(2 * time.Minute) // the store is not new any more
				ctx, cancel := context.WithCancel(t.Context())
				var users sync.WaitGroup
				calls := make([]int, 12)
				for i := range calls {
					c := &fleetClient{f: f, http: f.client()}
					if i%4 > 0 {
						c = f.connect()
					}
					users.Go(func() {
						for ; ctx.Err() == nil; calls[i]++ {
							c.work(fmt.Sprint(i), calls[i])
						}
					})
				}
				for range 6 {
					time.Sleep(2 * time.Second)
					assert.Check(t, f.drain(f.oldest()) <= grace)
					f.start()
				}
				time.Sleep(5 * time.Second)
				cancel()
				users.Wait()
				assert.Check(t, f.longest <= 9*time.Second, "a call took %v", f.longest)
				for i, n := range calls {
					assert.Check(t, n > 5, "client %d has made %d calls", i, n)
				}
				for range 3 {
					f.drain(f.oldest())
				}
				f.store.Close()
			})
		})
	}
}

// A replica ends in time, whatever hangs: calls are answered, and leases and questions end by
// themselves.
func TestDrainEnds(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		t.Run(fmt.Sprint("store hangs ", hangs), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fleet{t: t, owns: true, runs: map[string]int{},
					store: storetest.New(1, storetest.Faults{Latency: time.Millisecond})}
				r := f.start()
				time.Sleep(2 * time.Minute)
				c := f.connect()
				answered := make(chan string, 1)
				go func() {
					res, text := c.postOnce(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang","arguments":{}}}`, "")
					if res == nil {
						answered <- "nothing"
						return
					}
					answered <- fmt.Sprint(res.StatusCode, " ", text)
				}()
				select {
				case <-r.begun:
				case text := <-answered:
					t.Fatalf("the call is answered before it is begun: %s", text)
				}
				modern := &fleetClient{f: f, http: f.client()}
				_, task := modern.postOnce(`{"jsonrpc":"2.0","id":1,"method":"tools/call",`+
					`"params":{"name":"hang","arguments":{},`+tasking+`}}`, modernTool+"hang")
				assert.Assert(t, strings.Contains(task, `"resultType":"task"`), task)
				<-r.begun
				asked := make(chan struct{})
				go func() {
					defer close(asked)
					c.postOnce(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`, "")
				}()
				time.Sleep(time.Second)
				if hangs {
					r.link.Hang()
				}
				took, text := f.drain(r), <-answered
				<-asked
				assert.Check(t, strings.HasPrefix(text, "503 ") &&
					strings.Contains(text, "the server is shutting down"), text)
				// The last events of streams, and questions, may take a second more, then tasks
				// one, and leases two.
				assert.Check(t, took >= grace && took <= grace+4*time.Second, "%v", took)
				r.link.Heal()
				time.Sleep(5 * time.Second) // what is on its way to the store gives up
				f.store.Close()
			})
		})
	}
}

// oldest returns the replica that has been in service for longest.
func (f *fleet) oldest() *fleetReplica {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.serving[0]
}
