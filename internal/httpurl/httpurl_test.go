package httpurl

import (
	"net/url"
	"testing"

	"gotest.tools/v3/assert"
)

func TestSameOrigin(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"https://a.example/x?y", "https://a.example/z#f", true},
		{"https://A.example", "https://a.EXAMPLE", true},
		{"https://a.example", "https://a.example:443", true},
		{"http://a.example:80", "http://a.example", true},
		{"http://a.example:", "http://a.example", true},
		{"http://[::1]", "http://[::1]:80", true},
		{"https://user@a.example", "https://a.example", true},
		{"http://a.example", "https://a.example", false},
		{"http://a.example:443", "https://a.example:443", false},
		{"https://a.example", "https://a.example:80", false},
		{"https://a.example", "https://b.example", false},
		{"https://a.example", "https://a.example.", false},
		{"https://a.example", "//a.example", false},
	} {
		a, err := url.Parse(tt.a)
		assert.NilError(t, err)
		b, err := url.Parse(tt.b)
		assert.NilError(t, err)
		assert.Equal(t, SameOrigin(a, b), tt.same, "%s %s", tt.a, tt.b)
		assert.Equal(t, SameOrigin(b, a), tt.same, "%s %s", tt.a, tt.b)
	}
	// An application may build a URL that url.Parse would not return.
	upper, plain := &url.URL{Scheme: "HTTPS", Host: "a"}, &url.URL{Scheme: "https", Host: "a:443"}
	assert.Assert(t, SameOrigin(upper, plain) && SameOrigin(plain, upper))
}

func TestIsSecure(t *testing.T) {
	for text, secure := range map[string]bool{
		"https://a.example": true, "https://127.0.0.1": true, "http://127.0.0.1:80": true,
		"http://[::1]": true, "http://localhost": true,
		"http://a.example": false, "http://localhost.example": false, "ftp://127.0.0.1": false,
		"": false, "//localhost": false,
	} {
		u, err := url.Parse(text)
		assert.NilError(t, err)
		assert.Equal(t, IsSecure(u), secure, text)
	}
}

func TestPublicText(t *testing.T) {
	for text, want := range map[string]string{
		"https://user:pass@a.example:8/p%2Fq/r?key=secret#secret": "https://a.example:8/p%2Fq/r",
		"https://a.example?": "https://a.example", "https://a.example/#": "https://a.example/",
		"mailto:secret@a.example": "mailto:", "/path?secret": "/path",
		"": "", "https://a b/?secret": "", "://secret": "",
	} {
		assert.Equal(t, PublicText(text), want, text)
	}
}
