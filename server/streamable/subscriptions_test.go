package streamable_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/streamable"
)

// Defect G4 of other implementations: of several subscriptions with one id only the last hears
// anything, and the end of one is the end of all.
func TestG4SubscriptionsWithTheSameID(t *testing.T) {
	inBubble(t, streamable.Options{Heartbeat: time.Hour}, func(t *testing.T, b *bubble) {
		var wires []*wire
		var streams []*answer
		for range 4 {
			w := b.dial()
			a := w.ask("POST",
				modernCall("subscriptions/listen", `"notifications":{"toolsListChanged":true},`),
				listen).isStream()
			a.event("acknowledged")
			wires, streams = append(wires, w), append(streams, a)
		}
		for i := range wires {
			synctest.Wait()
			b.changeTools(fmt.Sprint("new", i))
			for _, a := range streams[i:] {
				a.event("list_changed")
			}
			wires[i].Close()
		}
	})
}

// Defect G13 of other implementations: one client that does not read delays the news of all others.
func TestG13BlockedClientDelaysNoOther(t *testing.T) {
	inBubble(t, streamable.Options{Heartbeat: time.Hour}, func(t *testing.T, b *bubble) {
		stuck := b.dial()
		stuck.send("POST",
			modernCall("subscriptions/listen", `"notifications":{"toolsListChanged":true},`),
			listen)
		legacy := b.dial()
		legacy.send("GET", "", b.connect("2025-11-25"))
		w := b.dial()
		a := w.ask("POST",
			modernCall("subscriptions/listen", `"notifications":{"toolsListChanged":true},`),
			listen).isStream()
		a.event("acknowledged")
		synctest.Wait()
		begin := time.Now()
		for i := range 100 {
			b.changeTools(fmt.Sprint("new", i))
			a.event("list_changed")
		}
		assert.Equal(t, time.Since(begin), time.Duration(0))
		for _, w := range []*wire{stuck, legacy, w} {
			w.Close()
		}
	})
}

// Defect M1 of other implementations: a subscription keeps everything else waiting.
func TestM1SubscriptionsUseNoRequestSlot(t *testing.T) {
	s := start(t, streamable.Options{MaxRequests: 1})
	for range 3 {
		s.modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true},`,
			"").isStream().event("acknowledged")
		assert.Equal(t, s.tool("echo", `{"text":"x"}`, "").StatusCode, 200)
	}
}

// Defect M2 of other implementations: a subscription is acknowledged, and then receives nothing.
func TestM2SubscriptionsReceiveNotifications(t *testing.T) {
	s := start(t, streamable.Options{})
	s.offers()
	a := s.modern("subscriptions/listen", "",
		`"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x:r"]},`,
		"").isStream()
	a.event("acknowledged")
	s.changeTools("new")
	a.event("notifications/tools/list_changed")
	s.changePrompts("new")
	a.event("notifications/prompts/list_changed")
	s.server.ResourceUpdated("x:r")
	a.event(`"notifications/resources/updated","params":{"uri":"x:r"`)
	assert.Equal(t, s.server.Remove(mcp.KindResource, "x:r"), 1)
	a.event("notifications/resources/list_changed")
}

// Defect M8 of other implementations: what a client is too slow for is dropped.
func TestM8NotificationsAreKept(t *testing.T) {
	inBubble(t, streamable.Options{Heartbeat: time.Hour}, func(t *testing.T, b *bubble) {
		const most = 3000 // more than are queued for anybody
		session := b.connect("2025-11-25")
		params := strings.Replace(
			`{"name":"flood","arguments":{"text":"MOST"},"_meta":{"progressToken":1,META}}`, "MOST",
			fmt.Sprint(most), 1)
		for h, meta := range map[header]string{session: `"a":1`, modernTool +
			"flood": strings.TrimSuffix(strings.TrimPrefix(modernMeta, `"_meta":{`), "}")} {
			w := b.dial()
			w.send("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+
				strings.Replace(params, "META", meta, 1)+`}`, h)
			time.Sleep(20 * time.Second) // of the bubble: slow, but not as slow as to be given up
			a := w.answer().isStream()
			if h == session {
				a.event("")
			}
			for i := range most {
				a.event(fmt.Sprintf(`"progress":%d,`, i+1))
			}
			a.event(`"id":1,"result"`)
			a.ends()
			<-b.begun
			w.Close()
		}
	})
}
