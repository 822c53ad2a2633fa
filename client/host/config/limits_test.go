package config

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

func TestLimits(t *testing.T) {
	all := `{"mcpServers": {}, "limits": {"maxConnections": 1, "maxRequests": 2, "maxStreams": 3,
		"maxSessions": 4, "maxBody": 1024, "maxCalls": 6, "maxMemory": 2147483647,
		"maxSubscriptions": 8, "maxWatched": 9, "sessionIdle": "1h30m", "heartbeat": "11s"}}`
	f := Parse(&Environment{}, Source{Path: "/f"}, []byte(all))
	assert.Equal(t, len(f.Diagnostics), 0, f.Diagnostics)
	assert.Equal(t, f.Limits, Limits{MaxConnections: 1, MaxRequests: 2, MaxStreams: 3,
		MaxSessions: 4, MaxBody: 1024, MaxCalls: 6, MaxMemory: 1<<31 - 1, MaxSubscriptions: 8,
		MaxWatched: 9, SessionIdle: 90 * time.Minute, Heartbeat: 11 * time.Second})
	for _, l := range limits() {
		assert.Assert(t, strings.Contains(all, `"`+l.name+`"`), l.name)
	}
}

func TestWrongLimits(t *testing.T) {
	for text, want := range map[string]string{
		`3`:                                  "limits must be an object, not a number",
		`{"maxSession": 1}`:                  `there is no limit "maxSession"; did you mean maxSessions?`,
		`{"maxSessions": 0}`:                 "limits.maxSessions must be a whole number from 1 to 1000000",
		`{"maxSessions": "1"}`:               "limits.maxSessions must be a whole number from 1 to 1000000",
		`{"maxBody": 1023}`:                  "limits.maxBody must be a whole number from 1024 to 1073741824",
		`{"maxMemory": 1.5}`:                 "limits.maxMemory must be a whole number from 16777216 to 2147483647",
		`{"sessionIdle": 60}`:                `limits.sessionIdle must be a duration from "1m" to "720h"`,
		`{"sessionIdle": "59s"}`:             `limits.sessionIdle must be a duration from "1m" to "720h"`,
		`{"heartbeat": "61m"}`:               `limits.heartbeat must be a duration from "1s" to "1h"`,
		`{"maxWatched": 1, "maxWatched": 2}`: `"maxWatched" is already defined at`,
	} {
		f := Parse(&Environment{}, Source{Path: "/f"},
			[]byte(`{"mcpServers": {}, "limits": `+text+`}`))
		assert.ErrorContains(t, f.Err(), want)
	}
}

// The limits of a project's file have no effect, and of two files those of the first count.
func TestLimitsOfSeveralFiles(t *testing.T) {
	c := &Config{}
	l := &loader{Config: c}
	for _, f := range []struct {
		source Source
		text   string
	}{
		{Source{Path: "/p/mcp.json", Project: true}, `{"mcpServers": {}, "limits": {"maxCalls": 1}}`},
		{Source{Path: "/none"}, `{"mcpServers": {}}`},
		{Source{Path: "/one"}, `{"mcpServers": {}, "limits": {"maxCalls": 2}}`},
		{Source{Path: "/two"}, `{"mcpServers": {}, "limits": {"maxCalls": 3, "maxBody": 4096}}`},
	} {
		l.addFile(Parse(&Environment{}, f.source, []byte(f.text)))
	}
	assert.Equal(t, c.Limits, Limits{MaxCalls: 2})
	assert.Equal(t, c.LimitsAt.File, "/one")
	assert.Equal(t, len(c.Diagnostics), 2, c.Diagnostics)
	assert.ErrorContains(t, c.Diagnostics[0], "those of a project's file have no effect")
	assert.ErrorContains(t, c.Diagnostics[1], "there are others at /one:1:")
}
