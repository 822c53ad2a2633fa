package streamable_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server/streamable"
)

// byHeader has the header X-User say who a caller is.
func byHeader(o streamable.Options) streamable.Options {
	o.Principal = func(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil }
	return o
}

const (
	ada = header("X-User: ada\n")
	ben = header("X-User: ben\n")
)

func TestOnePrincipalLeavesRequestsToOthers(t *testing.T) {
	for name, heavy := range map[string]header{"named": ada, "nobody in particular": ""} {
		t.Run(name, func(t *testing.T) {
			s := start(t, byHeader(streamable.Options{MaxRequests: 8}))
			answers := make(chan *answer, 8)
			for i := range 4 {
				go func() { answers <- s.tool("hold", fmt.Sprintf(`{"text":"%d"}`, i), heavy) }()
				<-s.begun
			}
			a := s.tool("echo", `{"text":"x"}`, heavy)
			text := a.text()
			assert.Equal(t, a.StatusCode, 429, text)
			assert.Equal(t, a.Header.Get("Retry-After"), "1")
			assert.Assert(t,
				strings.Contains(text, `"code":-31999,"message":"too many of your requests`), text)
			assert.Equal(t, s.tool("echo", `{"text":"x"}`, ben).StatusCode, 200)
			close(s.release)
			for range 4 {
				assert.Equal(t, (<-answers).StatusCode, 200)
			}
			assert.Equal(t, s.tool("echo", `{"text":"x"}`, heavy).StatusCode, 200)
		})
	}
}

func TestOnePrincipalLeavesStreamsToOthers(t *testing.T) {
	s := start(t, byHeader(streamable.Options{MaxStreams: 4}))
	listen := func(who header) *answer {
		return s.modern("subscriptions/listen", "", `"notifications":{},`, who)
	}
	for range 2 {
		listen(ada).isStream().event("acknowledged")
	}
	a := listen(ada)
	assert.Equal(t, a.StatusCode, 429, a.text())
	assert.Equal(t, listen(ben).isStream().event("acknowledged").id, "")
}

func TestOnePrincipalLeavesSessionsToOthers(t *testing.T) {
	inBubble(t, byHeader(streamable.Options{MaxSessions: 8}), func(t *testing.T, b *bubble) {
		var adas []header
		for range 4 {
			adas = append(adas, b.connectAs("2025-06-18", ada)+"\n"+ada)
			time.Sleep(time.Second)
		}
		a := b.dialFor("POST", strings.Replace(initialize, "REVISION", "2025-06-18", 1), ada)
		assert.Equal(t, a.StatusCode, 429, a.text())
		assert.Equal(t, a.Header.Get("Retry-After"), "60")
		bens := b.connectAs("2025-06-18", ben) + "\n" + ben

		time.Sleep(61 * time.Second)
		assert.Equal(t, b.ping(adas[0]), 200)
		assert.Equal(t, b.ping(adas[1]), 200)
		// in the place of her own that was idle the longest
		fifth := b.connectAs("2025-06-18", ada) + "\n" + ada
		assert.Equal(t, b.ping(adas[2]), 404)
		assert.Equal(t, b.ping(adas[3]), 200)
		assert.Equal(t, b.ping(bens), 200)
		assert.Equal(t, b.ping(fifth), 200)
	})
}

// Where nothing is left, it is the one who has the most who makes room, not the one who was idle
// the longest.
func TestSessionsOfTheHeaviestOwnerAreEvicted(t *testing.T) {
	inBubble(t, byHeader(streamable.Options{MaxSessions: 4}), func(t *testing.T, b *bubble) {
		bens := b.connectAs("2025-06-18", ben) + "\n" + ben
		time.Sleep(time.Second)
		first := b.connectAs("2025-06-18", ada) + "\n" + ada
		second := b.connectAs("2025-06-18", ada) + "\n" + ada
		third := b.connectAs("2025-06-18", "X-User: cyd\n") + "\nX-User: cyd\n"
		newcomer := header("X-User: dan\n")
		a := b.dialFor("POST", strings.Replace(initialize, "REVISION", "2025-06-18", 1), newcomer)
		assert.Equal(t, a.StatusCode, 503, a.text()) // nobody has been idle for long
		time.Sleep(61 * time.Second)
		b.connectAs("2025-06-18", newcomer)
		assert.Equal(t, b.ping(first), 404)
		for _, session := range []header{bens, second, third} {
			assert.Equal(t, b.ping(session), 200)
		}
		time.Sleep(61 * time.Second)
		a = b.dialFor("POST", strings.Replace(initialize, "REVISION", "2025-06-18", 1),
			"X-User: eve\n")
		assert.Equal(t, a.StatusCode, 503, a.text()) // nobody has more than eve would
	})
}

// The events that go are those of who keeps the most, not of who has just said something.
func TestStoredEventsOfTheHeaviestOwnerGoFirst(t *testing.T) {
	s := start(t, byHeader(streamable.Options{MaxStored: 16 << 10}))
	text := strings.Repeat("x", 1000)
	said := func(c *client, who header, n int) (ids []string) {
		for i := range n {
			a := c.call(fmt.Sprint(i+1), "echo", text, "-Accept\nAccept: text/event-stream\n"+
				who).isStream()
			ids = append(ids, a.event("result").id)
			a.ends()
		}
		return ids
	}
	back := func(c *client, who header, id string) int {
		return c.get(header("Last-Event-Id: "+strings.TrimSuffix(id, "1")+"0\n") + who).StatusCode
	}
	bens := s.connect("2025-06-18", ben)
	old := said(bens, ben, 1)
	first, second := s.connect("2025-06-18", ada), s.connect("2025-06-18", ada)
	oldest := said(first, ada, 1)
	said(second, ada, 10)
	fresh := said(s.connect("2025-06-18", ben), ben, 1)
	assert.Equal(t, back(bens, ben, old[0]), 200, "what ben was told first")
	assert.Equal(t, back(first, ada, oldest[0]), 400)
	assert.Equal(t, len(fresh), 1)
}

// connectAs opens a session as somebody, on a connection of its own.
func (b *bubble) connectAs(revision string, who header) header {
	b.t.Helper()
	a := b.dialFor("POST", strings.Replace(initialize, "REVISION", revision, 1), who)
	assert.Equal(b.t, a.StatusCode, 200, a.text())
	synctest.Wait()
	return header("Mcp-Session-Id: " + a.Header.Get("Mcp-Session-Id"))
}

// dialFor asks on a connection of its own, and reads the answer.
func (b *bubble) dialFor(method, body string, h header) *answer {
	b.t.Helper()
	w := b.dial()
	b.t.Cleanup(func() { w.Close() })
	return w.ask(method, body, h)
}
