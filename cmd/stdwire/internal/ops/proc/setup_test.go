package proc

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs"
	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

// A testService calls the operations on a directory as a surface does.
type testService struct {
	*Service
	dir        string
	dispatcher *dispatch.Dispatcher
	call       dispatch.Call // template of all calls
}

// newService returns the operations with a new directory as the root "main". They are shut down
// when the test ends.
func newService(t testing.TB, o Options) *testService {
	t.Helper()
	s := &testService{dir: t.TempDir()}
	roots, err := fs.OpenRoots([]fs.Root{{Name: "main", Dir: s.dir}})
	assert.NilError(t, err)
	t.Cleanup(func() { assert.Check(t, roots.Close()) })
	o.Roots, o.Logger = roots, slog.New(slog.DiscardHandler)
	catalog := dispatch.NewCatalog(dispatch.GateExec, dispatch.GateEval)
	s.Service, err = Register(catalog, o)
	assert.NilError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		assert.Check(t, s.Shutdown(ctx))
	})
	s.dispatcher = dispatch.Options{Logger: o.Logger}.New(catalog)
	return s
}

// as returns the same operations with another caller.
func (s *testService) as(principal string, client context.Context) *testService {
	other := *s
	other.call = dispatch.Call{Principal: principal, Client: client}
	return &other
}

type args map[string]any

func (s *testService) dispatch(ctx context.Context, operation string,
	arguments args) dispatch.Envelope {
	encoded, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	call := s.call
	call.Operation, call.Arguments = operation, encoded
	return s.dispatcher.Dispatch(ctx, &call)
}

// run calls an operation, which must succeed, and returns its data.
func run[Out any](t testing.TB, s *testService, operation string, arguments args) Out {
	t.Helper()
	return decode[Out](t, s.dispatch(t.Context(), operation, arguments))
}

// fails calls an operation, which must fail with a code and a message that contains text and no
// path of the host.
func fails(t testing.TB, s *testService, operation string, arguments args, code dispatch.Code,
	text string) *dispatch.Error {
	t.Helper()
	return failed(t, s, s.dispatch(t.Context(), operation, arguments), code, text)
}

func failed(t testing.TB, s *testService, envelope dispatch.Envelope, code dispatch.Code,
	text string) *dispatch.Error {
	t.Helper()
	if envelope.Err == nil {
		t.Fatalf("succeeded: %s", envelope.Data)
	}
	assert.Equal(t, envelope.Err.Code, code, "%v %v", envelope.Err, envelope.Err.Unwrap())
	assert.Assert(t, strings.Contains(envelope.Err.Message, text), envelope.Err.Message)
	assert.Assert(t, !strings.Contains(envelope.Err.Message, s.dir), envelope.Err.Message)
	return envelope.Err
}

// details returns a member of an error's details.
func details[T any](t testing.TB, err *dispatch.Error, member string) T {
	t.Helper()
	encoded, e := json.Marshal(err.Details)
	assert.NilError(t, e)
	var all map[string]json.RawMessage
	assert.NilError(t, json.Unmarshal(encoded, &all))
	var value T
	assert.NilError(t, json.Unmarshal(all[member], &value), string(encoded))
	return value
}

// expect reads up to a match of pattern, which must come.
func (s *testService) expect(t testing.TB, session, pattern string) string {
	t.Helper()
	out := run[ReadOutput](t, s, "proc.read",
		args{"session": session, "pattern": pattern, "wait_ms": 60000})
	assert.Assert(t, out.Matched, "%+v", out)
	return out.Output
}

// rest reads until the process has ended.
func (s *testService) rest(t testing.TB, session string) ReadOutput {
	t.Helper()
	out := run[ReadOutput](t, s, "proc.read",
		args{"session": session, "until": "exit", "wait_ms": 60000, "max_bytes": 262144})
	assert.Assert(t, !out.Running, "%+v", out)
	return out
}

func (s *testService) put(t testing.TB, name, content string, mode os.FileMode) {
	t.Helper()
	full := filepath.Join(s.dir, name)
	assert.NilError(t, os.MkdirAll(filepath.Dir(full), 0o777))
	assert.NilError(t, os.WriteFile(full, []byte(content), mode))
}

func decode[Out any](t testing.TB, envelope dispatch.Envelope) (out Out) {
	t.Helper()
	if envelope.Err != nil {
		t.Fatalf("%v (%v)", envelope.Err, envelope.Err.Unwrap())
	}
	assert.NilError(t, json.Unmarshal(envelope.Data, &out))
	return out
}
