package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strconv"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

func TestEveryCodeHasItsRowInTheTable(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	assert.NilError(t, err)
	constants := 0
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Code" {
			return true
		}
		constants++
		code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		assert.NilError(t, err)
		info, ok := dispatch.NewCatalog().CodeInfo(dispatch.Code(code))
		assert.Assert(t, ok, "%s has no row", code)
		assert.Assert(t, info.Summary != "", code)
		assert.Equal(t, dispatch.Errorf(info.Code, "x").Recoverable, info.Recoverable)
		return true
	})
	assert.Equal(t, constants, len(dispatch.NewCatalog().Codes()), "rows without a constant")
}

func TestErrorsIsFindsTheCode(t *testing.T) {
	err := fmt.Errorf("reading: %w", dispatch.Errorf(dispatch.NotFound, "no file %q", "a"))
	assert.Assert(t, errors.Is(err, dispatch.NotFound))
	assert.Assert(t, !errors.Is(err, dispatch.StateError))
	e, ok := errors.AsType[*dispatch.Error](err)
	assert.Assert(t, ok)
	assert.Equal(t, e.Message, `no file "a"`)
	assert.Equal(t, e.Error(), `not_found: no file "a"`)
	assert.Assert(t, !e.Is(uncomparable{}))
}

type uncomparable []int

func (uncomparable) Error() string { return "" }

func TestErrorfWraps(t *testing.T) {
	e := dispatch.Errorf(dispatch.NotFound, "cannot open: %w", fs.ErrNotExist)
	assert.Equal(t, e.Message, "cannot open: file does not exist")
	assert.Assert(t, errors.Is(e, fs.ErrNotExist))

	e = dispatch.Errorf(dispatch.NotFound, "%w and %w", fs.ErrNotExist, fs.ErrClosed)
	assert.Assert(t, errors.Is(e, fs.ErrNotExist) && errors.Is(e, fs.ErrClosed))

	assert.Assert(t, dispatch.Errorf(dispatch.NotFound, "plain").Unwrap() == nil)
	assert.Assert(t,
		!errors.Is(dispatch.Errorf(dispatch.NotFound, "%v", fs.ErrNotExist), fs.ErrNotExist))
}

func TestWithDoesNotChangeTheOriginal(t *testing.T) {
	original := dispatch.Errorf(dispatch.UpstreamError, "down")
	changed := original.With(map[string]any{"status": 503}).WithRecoverable(false)
	assert.Assert(t, original.Details == nil && original.Recoverable)
	assert.Assert(t, changed.Details != nil && !changed.Recoverable)
}

func TestAppendJSON(t *testing.T) {
	for _, tc := range []struct {
		name     string
		envelope dispatch.Envelope
		want     string
	}{
		{"data", dispatch.Envelope{Data: json.RawMessage(`{"a":1}`), Session: "s\""},
			`{"success":true,"data":{"a":1},"error":null,"_meta":{"session_id":"s\""}}`},
		{"no data", dispatch.Envelope{}, `{"success":true,"data":null,"error":null}`},
		{"error", dispatch.Envelope{Err: dispatch.Errorf(dispatch.NotFound, "no \"x\"\n<b>\xff")},
			`{"success":false,"data":null,"error":{"code":"not_found","message":"no \"x\"\n<b>` +
				"\ufffd" + `","details":null,"recoverable":true}}`},
		{"typed details",
			dispatch.Envelope{
				Err: dispatch.Errorf(dispatch.Blocked,
					"no").With(map[string]any{"b": "<", "a": 1})},
			`{"success":false,"data":null,"error":{"code":"blocked","message":"no","details":{"a":1,"b":"<"},"recoverable":false}}`},
		{"raw details", dispatch.Envelope{
			Err: dispatch.Errorf(dispatch.Blocked, "no").With(json.RawMessage(`[1]`))},
			`{"success":false,"data":null,"error":{"code":"blocked","message":"no","details":[1],"recoverable":false}}`},
		{"error in a session",
			dispatch.Envelope{Err: dispatch.Errorf(dispatch.Blocked, "no"), Session: "s"},
			`{"success":false,"data":null,"error":{"code":"blocked","message":"no","details":null,"recoverable":false},"_meta":{"session_id":"s"}}`},
		{"original", dispatch.Envelope{Data: json.RawMessage(`1`),
			UpstreamResult: json.RawMessage(`{"a":1}`)},
			`{"success":true,"data":1,"error":null,"_meta":{"original":{"a":1}}}`},
		{"original in a session", dispatch.Envelope{Session: "s", UpstreamResult: json.RawMessage(`1`)},
			`{"success":true,"data":null,"error":null,"_meta":{"session_id":"s","original":1}}`},
		{"details that do not encode",
			dispatch.Envelope{Err: dispatch.Errorf(dispatch.Blocked, "no").With(func() {})},
			`{"success":false,"data":null,"error":{"code":"blocked","message":"no","details":null,"recoverable":false}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.envelope.AppendJSON([]byte("x"))
			assert.Equal(t, string(got), "x"+tc.want)
			assert.Assert(t, json.Valid(got[1:]))
			assert.Equal(t, tc.envelope.IsError(), tc.envelope.Err != nil)
			marshalled, err := json.Marshal(tc.envelope)
			assert.NilError(t, err)
			var a, b any
			assert.NilError(t, json.Unmarshal(marshalled, &a))
			assert.NilError(t, json.Unmarshal(got[1:], &b))
			assert.DeepEqual(t, a, b)
			read, ok := dispatch.ParseEnvelope(got[1:])
			assert.Assert(t, ok)
			assert.Equal(t, string(read.AppendJSON(nil)), tc.want)
		})
	}
	for _, text := range []string{``, `[]`, `{}`, `{"success":true,"data":1}`,
		`{"success":true,"data":1,"error":null,"more":1}`,
		`{"success":"true","data":1,"error":null}`,
		`{"success":true,"data":1,"error":{"code":"blocked","message":"no"}}`,
		`{"success":false,"data":null,"error":null}`,
		`{"success":false,"data":null,"error":{"code":"blocked"}}`,
		`{"success":false,"data":null,"error":"no"}`} {
		_, ok := dispatch.ParseEnvelope([]byte(text))
		assert.Assert(t, !ok, text)
	}
}

// The envelope has the original on one line, and only if it is JSON and the call succeeds.
func TestOriginal(t *testing.T) {
	for _, tc := range []struct {
		original string
		err      error
		want     string
	}{
		{"{\"a\":\n1}", nil, `{"success":true,"data":1,"error":null,"_meta":{"original":{"a":1}}}`},
		{"{", nil, `{"success":true,"data":1,"error":null}`},
		{"{}", dispatch.Blocked,
			`{"success":false,"data":null,"error":{"code":"blocked","message":"A safety rule refuses what was sent.","details":null,"recoverable":false}}`},
	} {
		catalog := dispatch.NewCatalog()
		dispatch.Add(catalog, dispatch.Spec{Name: "op", Summary: "Does it.", Type: dispatch.Read},
			func(ctx context.Context, _ struct{}) (int, error) {
				dispatch.CallFrom(ctx).UpstreamResult = json.RawMessage(tc.original)
				return 1, tc.err
			})
		e := dispatch.Options{}.New(catalog).Dispatch(t.Context(),
			&dispatch.Call{Operation: "op"})
		assert.Equal(t, string(e.AppendJSON(nil)), tc.want)
	}
}

func TestDeclareRefusesInvalidInfo(t *testing.T) {
	good := dispatch.CodeInfo{Code: "quota_exceeded", Recoverable: true, HTTPStatus: 429,
		ExitCode: 5, Summary: "Too much."}
	for _, tc := range []struct {
		name   string
		change func(*dispatch.CodeInfo)
		want   string
	}{
		{"upper case", func(c *dispatch.CodeInfo) { c.Code = "Quota" },
			`code "Quota": a code must consist of lower-case`},
		{"empty", func(c *dispatch.CodeInfo) { c.Code = "" }, "a code must consist of"},
		{"digit first", func(c *dispatch.CodeInfo) { c.Code = "4u" }, "begin with a letter"},
		{"status of a success", func(c *dispatch.CodeInfo) { c.HTTPStatus = 200 },
			"HTTP status 200"},
		{"exit code of a success", func(c *dispatch.CodeInfo) { c.ExitCode = 0 }, "exit code 0"},
		{"exit code of a signal", func(c *dispatch.CodeInfo) { c.ExitCode = 137 }, "exit code 137"},
		{"no summary", func(c *dispatch.CodeInfo) { c.Summary = "" }, "no summary"},
		{"code of the package", func(c *dispatch.CodeInfo) { c.Code = dispatch.Timeout },
			`"timeout" is already declared with other info`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := dispatch.NewCatalog()
			bad := good
			bad.Code = "other"
			tc.change(&bad)
			assert.ErrorContains(t, c.Declare(good, bad), tc.want)
			_, ok := c.CodeInfo(good.Code)
			assert.Assert(t, !ok, "Declare must add all codes or none")
		})
	}
}

func TestDeclareTwice(t *testing.T) {
	c := dispatch.NewCatalog()
	info := dispatch.CodeInfo{Code: "quota_exceeded", HTTPStatus: 429, ExitCode: 5,
		Summary: "Too much."}
	assert.NilError(t, c.Declare(info))
	assert.NilError(t, c.Declare(info))
	got, ok := c.CodeInfo("quota_exceeded")
	assert.Assert(t, ok && got == info)
	info.Recoverable = true
	assert.ErrorContains(t, c.Declare(info), "with other info")
	timeout, _ := c.CodeInfo(dispatch.Timeout)
	assert.NilError(t, c.Declare(timeout))
}
