package telemetry

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

const (
	traceText = "0af7651916cd43dd8448eb211c80319c"
	spanText  = "b7ad6b7169203331"
	valid     = "00-" + traceText + "-" + spanText + "-01"
)

func TestParseSpanContext(t *testing.T) {
	for _, test := range []struct {
		text        string
		ok, sampled bool
	}{
		{valid, true, true},
		{"00-" + traceText + "-" + spanText + "-00", true, false},
		{"00-" + traceText + "-" + spanText + "-03", true, true},
		{"00-" + traceText + "-" + spanText + "-02", true, false},
		{"cc-" + traceText + "-" + spanText + "-01", true, true},
		{"cc-" + traceText + "-" + spanText + "-01-what the future brings", true, true},
		{"cc-" + traceText + "-" + spanText + "-01what", false, false},
		{"cc-" + traceText + "-" + spanText + "-01-", true, true},
		{valid + "-", false, false},
		{valid + "-more", false, false},
		{valid + " ", false, false},
		{" " + valid, false, false},
		{"ff-" + traceText + "-" + spanText + "-01", false, false},
		{"0-" + traceText + "-" + spanText + "-01", false, false},
		{"zz-" + traceText + "-" + spanText + "-01", false, false},
		{"00-" + strings.Repeat("0", 32) + "-" + spanText + "-01", false, false},
		{"00-" + traceText + "-" + strings.Repeat("0", 16) + "-01", false, false},
		{"00-" + strings.ToUpper(traceText) + "-" + spanText + "-01", false, false},
		{"00-" + traceText + "-" + spanText + "-0g", false, false},
		{"00_" + traceText + "-" + spanText + "-01", false, false},
		{"00-" + traceText + "_" + spanText + "-01", false, false},
		{"00-" + traceText + "-" + spanText + "_01", false, false},
		{"00-" + traceText + "-" + spanText + "-1", false, false},
		{"00-" + traceText + "-" + spanText, false, false},
		{"", false, false},
		{strings.Repeat("-", 55), false, false},
	} {
		c, err := ParseSpanContext(test.text)
		assert.Equal(t, err == nil, test.ok, test.text)
		assert.Equal(t, c.IsValid(), test.ok, test.text)
		if test.ok {
			assert.Equal(t, c.Trace.String()+c.Span.String(), traceText+spanText)
			assert.Equal(t, c.Sampled, test.sampled, test.text)
			assert.Assert(t, c.Remote)
		}
	}
}

func TestParseTracestate(t *testing.T) {
	var many, tooMany []string
	for i := range maxTracestateMembers + 1 {
		tooMany = append(tooMany, fmt.Sprintf("k%d=v", i))
	}
	many = tooMany[:maxTracestateMembers]
	for _, test := range []struct {
		text, want string
		ok         bool
	}{
		{"", "", true},
		{"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
			true},
		{" a=1 ,\tb=2, ,", "a=1,b=2", true},
		{"fw529a3039@dt=FfAb", "fw529a3039@dt=FfAb", true},
		{"9tenant@sys=1", "9tenant@sys=1", true},
		{"a=x y", "a=x y", true},
		{strings.Join(many, ","), strings.Join(many, ","), true},
		{strings.Join(tooMany, ","), "", false},
		{"a=" + strings.Repeat("x", 256), "a=" + strings.Repeat("x", 256), true},
		{"a=" + strings.Repeat("x", 257), "", false},
		{"a=" + strings.Repeat("x", maxTracestate), "", false},
		{"a", "", false},
		{"=1", "", false},
		{"a=", "", false},
		{"a=1,a=2", "", false},
		{"A=1", "", false},
		{"9a=1", "", false},
		{"a@=1", "", false},
		{"@a=1", "", false},
		{"a@" + strings.Repeat("b", 15) + "=1", "", false},
		{"a=1=2", "", false},
		{"a=\x01", "", false},
		{"a=é", "", false},
	} {
		got, ok := parseTracestate(test.text)
		assert.Equal(t, ok, test.ok, test.text)
		assert.Equal(t, got, test.want)
	}
}

func FuzzTraceContext(f *testing.F) {
	f.Add(valid, "a=1, b@c=2")
	f.Add("cc-"+traceText+"-"+spanText+"-01-x", "a=")
	f.Fuzz(func(t *testing.T, parent, state string) {
		if c, err := ParseSpanContext(parent); err == nil {
			again, err := ParseSpanContext(c.Traceparent())
			assert.NilError(t, err)
			assert.Equal(t, again, c)
			assert.Assert(t, c.IsValid() && strings.HasPrefix(parent[2:], "-"+c.Trace.String()))
		}
		if s, ok := parseTracestate(state); ok {
			again, ok := parseTracestate(s)
			assert.Assert(t, ok && len(s) <= maxTracestate)
			assert.Equal(t, again, s)
		}
	})
}

func TestInject(t *testing.T) {
	c, err := ParseSpanContext(valid)
	assert.NilError(t, err)
	c.State = "a=1"
	const own = `"traceparent":"` + valid + `","tracestate":"a=1"`
	for _, test := range []struct{ params, want string }{
		{``, `{"_meta":{` + own + `}}`},
		{`{}`, `{"_meta":{` + own + `}}`},
		{` { } `, `{"_meta":{` + own + `} } `},
		{` { "x" : 1 }`, `{"_meta":{` + own + `}, "x" : 1 }`},
		{`{"name":"x","arguments":{"_meta":1}}`,
			`{"_meta":{` + own + `},"name":"x","arguments":{"_meta":1}}`},
		{`{"name":"x","_meta":{ } , "y":1 }`, `{"name":"x","_meta":{` + own + ` } , "y":1 }`},
		{`{"name":"x","_meta":{}}`, `{"name":"x","_meta":{` + own + `}}`},
		{`{"_meta":{"progressToken":1},"name":"x"}`,
			`{"_meta":{` + own + `,"progressToken":1},"name":"x"}`},
		{`{"_meta":{"traceparent":"old","baggage":"b=1","tracestate":"old"}}`,
			`{"_meta":{` + own + `,"baggage":"b=1"}}`},
		{`{"_m\u0065ta":{"tr\u0061ceparent":"old","x":1},"y":1}`,
			`{"_m\u0065ta":{` + own + `,"x":1},"y":1}`},
		{`{"_meta":null,"name":"x"}`, `{"_meta":null,"name":"x"}`},
		{`{"_meta":7}`, `{"_meta":7}`},
		{`[1,2]`, `[1,2]`},
	} {
		p := readParams(json.RawMessage(test.params), "")
		got := inject(json.RawMessage(test.params), &p, &c)
		assert.Equal(t, string(got), test.want)
		assert.NilError(t, jsonscan.Valid(got))
	}
}

// Members after the name and _meta are not read.
func TestReadParams(t *testing.T) {
	for _, test := range []struct{ params, target, meta string }{
		{`{"arguments":{"name":"y"},"name":"x","_meta":{"a":1}}`, `"x"`, `{"a":1}`},
		{`{"_meta":{"a":1},"name":"x","arguments":{"name":"y"}}`, `"x"`, `{"a":1}`},
		{`{"name":"x","_meta":{},"name":"y","_meta":{"a":1}}`, `"x"`, `{}`},
		{`{"_meta":null,"name":"x"}`, `"x"`, ``},
	} {
		p := readParams(json.RawMessage(test.params), "name")
		assert.Equal(t, string(p.target), test.target)
		assert.Equal(t, string(p.meta), test.meta)
	}
}

func FuzzInject(f *testing.F) {
	f.Add(`{"name":"x","_meta":{"traceparent":"old","progressToken":1}}`)
	f.Add(`{"_meta":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		raw := json.RawMessage(text)
		if jsonscan.Valid(raw) != nil {
			return
		}
		c, err := ParseSpanContext(valid)
		assert.NilError(t, err)
		p := readParams(raw, "name")
		got := inject(raw, &p, &c)
		assert.NilError(t, jsonscan.Valid(got))
		if string(got) != text {
			read := readParams(got, "")
			assert.Equal(t, read.parent(), c)
		}
	})
}

func TestParent(t *testing.T) {
	for _, test := range []struct {
		meta, state string
		ok          bool
	}{
		{`{"traceparent":"` + valid + `"}`, "", true},
		{`{"traceparent":"` + valid + `","tracestate":"a=1"}`, "a=1", true},
		{`{"traceparent":"` + valid + `","tracestate":"a"}`, "", true},
		{`{"traceparent":"` + valid + `","tracestate":"` + strings.Repeat("a", 1<<16) + `"}`, "",
			true},
		{`{"traceparent":"` + valid + `","tracestate":["a=1"]}`, "", true},
		{`{"tracestate":"a=1"}`, "", false},
		{`{"traceparent":7}`, "", false},
		{`{"traceparent":null}`, "", false},
		{`[]`, "", false},
	} {
		p := readParams(json.RawMessage(`{"_meta":`+test.meta+`}`), "")
		c := p.parent()
		assert.Equal(t, c.IsValid(), test.ok, test.meta)
		assert.Equal(t, c.State, test.state)
	}
}

func TestSampler(t *testing.T) {
	sampled := SpanContext{Trace: newTraceID(), Span: newSpanID(), Sampled: true}
	dropped := sampled
	dropped.Sampled = false
	for _, test := range []struct {
		name, argument            string
		root, ofSampled, ofDroped bool
	}{
		{"", "", true, true, false},
		{"parentbased_always_on", "", true, true, false},
		{"parentbased_always_off", "", false, true, false},
		{"parentbased_traceidratio", "1", true, true, false},
		{"parentbased_traceidratio", "0", false, true, false},
		{"parentbased_traceidratio", "", true, true, false},
		{"always_on", "0", true, true, true},
		{"always_off", "1", false, false, false},
		{"traceidratio", "1.0", true, true, true},
		{"traceidratio", "0", false, false, false},
	} {
		s, err := ParseSampler(test.name, test.argument)
		assert.NilError(t, err)
		root := s.child(&SpanContext{})
		assert.Assert(t, root.IsValid())
		assert.Equal(t, root.Sampled, test.root, test.name)
		child := s.child(&sampled)
		assert.Assert(t, child.Trace == sampled.Trace && child.Span != sampled.Span)
		assert.Equal(t, child.Sampled, test.ofSampled, test.name)
		assert.Equal(t, s.child(&dropped).Sampled, test.ofDroped, test.name)
	}
	for _, test := range [][2]string{{"jaeger_remote", ""}, {"traceidratio", "2"},
		{"traceidratio", "-0.1"}, {"traceidratio", "NaN"}, {"traceidratio", "half"}} {
		_, err := ParseSampler(test[0], test[1])
		assert.ErrorContains(t, err, test[0])
	}
}

func TestSamplerRatio(t *testing.T) {
	s, err := ParseSampler("traceidratio", "0.25")
	assert.NilError(t, err)
	n, total := 0, 40_000
	for range total {
		if s.child(&SpanContext{}).Sampled {
			n++
		}
	}
	// ten times the standard deviation
	assert.Assert(t, math.Abs(float64(n)-10_000) < 900, "%d of %d", n, total)
	id := newTraceID()
	assert.Equal(t, s.samples(id), s.samples(id))
}
