package streamable_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A user is a legacy client of a world, which also makes modern calls. It sends again what may have
// failed, to any replica, as proxies and clients do.
type user struct {
	w      *world
	number uint64
	seed   uint64

	// guarded by the mutex of the world
	id    string            // of its session; "": it has none
	began time.Time         // when the client was initialized; zero: it is not
	known map[*replica]bool // which have answered a request of the session
	lost  bool              // the session may be
	open  time.Time         // when its stream was opened; zero: it is not open
	heard time.Time         // when it has last heard of a change

	calls int
}

func newUser(w *world, seed, number uint64) *user {
	return &user{w: w, seed: seed, number: number, known: map[*replica]bool{}}
}

func (u *user) random(of uint64) *rand.Rand {
	return rand.New(rand.NewPCG(u.seed, 1000+4*u.number+of))
}

// pause waits, and reports false at the end of the history.
func (w *world) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-w.ctx.Done():
		return false
	}
}

func (u *user) session() string {
	u.w.mu.Lock()
	defer u.w.mu.Unlock()
	return u.id
}

// use does one thing after the other.
func (u *user) use() {
	random := u.random(0)
	for u.w.pause(time.Duration(random.Int64N(int64(u.w.size.rest)))) {
		switch n := random.IntN(10); {
		case u.session() == "":
			u.connect(random)
		case n < 4:
			u.call(random)
		case n < 7:
			u.ask(random)
		case n < 8:
			u.callModern(random)
		default:
			u.post(random, `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		}
	}
}

func (u *user) connect(random *rand.Rand) {
	r := u.w.pick(random)
	a, err := u.w.send(random, r, "POST", strings.Replace(initialize, "REVISION", "2025-11-25", 1), "")
	if err != nil {
		return
	}
	defer a.cut()
	if _, err := io.ReadAll(a.body); err != nil || a.status != 200 {
		if a.status != 503 && a.status != 200 {
			u.w.fail("%s has answered initialize with %d", r.name, a.status)
		}
		return
	}
	u.w.mu.Lock()
	u.id, u.began, u.lost = a.header.Get("Mcp-Session-Id"), time.Time{}, false
	u.known = map[*replica]bool{r: true}
	u.w.mu.Unlock()
	for u.w.ctx.Err() == nil {
		switch status, _ := u.post(random, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); status {
		case 0, 503:
			u.w.pause(time.Second)
		case 202:
			u.w.mu.Lock()
			defer u.w.mu.Unlock()
			u.began = time.Now()
			return
		default:
			return
		}
	}
}

// noteStatus notes how a replica has answered a request of a session.
func (u *user) noteStatus(r *replica, id string, status int) {
	u.w.mu.Lock()
	mine, lost := u.id == id, u.lost
	switch {
	case !mine:
	case status == 404:
		u.id = ""
	case status == 200 || status == 202:
		u.known[r] = true
	}
	u.w.mu.Unlock()
	if mine && status == 404 && !lost {
		u.w.fail("%s does not know the session of client %d", r.name, u.number)
	}
}

// post sends a message to a replica. The status is 0 if the response did not come whole.
func (u *user) post(random *rand.Rand, body string) (status int, text string) {
	r, id := u.w.pick(random), u.session()
	if id == "" {
		return 404, ""
	}
	a, err := u.w.send(random, r, "POST", body, header("Mcp-Session-Id: "+id))
	if err != nil {
		return 0, ""
	}
	defer a.cut()
	all, err := io.ReadAll(a.body)
	u.noteStatus(r, id, a.status)
	if err != nil {
		return 0, ""
	}
	return a.status, string(all)
}

// call makes a call, and sends it again if nobody knows whether it has run.
func (u *user) call(random *rand.Rand) {
	u.calls++
	token := fmt.Sprint(u.session(), "/", u.calls)
	from := time.Now()
	defer func() {
		u.w.mu.Lock()
		defer u.w.mu.Unlock()
		u.w.sent[token] = span{from, time.Now()}
	}()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"count","arguments":{"text":%q}}}`,
		u.calls, token)
	for range 8 {
		switch status, text := u.post(random, body); {
		case status == 0 && random.IntN(4) > 0:
		case status == 503:
			u.w.pause(time.Second)
		case status == 200 && !strings.Contains(text, fmt.Sprintf(`"id":%d,`, u.calls)):
			u.w.fail("the call %s is answered with %s", token, text)
			return
		case status == 200, status == 409, status == 404, status == 0,
			status == 400 && strings.Contains(text, "in flight"):
			return
		default:
			u.w.fail("the call %s is answered with %d: %s", token, status, text)
			return
		}
	}
}

// ask makes a call that asks, and answers the question anywhere.
func (u *user) ask(random *rand.Rand) {
	u.calls++
	r, id := u.w.pick(random), u.session()
	token := fmt.Sprint(id, "/", u.calls)
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask","arguments":{"text":%q}}}`,
		u.calls, token)
	a, err := u.w.send(random, r, "POST", body, header("Mcp-Session-Id: "+id))
	if err != nil {
		return
	}
	defer a.cut()
	u.noteStatus(r, id, a.status)
	for {
		_, data, err := a.event()
		if err != nil {
			return
		}
		var m struct {
			ID     json.Number
			Method string
			Params struct{ Message string }
		}
		if json.Unmarshal([]byte(data), &m) != nil || m.Method != "elicitation/create" {
			continue
		}
		if m.Params.Message != token {
			u.w.fail("%s asks %s in the place of %s", r.name, m.Params.Message, token)
			return
		}
		u.w.mu.Lock()
		u.w.asked[token] = &question{by: r}
		u.w.mu.Unlock()
		u.w.pause(time.Duration(random.Int64N(int64(2 * time.Second))))
		u.answer(random, m.ID.String(), token)
	}
}

func (u *user) answer(random *rand.Rand, id, token string) {
	for u.w.ctx.Err() == nil {
		status, text := u.post(random, `{"jsonrpc":"2.0","id":`+id+
			`,"result":{"action":"accept","content":{"name":"`+token+`"}}}`)
		switch status {
		case 202:
			u.w.mu.Lock()
			defer u.w.mu.Unlock()
			u.w.asked[token].accepted = time.Now()
			return
		case 0, 503:
			u.w.pause(time.Second)
		case 404:
			return
		default:
			u.w.fail("the answer to %s is answered with %d: %s", token, status, text)
			return
		}
	}
}

// callModern makes a modern call, which needs no store.
func (u *user) callModern(random *rand.Rand) {
	r := u.w.pick(random)
	u.calls++
	a, err := u.w.send(random, r, "POST", toolCall("count", fmt.Sprint("modern ", u.number, "/", u.calls)),
		modernTool+"count")
	if err != nil {
		return
	}
	defer a.cut()
	text, err := io.ReadAll(a.body)
	u.w.mu.Lock()
	inService := false
	for _, other := range u.w.replicas {
		inService = inService || other == r
	}
	u.w.mu.Unlock()
	if err == nil && inService && a.status != 200 && u.w.ctx.Err() == nil {
		u.w.fail("a modern call is answered with %d: %s", a.status, text)
	}
}

// listen keeps a stream open, and opens another one when that has ended.
func (u *user) listen() {
	random := u.random(1)
	var last string // the id of the last event
	var at *replica
	for u.w.pause(time.Duration(random.Int64N(int64(2 * time.Second)))) {
		id := u.session()
		if id == "" {
			last = ""
			continue
		}
		r, h := u.w.pick(random), header("Mcp-Session-Id: "+id)
		if r == at && last == "" {
			continue // what was on its way when the stream ended could be missed here
		}
		if r == at {
			h += header("\nLast-Event-Id: " + last)
		}
		a, err := u.w.send(random, r, "GET", "", h)
		if err != nil {
			continue
		}
		u.noteStatus(r, id, a.status)
		if a.status != 200 {
			a.cut()
			last = ""
			continue
		}
		u.opened(id, time.Now())
		for at, last = r, ""; ; {
			event, data, err := a.event()
			if err != nil {
				break
			}
			last = event
			if strings.Contains(data, "list_changed") {
				u.w.mu.Lock()
				u.heard = time.Now()
				u.w.mu.Unlock()
			}
		}
		u.opened(id, time.Time{})
		a.cut()
	}
}

// opened notes since when the stream is open.
func (u *user) opened(id string, since time.Time) {
	u.w.mu.Lock()
	defer u.w.mu.Unlock()
	u.open = since
	if u.id != id {
		u.open = time.Time{}
	}
}

// A carried is a response on its way.
type carried struct {
	status int
	header http.Header
	body   *bufio.Reader
	cut    func()
}

// A carrier is the writer of a response, which a client reads at the same time.
type carrier struct {
	header http.Header
	*io.PipeWriter
	once    sync.Once
	status  int
	started chan struct{}
}

func (c *carrier) Header() http.Header { return c.header }
func (c *carrier) Flush()              {}
func (c *carrier) WriteHeader(status int) {
	c.once.Do(func() {
		c.status = status
		close(c.started)
	})
}
func (c *carrier) Write(p []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	return c.PipeWriter.Write(p)
}

// send sends a request to a replica, and returns the response when it begins. The network may cut
// the connection at any time.
func (w *world) send(random *rand.Rand, to *replica, method, body string, h header) (*carried,
	error) {
	delay := time.Duration(random.Int64N(int64(5 * time.Millisecond)))
	fails, stays := random.IntN(10) == 0, time.Duration(random.Int64N(int64(2*time.Second)))
	if method == "GET" {
		fails, stays = random.IntN(2) == 0, 20*stays
	}
	if !w.pause(delay) {
		return nil, errCut
	}
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, method, "http://replica.example/mcp",
		strings.NewReader(body))
	if err != nil {
		cancel()
		return nil, err
	}
	if method == "POST" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", bothKinds)
	h.apply(request.Header)
	request.RemoteAddr = "192.0.2.1:1"
	in, out := io.Pipe()
	c := &carrier{header: http.Header{}, PipeWriter: out, started: make(chan struct{})}
	broken := make(chan struct{})
	var once sync.Once
	cut := func() {
		once.Do(func() {
			close(broken)
			_ = in.CloseWithError(errCut)
			cancel()
		})
	}
	w.mu.Lock()
	if to.dead {
		w.mu.Unlock()
		cancel()
		return nil, errCut
	}
	number := to.next
	to.next++
	to.conns[number] = cut
	fails = fails && !w.calm
	w.mu.Unlock()
	if fails {
		time.AfterFunc(stays, cut)
	}
	stop := context.AfterFunc(w.ctx, cut)
	w.users.Go(func() {
		defer stop()
		to.handler.ServeHTTP(c, request)
		c.WriteHeader(http.StatusOK)
		_ = out.Close()
		w.mu.Lock()
		delete(to.conns, number)
		w.mu.Unlock()
	})
	select {
	case <-c.started:
	case <-broken:
	}
	select {
	case <-broken:
		return nil, errCut
	default:
		return &carried{c.status, c.header, bufio.NewReader(in), cut}, nil
	}
}

// event reads the next event of a stream, or the lines of a body that is none.
func (a *carried) event() (id, data string, err error) {
	for {
		line, err := a.body.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			if line == "\n" {
				return id, data, nil
			}
		case "id":
			id = value
		case "data":
			data += value
		}
	}
}
