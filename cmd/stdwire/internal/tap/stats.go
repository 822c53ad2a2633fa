package tap

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Stats computes statistics of a recording. The zero value is ready to use. It is not safe for
// concurrent use. Its memory is eight bytes for each response, and the requests that are open.
type Stats struct {
	report  Report
	methods map[methodKey]*Method
	open    map[int64][]UnansweredRequest // by frame number
	latest  map[requestKey]int64          // frame number of an open request
}

type methodKey struct {
	from Direction
	name string
}

// A Report holds the statistics of a recording.
type Report struct {
	Seconds    float64             `json:"seconds"` // from the start to the last record
	Client     Traffic             `json:"client"`
	Server     Traffic             `json:"server"`
	Methods    []*Method           `json:"methods"`    // by number of messages, descending
	Unanswered []UnansweredRequest `json:"unanswered"` // requests without a response
	Unmatched  []UnmatchedResponse `json:"unasked"`    // responses without a request

	// OtherIDs is the number of responses with the id of their request in another notation, such as
	// "1" for 1.
	OtherIDs int64 `json:"other_ids,omitempty"`

	// Missing is the number of frames that are not in the recording, which may explain Unanswered
	// and Unmatched.
	Missing int64 `json:"missing"`
	// Status is the exit status of the server, or nil if the recording has no end.
	Status *int `json:"status"`
}

// Traffic counts the bytes and frames that one side wrote.
type Traffic struct {
	Frames int64 `json:"frames"`
	Bytes  int64 `json:"bytes"` // of frames, without line ends and headers
	Junk   int64 `json:"junk"`  // frames that are not messages
}

// A Method counts the requests and notifications of one side for one method, and their responses.
type Method struct {
	From     Direction `json:"from"`
	Name     string    `json:"method"`
	Count    int64     `json:"count"`
	Answered int64     `json:"answered"`
	Errors   int64     `json:"errors"`
	P50Ms    float64   `json:"p50_ms"`
	P95Ms    float64   `json:"p95_ms"`
	MaxMs    float64   `json:"max_ms"`
	Bytes    int64     `json:"bytes"`        // of requests and notifications
	Answers  int64     `json:"answer_bytes"` // of responses

	durations []float64
}

// An UnansweredRequest is a request without a response.
type UnansweredRequest struct {
	N         int64           `json:"n"`
	From      Direction       `json:"from"`
	Method    string          `json:"method"`
	ID        json.RawMessage `json:"id"`
	Cancelled bool            `json:"cancelled"` // by its sender
}

// An UnmatchedResponse is a response without a request.
type UnmatchedResponse struct {
	N      int64           `json:"n"`
	From   Direction       `json:"from"`
	ID     json.RawMessage `json:"id,omitempty"`
	Failed string          `json:"failed,omitempty"`
}

// maxMethods is the number of methods counted separately; the rest is counted as "(others)".
const maxMethods = 1000

// Add counts a record.
func (s *Stats) Add(r *Record) {
	if s.methods == nil {
		s.methods, s.open, s.latest = map[methodKey]*Method{}, map[int64][]UnansweredRequest{},
			map[requestKey]int64{}
	}
	s.report.Seconds = max(s.report.Seconds, r.Seconds)
	switch r.Type {
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
	if r.Type == Junk {
		side.Junk++
	}
	messages, texts := r.All()
	for i, m := range messages {
		s.message(r, m, texts[i])
	}
}

func (s *Stats) message(r *Record, m Message, text []byte) {
	switch m.Type {
	case Request:
		s.method(r.From, m.Method).countMessage(m)
		s.open[r.N] = append(s.open[r.N],
			UnansweredRequest{N: r.N, From: r.From, Method: m.Method, ID: m.ID})
		s.latest[requestKey{r.From, string(m.ID)}] = r.N
	case Notification:
		s.method(r.From, m.Method).countMessage(m)
		if m.Method == "notifications/cancelled" {
			s.markCancelled(r.From,
				shortID(jsonscan.Member(jsonscan.Member(text, "params"), "requestId")))
		}
	case Response:
		if m.RequestFrame == 0 {
			s.report.Unmatched = append(s.report.Unmatched,
				UnmatchedResponse{r.N, r.From, m.ID, m.Failed})
			return
		}
		id := m.requestID()
		if id != string(m.ID) {
			s.report.OtherIDs++
		}
		s.open[m.RequestFrame] = slices.DeleteFunc(s.open[m.RequestFrame],
			func(u UnansweredRequest) bool { return string(u.ID) == id })
		if len(s.open[m.RequestFrame]) == 0 {
			delete(s.open, m.RequestFrame)
		}
		delete(s.latest, requestKey{r.From.Other(), id})
		s.method(r.From.Other(), m.Method).countResponse(m)
	}
}

func (s *Stats) markCancelled(from Direction, id []byte) {
	for i, u := range s.open[s.latest[requestKey{from, string(id)}]] {
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

func (m *Method) countMessage(message Message) {
	m.Count++
	m.Bytes += message.Size
}

func (m *Method) countResponse(message Message) {
	m.Answered++
	m.Answers += message.Size
	if message.Failed != "" {
		m.Errors++
	}
	m.durations = append(m.durations, message.Ms)
}

// Report returns the statistics of the records added so far.
func (s *Stats) Report() Report {
	report := s.report
	report.Methods = slices.SortedFunc(maps.Values(s.methods), func(a, b *Method) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.From, b.From))
	})
	for _, m := range report.Methods {
		slices.Sort(m.durations)
		m.P50Ms, m.P95Ms, m.MaxMs = Percentile(m.durations, 0.50), Percentile(m.durations, 0.95),
			Percentile(m.durations, 1)
	}
	report.Unanswered, report.Unmatched = []UnansweredRequest{},
		append([]UnmatchedResponse{}, report.Unmatched...)
	for _, n := range slices.Sorted(maps.Keys(s.open)) {
		report.Unanswered = append(report.Unanswered, s.open[n]...)
	}
	return report
}

// Percentile returns the nearest-rank percentile for part, which is between 0 and 1; 0 if there are
// no values.
func Percentile(sorted []float64, part float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(part*float64(len(sorted))))-1)]
}
