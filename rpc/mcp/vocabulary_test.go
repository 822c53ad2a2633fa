package mcp

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
)

func TestRevisions(t *testing.T) {
	all := Supported()
	assert.DeepEqual(t, all,
		[]Revision{Rev20260728, Rev20251125, Rev20250618, Rev20250326, Rev20241105})
	assert.Assert(t, slices.IsSortedFunc(all, func(a, b Revision) int {
		return strings.Compare(string(b), string(a))
	}))
	assert.DeepEqual(t, Supported(Legacy), all[1:])
	assert.DeepEqual(t, Supported(Modern), all[:1])
	assert.DeepEqual(t, Supported(Legacy, Modern), all)
	all[0] = "changed"
	assert.Equal(t, Supported()[0], Latest)

	for _, r := range Supported() {
		f, ok := FeaturesOf(r)
		assert.Assert(t, ok && f.Revision == r && f.Era == EraOf(r))
		assert.Equal(t, f.Batch, r == Rev20250326)
		assert.Equal(t, f.Sessions, f.Era == Legacy)
		// The tables of features and of methods agree.
		has := func(method string) bool { _, ok := MethodAt(method, r); return ok }
		assert.Equal(t, f.Sessions, has(MethodInitialize))
		assert.Equal(t, f.Discover, has(MethodDiscover))
		assert.Equal(t, f.Listen, has(MethodListen))
		assert.Equal(t, f.Elicitation, has(MethodElicit))
		assert.Equal(t, f.ElicitationComplete, has(NotificationElicitationComplete))
		assert.Equal(t, f.ExperimentalTasks, has(MethodListTasks))
		for m := range Methods(r) {
			assert.Assert(t, f.CacheHints || !m.Cacheable)
			assert.Assert(t, f.Extensions || m.Extension == "")
		}
	}
	for _, r := range []Revision{"", "1900-01-01", "2099-01-01", "2025-11-25 "} {
		_, ok := FeaturesOf(r)
		assert.Assert(t, !ok && EraOf(r) == 0)
	}
	assert.Equal(t, EraOf(LatestLegacy).String()+" "+EraOf(LatestModern).String()+" "+
		Era(0).String(), "legacy modern unknown era")
}

func TestMethodAt(t *testing.T) {
	for _, tc := range []struct {
		name   string
		at     Revision
		sender Sender // zero: not there
	}{
		{MethodPing, LatestLegacy, ByClient | ByServer},
		{MethodPing, Latest, 0},
		{MethodElicit, Rev20250326, 0},
		{MethodElicit, Rev20250618, ByServer},
		{MethodElicit, Latest, AsInput},
		{MethodGetTask, Rev20250618, 0},
		{MethodGetTask, Rev20251125, ByClient | ByServer},
		{MethodGetTask, Latest, ByClient},
		{MethodCallTool, Rev20241105, ByClient},
		{MethodCallTool, "", 0},
		{MethodCallTool, "2099-01-01", 0},
		{"tools/Call", Latest, 0},
		{"", Latest, 0},
	} {
		m, ok := MethodAt(tc.name, tc.at)
		assert.Equal(t, m.Sender, tc.sender, "%s in %s", tc.name, tc.at)
		assert.Equal(t, ok, tc.sender != 0)
	}
	var cacheable []string
	for m := range Methods(Latest) {
		if m.Cacheable {
			cacheable = append(cacheable, m.Name)
		}
	}
	slices.Sort(cacheable)
	assert.DeepEqual(t, cacheable,
		[]string{"prompts/list", "resources/list", "resources/read", "resources/templates/list",
			"server/discover", "skills/get", "skills/list", "tools/list"})
	for range Methods(Latest) {
		break // stopping early is allowed
	}
	for _, r := range Supported() {
		seen := map[string]bool{}
		for m := range Methods(r) {
			assert.Assert(t, !seen[m.Name], "%s has %s twice", r, m.Name)
			seen[m.Name] = true
			assert.Assert(t, paramsOf[m.Name] != nil, m.Name)
			assert.Assert(t, m.Idempotent || !m.Cacheable, m.Name)
		}
	}
}

func TestErrorCodes(t *testing.T) {
	for code, modern := range map[int64]bool{
		CodeHeaderMismatch: true, CodeMissingRequiredClientCapability: true,
		CodeUnsupportedProtocolVersion: true,
		CodeResourceNotFound:           false, CodeURLElicitationRequired: false, -32601: false,
		-32023: false, 0: false,
	} {
		assert.Equal(t, IsModernError(code), modern, "%d", code)
	}
}

func TestTokens(t *testing.T) {
	for _, text := range []string{`"abc"`, `""`, `"\u0061"`, `0`, `-1`, `1.5`, `9007199254740993`,
		`1e3`} {
		var token ProgressToken
		assert.NilError(t, token.UnmarshalJSON([]byte(" "+text+"\n")))
		assert.Equal(t, token.String(), text)
		assert.Assert(t, !token.IsZero())

		v := map[string]any{"_meta": Meta{MetaProgressToken: json.RawMessage(text)},
			"progressToken": token, "progress": 1}
		b, err := json.Marshal(v)
		assert.NilError(t, err)
		var p ProgressParams
		assert.NilError(t, Unmarshal(b, &p))
		assert.Equal(t, p.ProgressToken, token)
		fromMeta, err := metaValue[ProgressToken](p.Meta, MetaProgressToken)
		assert.NilError(t, err)
		assert.Equal(t, fromMeta, token)
		var c cancelledParams
		assert.NilError(t, Unmarshal([]byte(`{"requestId":`+text+`}`), &c))
		assert.Equal(t, c.RequestID.String(), text)
	}
	for _, text := range []string{``, ` `, `true`, `{}`, `[1]`, `"a`, `1 2`, `01`, `-`, `"a" x`} {
		var token ProgressToken
		assert.Error(t, token.UnmarshalJSON([]byte(text)), "want a string or a number")
	}
	assert.Assert(t, ProgressToken{}.IsZero())
	_, err := json.Marshal(ProgressToken{})
	assert.ErrorContains(t, err, "a required value is missing")
}

func metaValue[T any](m Meta, key string) (v T, err error) {
	_, err = m.Get(key, &v)
	return v, err
}

func TestMeta(t *testing.T) {
	var p Params
	assert.NilError(t, Unmarshal([]byte(`{"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28",
		"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1","x":1},
		"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},
		"io.modelcontextprotocol/logLevel":"notice",
		"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"},
		"io.modelcontextprotocol/subscriptionId":"listen-1",
		"io.modelcontextprotocol/related-task":{"taskId":"t"},
		"progressToken":7,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"}}`), &p))
	m := p.Meta
	revision, err := metaValue[Revision](m, MetaProtocolVersion)
	assert.NilError(t, err)
	assert.Equal(t, revision, Latest)
	info, err := metaValue[*Implementation](m, MetaClientInfo)
	assert.NilError(t, err)
	assert.DeepEqual(t, info,
		&Implementation{Name: "c", Version: "1", Extra: Extra{"x": json.RawMessage("1")}})
	server, err := metaValue[*Implementation](m, MetaServerInfo)
	assert.NilError(t, err)
	assert.Equal(t, server.Name, "s")
	capabilities, err := metaValue[*ClientCapabilities](m, MetaClientCapabilities)
	assert.NilError(t, err)
	assert.Assert(t, capabilities.Elicitation.SupportsForm())
	level, err := metaValue[LoggingLevel](m, MetaLogLevel)
	assert.NilError(t, err)
	assert.Equal(t, level, LevelNotice)
	token, err := metaValue[ProgressToken](m, MetaProgressToken)
	assert.NilError(t, err)
	assert.Equal(t, token, ProgressToken{"7"})
	id, err := metaValue[rpc.ID](m, MetaSubscriptionID)
	assert.NilError(t, err)
	assert.Equal(t, id.String(), `"listen-1"`)
	task, err := metaValue[TaskParams](m, MetaRelatedTask)
	assert.NilError(t, err)
	assert.Equal(t, task.TaskID, "t")
	var trace string
	ok, err := m.Get(MetaTraceparent, &trace)
	assert.Assert(t, ok && err == nil && strings.HasPrefix(trace, "00-0af7"))

	m = nil // nothing is there
	revision, err = metaValue[Revision](m, MetaProtocolVersion)
	assert.Assert(t, revision == "" && err == nil)
	capabilities, err = metaValue[*ClientCapabilities](m, MetaClientCapabilities)
	assert.Assert(t, capabilities == nil && err == nil)

	assert.NilError(t, m.Set(MetaProtocolVersion, Latest))
	assert.NilError(t, m.Set(MetaClientCapabilities, ClientCapabilities{}))
	assert.DeepEqual(t, m,
		Meta{MetaProtocolVersion: json.RawMessage(`"2026-07-28"`),
			MetaClientCapabilities: json.RawMessage(`{}`)})
	assert.ErrorContains(t, m.Set("k", PromptMessage{Content: (*TextContent)(nil)}),
		`_meta["k"]`)
	_, has := m["k"]
	assert.Assert(t, !has)

	m = Meta{MetaProtocolVersion: json.RawMessage(`1`),
		MetaClientInfo: json.RawMessage(`{"name":"a","name":"b"}`)}
	_, err = metaValue[Revision](m, MetaProtocolVersion)
	assert.Error(t, err,
		`_meta["io.modelcontextprotocol/protocolVersion"]: want a string, not a number (at byte 0)`)
	_, err = metaValue[*Implementation](m, MetaClientInfo)
	assert.Assert(t, errors.Is(err, ErrDuplicateKey))
}
