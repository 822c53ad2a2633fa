package redis

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestParseURL(t *testing.T) {
	for _, tc := range []struct {
		url     string
		want    Options
		withTLS bool
		shown   string
	}{
		{"redis://localhost", Options{Network: "tcp", Address: "localhost:6379"}, false,
			"redis://localhost:6379"},
		{"redis://:se%40cret@h:7/3",
			Options{Network: "tcp", Address: "h:7", Password: "se@cret", Database: 3}, false,
			"redis://h:7/3"},
		{"rediss://u:p@[::1]/",
			Options{Network: "tcp", Address: "[::1]:6379", Username: "u", Password: "p"}, true,
			"rediss://[::1]:6379"},
		{"unix://u:p@/run/redis.sock?db=2", Options{Network: "unix", Address: "/run/redis.sock",
			Username: "u", Password: "p", Database: 2}, false, "unix:///run/redis.sock?db=2"},
		{"redis://a/1?master_name=m&addr=b:1&addr=c&sentinel_username=s&sentinel_password=t",
			Options{Network: "tcp", Sentinels: []string{"a:26379", "b:1", "c:26379"}, MasterName: "m",
				Database: 1, SentinelUsername: "s", SentinelPassword: "t"}, false,
			"redis://a:26379/1?addr=b%3A1&addr=c%3A26379&master_name=m"},
	} {
		o, err := ParseURL(tc.url)
		assert.NilError(t, err, tc.url)
		assert.Equal(t, o.TLS != nil, tc.withTLS, tc.url)
		assert.Equal(t, o.URL(), tc.shown)
		o.TLS = nil
		assert.DeepEqual(t, o, tc.want)
	}
}

func TestParseURLErrors(t *testing.T) {
	for _, tc := range []struct{ url, want string }{
		{"redis://u:pass%zzsecret@h", "cannot be parsed"},
		{"redis://u:secret/x@h", "cannot be parsed"},
		{"redis://u:secret@h:port", "cannot be parsed"},
		{"redis://u:secret@", "no host"},
		{"redis://u:secret@h/secret", "not a number"},
		{"redis://u:secret@h/-1", "not a number"},
		{"redis://u:secret@h/99999999999", "not a number"},
		{"http://u:secret@h", "begins with none of"},
		{"secret", "begins with none of"},
		{"unix://u:secret@h/p", "no absolute path"},
		{"redis://u:secret@h?master=secret", "did you mean master_name?"},
		{"redis://u:secret@h?a=%zzsecret", "cannot be parsed"},
		{"redis://u:secret@h?addr=secret", "need a host and master_name"},
		{"unix:///p?master_name=secret", "need a host and master_name"},
	} {
		_, err := ParseURL(tc.url)
		assert.ErrorContains(t, err, tc.want, tc.url)
		assert.Assert(t, !strings.Contains(err.Error(), "secret"), err)
	}
	_, err := New(Options{})
	assert.Error(t, err, "redis: the server has no address")
	_, err = New(Options{Sentinels: []string{"a:1"}})
	assert.Error(t, err, "redis: Sentinels need the name of the master")
}
