package streamable_test

import (
	"context"
	"testing"

	"github.com/stdwire/stdwire/server/streamable"
)

// A subscription that the server ends gets its notification and its result, whichever way the
// server ends, also beside one whose client has hung up.
func TestSubscriptionsAreAnsweredWhenTheServerEnds(t *testing.T) {
	for name, end := range map[string]func(s *site){
		"by Close":    func(s *site) { s.handler.Close() },
		"by Shutdown": func(s *site) { _ = s.handler.Shutdown(s.t.Context()) },
		"by Shutdown out of time": func(s *site) {
			ctx, cancel := context.WithCancel(s.t.Context())
			cancel()
			_ = s.handler.Shutdown(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				s := start(t, streamable.Options{})
				var open []*answer
				for range 3 {
					a := s.modern("subscriptions/listen", "",
						`"notifications":{"toolsListChanged":true},`, "")
					a.isStream().event("acknowledged")
					open = append(open, a)
				}
				open[1].Body.Close()
				end(s)
				for _, a := range []*answer{open[0], open[2]} {
					a.event(`"method":"notifications/cancelled","params":{"requestId":1,"reason":"the server is shutting down"}`)
					a.event(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"`)
					a.ends()
				}
			}
		})
	}
}
