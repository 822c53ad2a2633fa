package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server"
)

// endings counts the messages that a client has read about each of its subscriptions.
type endings struct {
	acks, notices map[int]int
	results       map[int]string
}

// A closing is how a connection ends.
type closing struct {
	patient bool  // the client has read all acknowledgments before
	cancels []int // the subscriptions that the client has cancelled
	context bool  // the context of Serve ends at the same time
}

const listenLine = `{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"_meta":{%s},` +
	`"notifications":{"toolsListChanged":true}}}` + "\n"

// listeners opens subscriptions 1 to n on a stream, and closes the client's end. It is called in a
// bubble, so that a busy machine does not use up the time that Serve waits.
func listeners(t *testing.T, n int, how closing) endings {
	t.Helper()
	in, requests := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	o := quiet
	o.ShutdownTimeout = time.Minute
	s := o.New(server.Info{Name: "test", Version: "1"}, catalog())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { ended <- s.Serve(ctx, stream{in, out}) }()

	e := endings{map[int]int{}, map[int]int{}, map[int]string{}}
	acknowledgedAll := make(chan struct{})
	go func() {
		defer requests.Close()
		for id := range n {
			fmt.Fprintf(requests, listenLine, id+1, modern)
		}
		if how.patient {
			<-acknowledgedAll
		}
		for _, id := range how.cancels {
			fmt.Fprintf(requests, `{"jsonrpc":"2.0","method":"notifications/cancelled",`+
				`"params":{"requestId":%d}}`+"\n", id)
		}
		if how.context {
			go cancel()
		}
	}()
	for lines := bufio.NewScanner(answers); lines.Scan(); {
		var m struct {
			ID     int
			Method string
			Params struct {
				RequestID int
				Meta      struct {
					ID int `json:"io.modelcontextprotocol/subscriptionId"`
				} `json:"_meta"`
			}
		}
		assert.NilError(t, json.Unmarshal(lines.Bytes(), &m), lines.Text())
		switch m.Method {
		case acknowledged:
			if e.acks[m.Params.Meta.ID]++; len(e.acks) == n {
				close(acknowledgedAll)
			}
		case "notifications/cancelled":
			assert.Equal(t, e.results[m.Params.RequestID], "",
				"the notification comes before the result")
			e.notices[m.Params.RequestID]++
		default:
			assert.Equal(t, e.results[m.ID], "", "answered twice: %s", lines.Text())
			e.results[m.ID] = lines.Text()
		}
	}
	assert.NilError(t, <-ended)
	return e
}

const listenResult = `{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete","_meta":{` +
	`"io.modelcontextprotocol/subscriptionId":%d,"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}}}}`

// A subscription that is open when the client closes its end gets its notification and its result.
// One that the client has cancelled gets neither, in whatever order these events happen.
func TestSubscriptionsAreAnsweredAtEndOfInput(t *testing.T) {
	for _, tc := range []struct {
		n, times int
		closing
	}{
		{1, 200, closing{}},
		{1, 200, closing{patient: true}},
		{1, 200, closing{patient: true, context: true}},
		{1, 200, closing{cancels: []int{1}}},
		{1, 200, closing{patient: true, cancels: []int{1}}},
		{2, 200, closing{}},
		{2, 200, closing{patient: true}},
		{2, 200, closing{patient: true, context: true}},
		{2, 200, closing{cancels: []int{1}}},
		{2, 200, closing{cancels: []int{2}}},
		{2, 200, closing{patient: true, cancels: []int{1}}},
		{2, 200, closing{patient: true, cancels: []int{2}}},
		{200, 5, closing{cancels: []int{1, 77, 150, 200}}},
		{200, 5, closing{patient: true, cancels: []int{1, 77, 150, 200}}},
		{200, 5, closing{patient: true, context: true}},
	} {
		t.Run(fmt.Sprintf("%d %+v", tc.n, tc.closing), func(t *testing.T) {
			for range tc.times {
				var got endings
				synctest.Test(t, func(t *testing.T) { got = listeners(t, tc.n, tc.closing) })
				for id := 1; id <= tc.n; id++ {
					if slices.Contains(tc.cancels, id) {
						assert.Equal(t, got.notices[id], 0, "the subscription %d was cancelled", id)
						assert.Equal(t, got.results[id], "", "the subscription %d was cancelled",
							id)
						continue
					}
					assert.Equal(t, got.acks[id], 1, "the subscription %d", id)
					assert.Equal(t, got.results[id], fmt.Sprintf(listenResult, id, id))
					assert.Equal(t, got.notices[id], 1, "the subscription %d", id)
				}
			}
		})
	}
}
