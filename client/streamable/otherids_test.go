package streamable_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A response whose id is the text of the request's is the response, in a body and in a stream.
func TestIDsAsText(t *testing.T) {
	for name, respond := range map[string]func(http.ResponseWriter, *recordedRequest){
		"body":   answerCall,
		"stream": func(w http.ResponseWriter, r *recordedRequest) { events(w, r).result(text) },
	} {
		t.Run(name, func(t *testing.T) {
			f := &sessionServer{result: initialized, call: respond}
			inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
				if r.message.ID != nil {
					r.message.ID = json.RawMessage(strconv.Quote(string(r.message.ID)))
				}
				f.answer(w, r)
			}, func(t *testing.T, s *testServer) {
				c := s.connect(t, client.Options{Era: mcp.Legacy})
				check(t, c)
				assert.Equal(t, s.count("POST tools/call session-id=s1"), 1)
				assert.Equal(t, c.Stats().OtherIDs, 2)
			})
		})
	}
}
