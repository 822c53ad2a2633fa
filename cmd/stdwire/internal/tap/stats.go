package tap

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Stats counts what is in a recording. The zero value is ready. It is not safe for concurrent use. It remembers eight bytes of every answer, and every request that is open.
type Stats struct {
	report  Report
	methods map[methodKey]*Method
	open    map[int64][]Unanswered // by the number of the frame
	latest  map[asker]int64        // the frame of an open request
}

type methodKey struct {
	from Direction
	name string
}

// A Report is what there is to say of a recording.
type Report struct {
	Seconds    float64      `json:"seconds"` // from the start to the last that was recorded
	Client     Traffic      `json:"client"`
	Server     Traffic      `json:"server"`
	Methods    []*Method    `json:"methods"`    // those of which most was called first
	Unanswered []Unanswered `json:"unanswered"` // requests
	Unasked    []Unasked    `json:"unasked"`    // answers to nothing
	Missing    int64        `json:"missing"`    // frames that are not in the recording: what is unanswered or unasked may be because of them
	Status     *int         `json:"status"`     // of the server; null if the recording has no end
}

// Traffic is what one side wrote.
type Traffic struct {
	Frames int64 `json:"frames"`
	Bytes  int64 `json:"bytes"` // of frames, without what is between them
	Junk   int64 `json:"junk"`  // frames that are no messages
}

// A Method is what was said by the name of one: by a side, its requests and notifications, with their answers.
type Method struct {
	From     Direction `json:"from"`
	Name     string    `json:"method"`
	Count    int64     `json:"count"`
	Answered int64     `json:"answered"`
	Errors   int64     `json:"errors"`
	P50Ms    float64   `json:"p50_ms"`
	P95Ms    float64   `json:"p95_ms"`
	MaxMs    float64   `json:"max_ms"`
	Bytes    int64     `json:"bytes"`        // of what was asked or told
	Answers  int64     `json:"answer_bytes"` // of the answers

	took []float64
}

// An Unanswered is a request without an answer.
type Unanswered struct {
	N         int64           `json:"n"`
	From      Direction       `json:"from"`
	Method    string          `json:"method"`
	ID        json.RawMessage `json:"id"`
	Cancelled bool            `json:"cancelled"` // whoever asked took it back
}

// An Unasked is an answer without a request.
type Unasked struct {
	N      int64           `json:"n"`
	From   Direction       `json:"from"`
	ID     json.RawMessage `json:"id,omitempty"`
	Failed string          `json:"failed,omitempty"`
}

// maxMethods is how many methods are told apart; what is more is told as one.
const maxMethods = 1000

// Add counts a record.
func (s *Stats) Add(r *Record) {
	if s.methods == nil {
		s.methods, s.open, s.latest = map[methodKey]*Method{}, map[int64][]Unanswered{}, map[asker]int64{}
	}
	s.report.Seconds = max(s.report.Seconds, r.Seconds)
	switch r.Kind {
	case Dropped:
		s.report.Missing += r.Lost
	case End:
		s.report.Missing, s.report.Status = r.Missing, &r.Status
	}
	if r.N == 0 {
		return
	}
	side := &s.report.Client
	if r.From == FromServer {
		side = &s.report.Server
	}
	side.Frames++
	side.Bytes += r.Size
	if r.Kind == Junk {
		side.Junk++
	}
	messages, texts := r.All()
	for i, m := range messages {
		s.message(r, m, texts[i])
	}
}

func (s *Stats) message(r *Record, m Message, text []byte) {
	switch m.Kind {
	case Request:
		s.method(r.From, m.Method).told(m)
		s.open[r.N] = append(s.open[r.N], Unanswered{N: r.N, From: r.From, Method: m.Method, ID: m.ID})
		s.latest[asker{r.From, string(m.ID)}] = r.N
	case Notification:
		s.method(r.From, m.Method).told(m)
		if m.Method == "notifications/cancelled" {
			s.cancelled(r.From, shortID(jsonscan.Member(jsonscan.Member(text, "params"), "requestId")))
		}
	case Response:
		if m.Of == 0 {
			s.report.Unasked = append(s.report.Unasked, Unasked{r.N, r.From, m.ID, m.Failed})
			return
		}
		s.open[m.Of] = slices.DeleteFunc(s.open[m.Of], func(u Unanswered) bool { return string(u.ID) == string(m.ID) })
		if len(s.open[m.Of]) == 0 {
			delete(s.open, m.Of)
		}
		delete(s.latest, asker{r.From.Other(), string(m.ID)})
		s.method(r.From.Other(), m.Method).answered(m)
	}
}

func (s *Stats) cancelled(from Direction, id []byte) {
	for i, u := range s.open[s.latest[asker{from, string(id)}]] {
		if string(u.ID) == string(id) {
			s.open[u.N][i].Cancelled = true
		}
	}
}

func (s *Stats) method(from Direction, name string) *Method {
	k := methodKey{from, name}
	if s.methods[k] == nil && len(s.methods) >= maxMethods {
		k.name = "(others)"
	}
	m := s.methods[k]
	if m == nil {
		m = &Method{From: from, Name: k.name}
		s.methods[k] = m
	}
	return m
}

func (m *Method) told(message Message) {
	m.Count++
	m.Bytes += message.Size
}

func (m *Method) answered(message Message) {
	m.Answered++
	m.Answers += message.Size
	if message.Failed != "" {
		m.Errors++
	}
	m.took = append(m.took, message.Ms)
}

// Report returns what was counted so far.
func (s *Stats) Report() Report {
	report := s.report
	report.Methods = slices.SortedFunc(maps.Values(s.methods), func(a, b *Method) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name), cmp.Compare(a.From, b.From))
	})
	for _, m := range report.Methods {
		slices.Sort(m.took)
		m.P50Ms, m.P95Ms, m.MaxMs = rank(m.took, 0.50), rank(m.took, 0.95), rank(m.took, 1)
	}
	report.Unanswered, report.Unasked = []Unanswered{}, append([]Unasked{}, report.Unasked...)
	for _, n := range slices.Sorted(maps.Keys(s.open)) {
		report.Unanswered = append(report.Unanswered, s.open[n]...)
	}
	return report
}

// rank is the value that a part of all are not above.
func rank(sorted []float64, part float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(part*float64(len(sorted))))-1)]
}
