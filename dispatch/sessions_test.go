package dispatch_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

// A shellService has the operations shell.open, shell.use, shell.list and shell.close. The value of
// a session is its number in the order of opening.
type shellService struct {
	*fixture
	all *dispatch.Sessions[int]
	log bytes.Buffer // of the sessions

	mu     sync.Mutex
	opened int
	closed []string // "id#value", in order

	// called by the operations and by SessionOptions.Close; nil: none
	onOpen, onUse, onClose func(ctx context.Context, id string) error
}

type openInput struct {
	ID string `json:"id"`
}

type sessionInput struct {
	dispatch.Session
	Text string `json:"text,omitempty"`
}

func newShellService(o dispatch.SessionOptions[int]) *shellService {
	s := &shellService{fixture: newFixture(dispatch.Options{})}
	o.Logger = slog.New(slog.NewTextHandler(&s.log, nil))
	o.Close = s.free
	s.all = o.New()
	dispatch.Add(s.Catalog,
		dispatch.Spec{Name: "shell.open", Summary: "Open.", Type: dispatch.Lifecycle,
			Errors: []dispatch.Code{dispatch.StateError}}, s.open)
	dispatch.Add(s.Catalog, dispatch.Spec{Name: "shell.use", Summary: "Use.", Type: dispatch.Write},
		s.use)
	dispatch.Add(s.Catalog,
		dispatch.Spec{Name: "shell.close", Summary: "Close.", Type: dispatch.Lifecycle}, s.close)
	dispatch.Add(s.Catalog,
		dispatch.Spec{Name: "shell.list", Summary: "List.", Type: dispatch.Read},
		func(ctx context.Context, _ nothing) ([]string, error) { return s.ids(ctx), nil })
	return s
}

func (s *shellService) open(ctx context.Context, in openInput) (string, error) {
	return s.all.Open(ctx, func(ctx context.Context) (string, int, error) {
		if s.onOpen != nil {
			if err := s.onOpen(ctx, in.ID); err != nil {
				return "", 0, err
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.opened++
		return in.ID, s.opened, nil
	})
}

func (s *shellService) use(ctx context.Context, in sessionInput) (int, error) {
	value, err := s.all.Get(ctx, in.Session.Session)
	if err == nil && s.onUse != nil {
		err = s.onUse(ctx, dispatch.CallFrom(ctx).Session)
	}
	return value, err
}

func (s *shellService) close(ctx context.Context, in struct{ dispatch.Session }) (bool, error) {
	return s.all.Close(ctx, in.Session.Session)
}

func (s *shellService) free(ctx context.Context, id string, value int) error {
	s.mu.Lock()
	s.closed = append(s.closed, fmt.Sprintf("%s#%d", id, value))
	s.mu.Unlock()
	if s.onClose != nil {
		return s.onClose(ctx, id)
	}
	return nil
}

func (s *shellService) ids(ctx context.Context) []string {
	ids := []string{}
	for _, info := range s.all.List(ctx) {
		ids = append(ids, info.ID)
	}
	return ids
}

// closedSessions returns the sessions that were closed so far, as "id#value".
func (s *shellService) closedSessions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.closed...)
}

// do calls the operation shell.<action>; change may alter the call.
func (s *shellService) do(t *testing.T, action, arguments string,
	change ...func(*dispatch.Call)) dispatch.Envelope {
	call := &dispatch.Call{Operation: "shell." + action, Arguments: json.RawMessage(arguments)}
	for _, fn := range change {
		fn(call)
	}
	return s.Dispatch(t.Context(), call)
}

func (s *shellService) openAll(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		e := s.do(t, "open", fmt.Sprintf(`{"id":%q}`, id))
		assert.Assert(t, e.Err == nil, e.Err)
	}
}

func asPrincipal(principal string) func(*dispatch.Call) {
	return func(c *dispatch.Call) { c.Principal = principal }
}

func inSession(session string) func(*dispatch.Call) {
	return func(c *dispatch.Call) { c.Session = session }
}

func TestSessionSelection(t *testing.T) {
	for _, tc := range []struct {
		rule      string
		open      []string
		arguments string
		want      string // the data
		code      dispatch.Code
		message   string
		sessions  string // in the details
	}{
		{"the id that open returned", []string{"pty-7", "b"},
			`{"session":"pty-7"}`, `1`, "", "", ""},
		{"the only session if none is named", []string{"a"}, `{}`, `1`,
			"", "", ""},
		{"an empty id names no session", []string{"a"}, `{"session":""}`, `1`, "", "", ""},
		{"invalid_input for several sessions, with the ids", []string{"a", "b"}, `{}`, ``,
			dispatch.InvalidInput, "several sessions are running; say which: a, b", `["a","b"]`},
		{"not_running when there is none", nil, `{}`, ``, dispatch.NotRunning,
			"no session is running", `[]`},
		{"not_running when there is none, whatever is named", nil, `{"session":"a"}`, ``,
			dispatch.NotRunning, "no session is running", `[]`},
		{"not_running when none matches, with the ids", []string{"a", "b"}, `{"session":"c"}`, ``,
			dispatch.NotRunning, `no session "c" is running, only a, b`, `["a","b"]`},
		{"not_running when the only one does not match", []string{"a"}, `{"session":"A"}`, ``,
			dispatch.NotRunning, `no session "A" is running, only a`, `["a"]`},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			s := newShellService(dispatch.SessionOptions[int]{})
			s.openAll(t, tc.open...)
			for surface, e := range map[string]dispatch.Envelope{
				"argument": s.do(t, "use", tc.arguments),
				"call": s.do(t, "use", `{}`, func(c *dispatch.Call) {
					assert.NilError(t, json.Unmarshal([]byte(tc.arguments), c))
				}),
			} {
				if tc.code == "" {
					assert.Equal(t, string(e.Data), tc.want, surface)
					continue
				}
				assert.Equal(t, e.Err.Code, tc.code, surface)
				assert.Equal(t, e.Err.Message, tc.message)
				assert.Equal(t, string(e.Err.Details.(json.RawMessage)), `{"sessions":`+tc.sessions+
					`}`)
				assert.Assert(t, e.Err.Recoverable)
			}
		})
	}
}

// The envelope has the session in which the call ran, even if the caller did not name it, and even
// on failure.
func TestEnvelopeCarriesTheSessionOfTheCall(t *testing.T) {
	for _, tc := range []struct {
		rule, action, arguments, ambient, want string
	}{
		{"of the call that opens it", "open", `{"id":"new"}`, "", "new"},
		{"resolved by default", "use", `{}`, "", "a"},
		{"by argument", "use", `{"session":"a"}`, "", "a"},
		{"by the call", "use", `{}`, "a", "a"},
		{"by both", "use", `{"session":"a"}`, "a", "a"},
		{"closed by default", "close", `{}`, "", "a"},
		{"closed by argument", "close", `{"session":"a"}`, "", "a"},
		{"of an operation that uses no session", "list", `{}`, "", ""},
		{"that does not exist, as named", "use", `{"session":"x"}`, "", "x"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			s := newShellService(dispatch.SessionOptions[int]{})
			s.openAll(t, "a")
			e := s.do(t, tc.action, tc.arguments, inSession(tc.ambient))
			assert.Equal(t, e.Session, tc.want)
			has := strings.HasSuffix(string(e.AppendJSON(nil)),
				fmt.Sprintf(`,"_meta":{"session_id":%q}}`, tc.want))
			assert.Equal(t, has, tc.want != "", "%s", e.AppendJSON(nil))
		})
	}
	t.Run("of a call that fails after it was resolved", func(t *testing.T) {
		s := newShellService(dispatch.SessionOptions[int]{})
		s.openAll(t, "a")
		for name, fail := range map[string]func(context.Context, string) error{
			"error": func(context.Context, string) error { return errors.New("boom") },
			"panic": func(context.Context, string) error { panic("boom") },
		} {
			s.onUse = fail
			e := s.do(t, "use", `{}`)
			assert.Equal(t, e.Err.Code, dispatch.InternalError, name)
			assert.Equal(t, e.Session, "a", name)
			assert.Assert(t, strings.Contains(s.fixture.log.String(), "session=a"),
				"the log must have the session")
		}
	})
}

// A session belongs to the principal that opened it, and does not exist for the calls of others.
func TestSessionsOfOthersDoNotExist(t *testing.T) {
	s := newShellService(dispatch.SessionOptions[int]{Max: 4})
	assert.Assert(t, s.do(t, "open", `{"id":"anns"}`, asPrincipal("ann")).Err == nil)
	assert.Assert(t, s.do(t, "open", `{"id":"bobs"}`, asPrincipal("bob")).Err == nil)

	for _, named := range []string{`{}`, `{"session":"anns"}`} {
		assert.Equal(t, string(s.do(t, "use", named, asPrincipal("ann")).Data), "1",
			"the session of bob does not count")
	}
	stranger := s.do(t, "use", `{"session":"anns"}`, asPrincipal("bob"))
	assert.Equal(t, stranger.Err.Code, dispatch.NotRunning)
	assert.Equal(t, stranger.Err.Message, `no session "anns" is running, only bobs`)
	assert.Equal(t, string(stranger.Err.Details.(json.RawMessage)), `{"sessions":["bobs"]}`)
	assert.Equal(t, s.do(t, "use", `{}`).Err.Code, dispatch.NotRunning,
		"the empty principal is a principal of its own")
	assert.Equal(t, s.do(t, "use", `{}`, inSession("anns")).Err.Code, dispatch.NotRunning)

	assert.Equal(t, string(s.do(t, "close", `{"session":"anns"}`, asPrincipal("bob")).Data), "false")
	assert.Equal(t, string(s.do(t, "list", `{}`, asPrincipal("bob")).Data), `["bobs"]`)
	assert.Equal(t, string(s.do(t, "list", `{}`).Data), `[]`)

	assert.Assert(t, s.do(t, "open", `{"id":"third"}`, asPrincipal("ann")).Err == nil)
	full := s.do(t, "open", `{"id":"fourth"}`, asPrincipal("bob"))
	assert.Equal(t, full.Err.Code, dispatch.StateError)
	assert.Equal(t, string(full.Err.Details.(json.RawMessage)), `{"sessions":["bobs"]}`)

	// Outside of a call, the program sees all sessions.
	assert.DeepEqual(t, s.ids(t.Context()), []string{"anns", "bobs", "third"})
	value, err := s.all.Get(t.Context(), "bobs")
	assert.NilError(t, err)
	assert.Equal(t, value, 2)
	assert.DeepEqual(t, s.closedSessions(), []string{})
}

// One principal cannot open all sessions that the limit allows.
func TestOnePrincipalLeavesSessionsToOthers(t *testing.T) {
	s := newShellService(dispatch.SessionOptions[int]{Max: 8})
	open := func(who string) *dispatch.Error {
		return s.do(t, "open", fmt.Sprintf(`{"id":%q}`, rand.Text()), asPrincipal(who)).Err
	}
	for range 4 {
		assert.Assert(t, open("ann") == nil)
	}
	full := open("ann")
	assert.ErrorIs(t, full, dispatch.StateError)
	assert.Equal(t, full.Message,
		"you have 4 sessions, your share of the limit of 8; close one first")
	assert.Assert(t, open("bob") == nil)
	assert.Assert(t, open("bob") == nil)
	assert.Assert(t, open("cem") == nil)
	assert.NilError(t, s.all.Shutdown(t.Context()))
}

func TestSessionsConcurrently(t *testing.T) {
	s := newShellService(dispatch.SessionOptions[int]{})
	s.openAll(t, "a", "b")
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			id := []string{"a", "b"}[w%2]
			for range 100 {
				if e := s.do(t, "use", fmt.Sprintf(`{"session":%q}`, id)); e.Err != nil ||
					e.Session != id {
					t.Error(e.Session, e.Err)
				}
				s.ids(t.Context())
				mine := fmt.Sprint("w", w)
				if e := s.do(t, "open", fmt.Sprintf(`{"id":%q}`, mine)); e.Err != nil ||
					e.Session != mine {
					t.Error(e.Err)
				}
				if e := s.do(t, "close",
					fmt.Sprintf(`{"session":%q}`, mine)); string(e.Data) != "true" {
					t.Error(e.Err)
				}
			}
		})
	}
	group.Wait()
	assert.DeepEqual(t, s.ids(t.Context()), []string{"a", "b"})
	assert.Equal(t, len(s.closedSessions()), 800)
}

// Within one call, Get and Close without an id use the session that the call opened.
func TestSessionOfTheCallStays(t *testing.T) {
	s := newShellService(dispatch.SessionOptions[int]{})
	s.openAll(t, "a", "b")
	register(s.fixture, func(ctx context.Context, _ nothing) ([]string, error) {
		id, err := s.open(ctx, openInput{"c"})
		if err != nil {
			return nil, err
		}
		value, err := s.all.Get(ctx, "")
		if err != nil {
			return nil, err
		}
		first, err1 := s.all.Close(ctx, "")
		second, err2 := s.all.Close(ctx, "")
		_, err3 := s.all.Get(ctx, "")
		return []string{id,
			fmt.Sprint(value, first, err1, second, err2, errors.Is(err3, dispatch.NotRunning))}, nil
	})
	e := s.call(t.Context(), ``)
	assert.Equal(t, string(e.Data), `["c","3 true <nil> false <nil> true"]`, e.Err)
}
