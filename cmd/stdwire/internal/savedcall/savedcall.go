// Package savedcall reads files of calls with expectations, and makes the calls: those that the
// page of stdwire web saves and stdwire test runs.
//
//	{"calls": [{
//	  "name": "the weather of Oslo", "server": "weather",
//	  "tool": "forecast", "arguments": {"city": "Oslo"},
//	  "expect": {
//	    "schema": {"required": ["structuredContent"]},
//	    "values": {"/structuredContent/city": "Oslo"},
//	    "within": "2s"
//	  }
//	}]}
//
// A call of another method than tools/call has "method" and "params" in place of "tool" and
// "arguments". A call without "error" in "expect" must succeed; "error" is the code of a JSON-RPC
// error, or "isError" for a tool that reports one.
package savedcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A File is the content of a file of calls.
type File struct {
	Calls []Call `json:"calls"`
}

// A Call is a request with its expectation.
type Call struct {
	Name      string          `json:"name"`
	Server    string          `json:"server,omitempty"` // its id
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // an object
	Method    string          `json:"method,omitempty"`    // in place of Tool
	Params    json.RawMessage `json:"params,omitempty"`    // an object
	Expect    Expectation     `json:"expect,omitzero"`
}

// An Expectation describes the expected outcome of a call. The zero value expects success.
type Expectation struct {
	Error  json.RawMessage            `json:"error,omitempty"`  // a number, or "isError"
	Schema json.RawMessage            `json:"schema,omitempty"` // of the result
	Values map[string]json.RawMessage `json:"values,omitempty"` // by JSON pointer into the result
	Within string                     `json:"within,omitempty"` // a duration
}

const (
	MaxFile  = 16 << 20 // bytes
	maxCalls = 10_000
)

const isError = `"isError"`

// Parse reads a file of calls. The error names the call and its defect.
func Parse(text []byte) (*File, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("it has more than %d bytes", MaxFile)
	}
	f := new(File)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(f); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is text after the object")
	}
	if len(f.Calls) > maxCalls {
		return nil, fmt.Errorf("it has more than %d calls", maxCalls)
	}
	for i := range f.Calls {
		c := &f.Calls[i]
		if c.Name == "" {
			c.Name = strings.TrimSpace(c.Tool + c.Method)
		}
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("call %d, %q: %w", i+1, c.Name, err)
		}
	}
	return f, nil
}

// check returns an error if the call contradicts itself.
func (c *Call) check() error {
	isObject := func(text json.RawMessage) bool { return text == nil || text[0] == '{' }
	code, hasError := c.Expect.Error, c.Expect.Error != nil
	_, isCode := jsonscan.Int(code, strconv.IntSize)
	switch {
	case (c.Tool == "") == (c.Method == ""):
		return errors.New(`it needs either a "tool" or a "method"`)
	case c.Tool != "" && c.Params != nil || c.Method != "" && c.Arguments != nil:
		return errors.New(`a "tool" has "arguments", and a "method" has "params"`)
	case !isObject(c.Arguments) || !isObject(c.Params):
		return errors.New("its arguments are not an object")
	case hasError && !isCode && string(code) != isError:
		return errors.New(`"error" is neither a number nor "isError"`)
	case hasError && string(code) != isError && (c.Expect.Schema != nil || c.Expect.Values != nil):
		return errors.New("an error has no result to compare")
	}
	if c.Expect.Schema != nil {
		if _, err := schema.Compile(c.Expect.Schema); err != nil {
			return fmt.Errorf(`"schema": %w`, err)
		}
	}
	for pointer := range c.Expect.Values {
		if pointer != "" && pointer[0] != '/' {
			return fmt.Errorf(`"values": %q is not a JSON pointer, which begins with a slash`, pointer)
		}
	}
	if _, err := c.Expect.within(); err != nil {
		return err
	}
	return nil
}

func (e *Expectation) within() (time.Duration, error) {
	if e.Within == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(e.Within)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf(`"within": %q is not a duration such as 500ms or 2s`, e.Within)
	}
	return d, nil
}

// Request returns the method and params of the call.
func (c *Call) Request() (method string, params json.RawMessage) {
	if c.Method != "" {
		return c.Method, c.Params
	}
	arguments := c.Arguments
	if arguments == nil {
		arguments = json.RawMessage(`{}`)
	}
	text := append([]byte(`{"name":`), jsonscan.AppendString(nil, c.Tool)...)
	return mcp.MethodCallTool, append(append(append(text, `,"arguments":`...), arguments...), '}')
}

// An Outcome is the outcome of a call.
type Outcome struct {
	Name     string   `json:"name"`
	Server   string   `json:"server,omitempty"`
	Ms       float64  `json:"ms"`
	Failures []string `json:"failures"` // the differences from the expectation, one line each
}

// Run makes the calls of a file with send, one after another, and returns their outcomes. After
// ctx has ended, the rest fails.
func (f *File) Run(ctx context.Context,
	send func(ctx context.Context, c *Call) (json.RawMessage, error)) []Outcome {
	outcomes := []Outcome{}
	for i := range f.Calls {
		c := &f.Calls[i]
		o := Outcome{Name: c.Name, Server: c.Server, Failures: []string{}}
		if ctx.Err() != nil {
			o.Failures = append(o.Failures, "not run: "+context.Cause(ctx).Error())
		} else {
			began := time.Now()
			result, err := send(ctx, c)
			took := time.Since(began)
			o.Ms = float64(took.Microseconds()) / 1e3
			o.Failures = append(o.Failures, c.Expect.failures(result, err, took)...)
		}
		outcomes = append(outcomes, o)
	}
	return outcomes
}

// failures returns the differences of a result or error from the expectation.
func (e *Expectation) failures(result json.RawMessage, err error,
	took time.Duration) (all []string) {
	add := func(format string, args ...any) {
		all = append(all, printable.Line(fmt.Sprintf(format, args...)))
	}
	if limit, _ := e.within(); limit > 0 && took > limit { // checked by Parse
		add("it took %v, and at most %v is allowed", took.Round(time.Millisecond), limit)
	}
	rpcError, isRPCError := errors.AsType[*rpc.Error](err)
	code, _ := jsonscan.Int(e.Error, strconv.IntSize) // checked by Parse
	toolFailed := string(jsonscan.Member(result, "isError")) == "true"
	switch want := string(e.Error); {
	case want != "" && want != isError:
		switch {
		case err == nil:
			add("it succeeded; want error %s", want)
		case !isRPCError || int64(rpcError.Code) != code:
			add("it did not fail with error %s: %v", want, err)
		}
		return all
	case err != nil:
		add("%v", err)
		return all
	case want == isError && !toolFailed:
		add("the tool did not report an error")
	case want == "" && toolFailed:
		add("the tool reports an error: %.300s", firstText(result))
	}
	if e.Schema != nil {
		compiled, err := schema.Compile(e.Schema)
		if err == nil {
			err = compiled.Validate(result)
		}
		if err != nil {
			add("the result does not match the schema: %v", err)
		}
	}
	for pointer, want := range e.Values {
		got, ok := valueAt(result, pointer)
		if !ok {
			add("%s: there is nothing; want %.300s", pointer, want)
		} else if !equal(got, want) {
			shown, wanted := printable.Difference(string(got), string(want), 300)
			add("%s: %s; want %s", pointer, shown, wanted)
		}
	}
	return all
}

// firstText returns the first text of a result of a tool.
func firstText(result json.RawMessage) string {
	for block := range jsonscan.Elements(jsonscan.Member(result, "content")) {
		if text, ok := jsonscan.Text(jsonscan.Member(block, "text")); ok {
			return text
		}
	}
	return string(result)
}

// equal reports whether two values are equal as JSON: 1 and 1.0 are.
func equal(got, want []byte) bool {
	same, err := schema.Compile(append(append([]byte(`{"const":`), want...), '}'))
	return err == nil && same.Validate(got) == nil
}

// valueAt returns the value at a JSON pointer (RFC 6901).
func valueAt(text []byte, pointer string) ([]byte, bool) {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		name := jsonscan.UnescapePointer(token)
		text = bytes.TrimSpace(text)
		var next []byte
		switch {
		case len(text) > 0 && text[0] == '[':
			i := 0
			for element := range jsonscan.Elements(text) {
				if strconv.Itoa(i) == name {
					next = element
				}
				i++
			}
		case len(text) > 0 && text[0] == '{':
			next = jsonscan.Member(text, name)
		}
		if next == nil {
			return nil, false
		}
		text = next
	}
	return text, true
}
