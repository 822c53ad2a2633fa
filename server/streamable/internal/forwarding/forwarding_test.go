package forwarding

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/server/streamable/internal/shared"
)

// A frame is opened by its receiver with the same secret, whole.
func TestFrames(t *testing.T) {
	s, err := NewSealer([]byte("secret"))
	assert.NilError(t, err)
	other, err := NewSealer([]byte("another"))
	assert.NilError(t, err)
	f := &Frame{From: "a", Sequence: 7, Fence: 9, Method: "POST", Path: "/mcp", Session: "S",
		Header: http.Header{"Accept": {"x", "y"}}, Digest: Digest([]byte("body")),
		Principal: "ada", Values: []byte("values"), Expires: time.Unix(1, 0).UTC(), Attempt: 1}
	sealed, err := s.Seal("b", f)
	assert.NilError(t, err)
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	assert.NilError(t, err)
	assert.Assert(t, !strings.Contains(string(raw), `"principal"`))
	opened, err := s.Open("b", sealed)
	assert.NilError(t, err)
	assert.DeepEqual(t, opened, f)
	for _, c := range []struct {
		by             Sealer
		receiver, text string
	}{
		{s, "c", sealed}, {other, "b", sealed}, {s, "b", sealed[:len(sealed)-1]}, {s, "b", ""},
		{s, "b", sealed[1:] + sealed[:1]}, {s, "b", sealed + "="}, {s, "b", "é"},
		{s, "b", strings.Repeat("A", maxFrame+1)},
	} {
		_, err := c.by.Open(c.receiver, c.text)
		assert.ErrorIs(t, err, ErrForged, "%.20q", c.text)
	}
	for mark, want := range map[string]bool{s.Mark(sealed): true, s.Mark(sealed + "x"): false,
		other.Mark(sealed): false, sealed: false, "": false} {
		res := &http.Response{Header: http.Header{Header: {mark}}}
		assert.Equal(t, s.IsMarked(res, sealed), want)
	}
	f.Values = make([]byte, maxFrame)
	_, err = s.Seal("b", f)
	assert.ErrorIs(t, err, ErrTooLarge)
}

// Of a random history, each frame is accepted once, unless it is too old.
func TestSeen(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 1))
		var s Seen
		known, last := map[uint64]bool{}, uint64(0)
		for range 3000 {
			number := uint64(1)
			switch random.IntN(5) {
			case 0: // ahead, now and then far
				number = last + 1 + random.Uint64N(1<<random.IntN(5)*(1<<(12*(random.IntN(20)/19))))
			case 1: // any
				number = 1 + random.Uint64N(last+1)
			default: // near
				number = last + 3 - min(random.Uint64N(50), last+2)
			}
			fresh := !known[number] && number+windowSize > last
			if s.Add("a", number, 1, 1) != fresh {
				t.Fatalf("seed %d: %d after %d", seed, number, last)
			}
			known[number] = true
			last = max(last, number)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var s Seen
		for _, want := range []bool{true, false} {
			assert.Equal(t, s.Add("without a time", 1, 0, 1), want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var seen Seen
		begun := time.Now()
		add := func(sender string, number uint64, made int64) bool {
			return seen.Add(sender, number, made, 1000+time.Since(begun).Microseconds())
		}
		for i := range maxSenders {
			assert.Assert(t, add(fmt.Sprint(i), 1, int64(i+1)))
		}
		assert.Assert(t, !add("one more", 1, 1e6))
		assert.Assert(t, seen.Knows("0") && !seen.Knows("one more"))
		time.Sleep(quiet)
		hour := time.Hour.Microseconds()
		assert.Assert(t, add("0", 2, 1e6) && add("1", 2, hour)) // the clock of 1 is ahead
		time.Sleep(time.Second)
		assert.Assert(t, add("one more", 1, 1e6))
		assert.Assert(t, seen.Knows("0") && !seen.Knows("2"))
		// What has come is not accepted again when its sender is forgotten, and what is new is.
		for i := range maxSenders {
			assert.Assert(t, !add(fmt.Sprint(i), 1, int64(i+1)), i)
		}
		assert.Assert(t, add("2", 2, maxSenders+1))
		// A sender whose clock is ahead makes no others old, and is not forgotten before its time.
		for i := range maxSenders {
			add(fmt.Sprint("new ", i), 1, 2e6)
		}
		time.Sleep(2 * quiet)
		assert.Assert(t, add("newest", 1, 3e6) && !add("1", 2, hour))
		time.Sleep(time.Hour)
		for i := range maxSenders {
			add(fmt.Sprint("late ", i), 1, hour-1)
		}
		time.Sleep(2 * quiet)
		assert.Assert(t, add("last", 1, 2*hour) && !seen.Knows("1") && !add("1", 2, hour))
	})
}

// Routes are those of a principal, and bounded.
func TestRoutes(t *testing.T) {
	r := Routes{Max: 3}
	a := shared.Replica{Name: "a"}
	assert.Equal(t, r.Find("S", "ada"), shared.Replica{})
	r.Set("S", "ada", a)
	assert.Equal(t, r.Find("S", "ada"), a)
	assert.Equal(t, r.Find("S", "bob"), shared.Replica{})
	for i := range 10 {
		r.Set(fmt.Sprint(i), "ada", a)
		assert.Assert(t, len(r.all) <= 3)
		assert.Equal(t, r.Find(fmt.Sprint(i), "ada"), a)
	}
	r.Forget("9")
	assert.Equal(t, r.Find("9", "ada"), shared.Replica{})
}

// What a replica may have received is told from what it cannot, redirections are not followed, and
// a response that breaks off is an error.
func TestClient(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/breaks":
			panic(http.ErrAbortHandler)
		case "/moves":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("half"))
		default:
			w.Header().Set("Set-Cookie", "a=b")
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(r.Header.Get(Header)))
		}
	}))
	defer s.Close()
	c := NewClient(nil, nil)
	defer c.Close()
	for _, tt := range []struct {
		url, path   string
		status      int
		begun, cuts bool
	}{
		{s.URL, "/", 200, true, false},
		{s.URL, "/moves", 302, true, false},
		{s.URL, "/cut", 200, true, true},
		{s.URL, "/breaks", 0, true, false},
		{"http://127.0.0.1:1", "/", 0, false, false},
	} {
		for _, body := range [][]byte{nil, make([]byte, 1<<20)} {
			f := &Frame{Method: "POST", Path: tt.path, Header: http.Header{"Accept": {"x"}}}
			res, begun, err := c.Send(t.Context(), tt.url, f, "sealed", body)
			assert.Equal(t, begun, tt.begun, tt.path)
			assert.Equal(t, err == nil, tt.status != 0, tt.path)
			if err != nil {
				continue
			}
			w := httptest.NewRecorder()
			err = Copy(w, httpdeadline.New(w, httptest.NewRequest("GET", "/", nil)), res)
			assert.Equal(t, err != nil, tt.cuts, tt.path)
			assert.NilError(t, res.Body.Close())
			assert.Equal(t, w.Code, tt.status)
			assert.Equal(t, w.Header().Get("Set-Cookie")+w.Header().Get("Location"), "")
			if tt.path == "/" {
				assert.Equal(t, w.Body.String(), "sealed")
			}
		}
	}
}
