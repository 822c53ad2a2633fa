package traffic

import (
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/internal/jsondiff"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Diff returns the differences of two messages.
func (t *Traffic) Diff(before, after int64) ([]reply.DiffLine, error) {
	a, err := t.Message(before)
	if err != nil {
		return nil, err
	}
	b, err := t.Message(after)
	if err != nil {
		return nil, err
	}
	lines := reply.DiffOf(jsondiff.Compare(a.Record.Frame, b.Record.Frame))
	return append([]reply.DiffLine{}, lines...), nil
}

// A pair is a request that one or both of two connections sent, and how the responses differ.
type pair struct {
	Method  string           `json:"method"`
	Subject string           `json:"about,omitempty"`
	Old     int64            `json:"old,omitempty"` // the number of the request; 0 if there is none
	New     int64            `json:"new,omitempty"`
	Diff    []reply.DiffLine `json:"diff,omitempty"`

	response *Message // of Old
}

// A pairKey identifies equal requests.
type pairKey struct{ from, method, params string }

// newPairKey returns the key of a request. It leaves out _meta, which differs each time.
func newPairKey(m *Message) pairKey {
	params := []byte("{")
	for name, value := range jsonscan.Members(jsonscan.Member(m.Record.Frame, "params")) {
		if !jsonscan.KeyIs(name, "_meta") {
			params = append(append(append(params, name...), value...), ',')
		}
	}
	return pairKey{string(m.From), m.Method, string(params)}
}

// DiffConnections compares the responses that two connections got to equal requests. It returns the
// requests of the old connection, and then those that only the new connection sent.
func (t *Traffic) DiffConnections(before, after int64) ([]*pair, error) {
	var messages [2][]*Message
	for i, number := range []int64{before, after} {
		c, err := t.Connection(number)
		if err != nil {
			return nil, err
		}
		messages[i] = t.messagesOf(c)
	}
	pairs := []*pair{}
	open := map[pairKey][]*pair{} // requests of old that new has not sent yet
	requests := map[int64]*pair{}
	for _, m := range messages[0] {
		switch m.Kind {
		case tap.Request:
			p := &pair{Method: m.Method, Subject: m.Subject, Old: m.N}
			key := newPairKey(m)
			pairs, open[key], requests[m.N] = append(pairs, p), append(open[key], p), p
		case tap.Response:
			if p := requests[m.Request]; p != nil {
				p.response = m
			}
		}
	}
	for _, m := range messages[1] {
		switch m.Kind {
		case tap.Request:
			p, key := &pair{Method: m.Method, Subject: m.Subject}, newPairKey(m)
			if same := open[key]; len(same) > 0 {
				p, open[key] = same[0], same[1:]
			} else {
				pairs = append(pairs, p)
			}
			p.New, requests[m.N] = m.N, p
		case tap.Response:
			if p := requests[m.Request]; p != nil && p.response != nil {
				p.Diff = reply.DiffOf(tap.Compare(p.response.Record.Frame, m.Record.Frame, "_meta"))
			}
		}
	}
	return pairs, nil
}
