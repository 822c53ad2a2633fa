package dispatch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

// A fixture is a catalog with its dispatcher and the dispatcher's log.
type fixture struct {
	*dispatch.Catalog
	*dispatch.Dispatcher
	log bytes.Buffer
}

func newFixture(o dispatch.Options) *fixture {
	fx := &fixture{Catalog: dispatch.NewCatalog()}
	o.Logger = slog.New(slog.NewTextHandler(&fx.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	fx.Dispatcher = o.New(fx.Catalog)
	return fx
}

// register adds an operation "a.b" with a function; change may alter its spec.
func register[In, Out any](fx *fixture, fn func(context.Context, In) (Out, error),
	change ...func(*dispatch.Spec)) {
	spec := dispatch.Spec{Name: "a.b", Summary: "Does.", Type: dispatch.Read}
	for _, c := range change {
		c(&spec)
	}
	dispatch.Add(fx.Catalog, spec, fn)
}

func withErrors(codes ...dispatch.Code) func(*dispatch.Spec) {
	return func(s *dispatch.Spec) { s.Errors = codes }
}

// call calls the operation "a.b".
func (fx *fixture) call(ctx context.Context, arguments string) dispatch.Envelope {
	return fx.Dispatch(ctx,
		&dispatch.Call{Operation: "a.b", Arguments: json.RawMessage(arguments), RequestID: "r-7",
			Surface: "test"})
}

func returnError(err error) func(context.Context, nothing) (nothing, error) {
	return func(context.Context, nothing) (nothing, error) { return nothing{}, err }
}

// What a caller gets for a panic and the like, and for an error whose text is withheld.
const (
	internalErrorJSON = `{"success":false,"data":null,"error":{"code":"internal_error","message":"the operation failed unexpectedly; the log has the cause","details":null,"recoverable":false}}`
	withheldErrorJSON = `{"success":false,"data":null,"error":{"code":"internal_error","message":"the operation failed; the text of its error is withheld: the log has it, and ShowErrors shows it","details":null,"recoverable":false}}`
)

func TestUnknownOperation(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	e := fx.Dispatch(t.Context(), &dispatch.Call{Operation: "a.b\n" + strings.Repeat("x", 1000)})
	assert.Equal(t, e.Err.Code, dispatch.UnknownOperation)
	assert.Assert(t, strings.HasPrefix(e.Err.Message, `there is no operation "a.b\nxxx`) &&
		len(e.Err.Message) < 200, e.Err.Message)
}

func awaitDone(ctx context.Context, _ nothing) (nothing, error) {
	<-ctx.Done()
	return nothing{}, fmt.Errorf("waiting: %w", ctx.Err())
}

func TestTimeout(t *testing.T) {
	for _, tc := range []struct {
		name              string
		operation, common time.Duration
		want              time.Duration
	}{
		{"the operation's", time.Second, 0, time.Second},
		{"the dispatcher's", 0, 2 * time.Second, 2 * time.Second},
		{"the operation's is longer", 3 * time.Second, time.Second, 3 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx := newFixture(dispatch.Options{Timeout: tc.common})
				register(fx, awaitDone, func(s *dispatch.Spec) { s.Timeout = tc.operation })
				start := time.Now()
				e := fx.call(t.Context(), ``)
				assert.Equal(t, time.Since(start), tc.want)
				assert.Equal(t, e.Err.Code, dispatch.Timeout)
				assert.Assert(t, errors.Is(e.Err, context.DeadlineExceeded))
				assert.Equal(t, fx.log.String(), "")
			})
		})
	}
}

func TestNoTimeoutIsNone(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, func(ctx context.Context, _ nothing) (bool, error) {
		_, has := ctx.Deadline()
		return has, nil
	})
	assert.Equal(t, string(fx.call(t.Context(), ``).Data), "false")
}

func TestPlainErrorAfterTheTimeoutIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(dispatch.Options{})
		register(fx, func(ctx context.Context, _ nothing) (nothing, error) {
			<-ctx.Done()
			return nothing{}, errors.New("signal: killed")
		},
			func(s *dispatch.Spec) { s.Timeout = time.Second })
		assert.Equal(t, fx.call(t.Context(), ``).Err.Code, dispatch.Timeout)
	})
}

func TestTypedErrorAfterTheTimeoutStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(dispatch.Options{})
		register(fx, func(ctx context.Context, _ nothing) (nothing, error) {
			<-ctx.Done()
			return nothing{}, dispatch.Errorf(dispatch.UpstreamError, "down")
		}, func(s *dispatch.Spec) {
			s.Timeout = time.Second
			s.Errors = []dispatch.Code{dispatch.UpstreamError}
		})
		assert.Equal(t, fx.call(t.Context(), ``).Err.Code, dispatch.UpstreamError)
	})
}

func TestResultAfterTheTimeoutCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(dispatch.Options{})
		register(fx, func(context.Context, nothing) (string, error) {
			time.Sleep(time.Minute)
			return "late", nil
		},
			func(s *dispatch.Spec) { s.Timeout = time.Second })
		assert.Equal(t, string(fx.call(t.Context(), ``).Data), `"late"`)
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(dispatch.Options{})
		register(fx, awaitDone, func(s *dispatch.Spec) { s.Timeout = time.Hour })
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		assert.Equal(t, fx.call(ctx, ``).Err.Code, dispatch.Cancelled)
	})
}

func TestCancelledCallDoesNotStart(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, func(context.Context, nothing) (nothing, error) {
		t.Error("it ran")
		return nothing{}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Equal(t, fx.call(ctx, ``).Err.Code, dispatch.Cancelled)
	ctx, cancel = context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	assert.Equal(t, fx.call(ctx, ``).Err.Code, dispatch.Timeout)
}

func TestSlowOperationIsLogged(t *testing.T) {
	for _, tc := range []struct {
		name        string
		slow, takes time.Duration
		want        bool
	}{
		{"by default, under", 0, 10*time.Second - 1, false},
		{"by default, at", 0, 10 * time.Second, true},
		{"set, under", time.Second, time.Second - 1, false},
		{"set, over", time.Second, 2 * time.Second, true},
		{"off", -1, time.Hour, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx := newFixture(dispatch.Options{Slow: tc.slow})
				register(fx, func(context.Context, query) (nothing, error) {
					time.Sleep(tc.takes)
					return nothing{}, nil
				})
				assert.Assert(t, fx.call(t.Context(), `{"city":"SECRET"}`).Err == nil)
				log := fx.log.String()
				assert.Equal(t, strings.Contains(log, "level=WARN") &&
					strings.Contains(log, "operation=a.b") &&
					strings.Contains(log, "duration="+tc.takes.String()), tc.want, log)
				assert.Assert(t, !strings.Contains(log, "SECRET"))
			})
		})
	}
}

func TestInterceptors(t *testing.T) {
	var order []string
	trace := func(name string) dispatch.Interceptor {
		return func(next dispatch.Handler) dispatch.Handler {
			return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
				order = append(order, name+" "+i.Name)
				result, err := next(ctx, i)
				assert.NilError(t, err)
				code := dispatch.Code("ok")
				if result.IsError() {
					code = result.(dispatch.Envelope).Err.Code
				}
				order = append(order, name+" "+string(code))
				return result, err
			}
		}
	}
	fx := newFixture(dispatch.Options{
		Interceptors: []dispatch.Interceptor{trace("outer"), trace("inner")}})
	register(fx, func(_ context.Context, in struct {
		Fail bool `json:"fail"`
	}) (nothing, error) {
		if in.Fail {
			panic("bomb")
		}
		return nothing{}, nil
	})
	fx.call(t.Context(), `{"fail":false}`)
	fx.call(t.Context(), `{"fail":true}`)
	fx.call(t.Context(), `{}`)
	fx.Dispatch(t.Context(), &dispatch.Call{Operation: "a.unknown"})
	assert.DeepEqual(t, order, []string{
		"outer a.b", "inner a.b", "inner ok", "outer ok",
		"outer a.b", "inner a.b", "inner internal_error", "outer internal_error",
		"outer a.b", "inner a.b", "inner missing_param", "outer missing_param",
	})
}

const limitedJSON = `{"success":false,"data":null,"error":{"code":"rate_limited","message":"slow down","details":{"s":1},"recoverable":true}}`

func TestInterceptorMayAnswer(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer func() (dispatch.Result, error)
		want   string
	}{
		{"data", func() (dispatch.Result, error) {
			return dispatch.Envelope{Data: json.RawMessage(`1`)}, nil
		}, `{"success":true,"data":1,"error":null}`},
		{"a code that the operation does not declare", func() (dispatch.Result, error) {
			return dispatch.Envelope{Data: json.RawMessage(`1`),
				Err: dispatch.Errorf("rate_limited", "slow down").With(map[string]int{"s": 1})}, nil
		}, limitedJSON},
		{"an error with such a code", func() (dispatch.Result, error) {
			return nil, fmt.Errorf("x: %w",
				dispatch.Errorf("rate_limited", "slow down").With(map[string]int{"s": 1}))
		}, limitedJSON},
		{"a bare code", func() (dispatch.Result, error) { return nil, dispatch.Blocked },
			`{"success":false,"data":null,"error":{"code":"blocked","message":"A safety rule refuses what was sent.","details":null,"recoverable":false}}`},
		{"a code that the catalog does not have", func() (dispatch.Result, error) {
			return dispatch.Envelope{Err: dispatch.Errorf("made_up", "secret")}, nil
		}, internalErrorJSON},
		{"an error with such a code", func() (dispatch.Result, error) {
			return nil, dispatch.Errorf("made_up", "secret")
		}, internalErrorJSON},
		{"an error without a code", func() (dispatch.Result, error) {
			return nil, errors.New("secret")
		}, withheldErrorJSON},
		{"the end of a context", func() (dispatch.Result, error) {
			return nil, context.DeadlineExceeded
		}, `{"success":false,"data":null,"error":{"code":"timeout","message":"the time allowed ran out","details":null,"recoverable":true}}`},
		{"nothing", func() (dispatch.Result, error) { return nil, nil }, withheldErrorJSON},
		{"a result of another kind", func() (dispatch.Result, error) {
			return struct{ dispatch.Result }{}, nil
		}, withheldErrorJSON},
		{"a panic", func() (dispatch.Result, error) { panic("bomb") }, internalErrorJSON},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fx := newFixture(dispatch.Options{
				Interceptors: []dispatch.Interceptor{func(dispatch.Handler) dispatch.Handler {
					return func(context.Context, *dispatch.Invocation) (dispatch.Result, error) {
						return tc.answer()
					}
				}}})
			assert.NilError(t,
				fx.Declare(dispatch.CodeInfo{Code: "rate_limited", Recoverable: true,
					HTTPStatus: 429, ExitCode: 5, Summary: "Too fast."}))
			register(fx, func(context.Context, nothing) (nothing, error) {
				t.Error("it ran")
				return nothing{}, nil
			})
			e := fx.call(t.Context(), ``)
			assert.Equal(t, string(e.AppendJSON(nil)), tc.want)
			assert.Assert(t, e.Err == nil || e.Data == nil)
		})
	}
}

// An interceptor may replace the arguments, which are validated then, and call next again.
func TestInterceptorReplacesArguments(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"n":2}`: `{"success":true,"data":2,"error":null}`,
		`{}`:      "missing_param",
		`{"n":`:   "invalid_input",
		``:        "missing_param",
		"again":   `{"success":true,"data":2,"error":null}`,
		"other":   withheldErrorJSON,
		"own":     `{"success":true,"data":1,"error":null}`,
	} {
		t.Run(arguments, func(t *testing.T) {
			fx := newFixture(dispatch.Options{
				Interceptors: []dispatch.Interceptor{func(next dispatch.Handler) dispatch.Handler {
					return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result,
						error) {
						assert.Equal(t, i.Kind+i.Operation.Name()+i.Principal, "operationa.bann")
						own := *i
						switch arguments {
						case "again":
							_, err := next(ctx, i)
							assert.NilError(t, err)
							own.Arguments = json.RawMessage(`{"n":2}`)
						case "other":
							return next(ctx, &dispatch.Invocation{Name: i.Name})
						case "own":
							i.Call.Arguments = nil
						default:
							own.Arguments = json.RawMessage(arguments)
						}
						return next(ctx, &own)
					}
				}}})
			register(fx, func(_ context.Context, in struct {
				N int `json:"n"`
			}) (int, error) {
				return in.N, nil
			})
			e := fx.Dispatch(t.Context(), &dispatch.Call{Operation: "a.b", Principal: "ann",
				Arguments: json.RawMessage(`{"n":1}`), ArgumentsAreJSON: true})
			if e.Err != nil && want == string(e.Err.Code) {
				return
			}
			assert.Equal(t, string(e.JSON()), want)
		})
	}
}
