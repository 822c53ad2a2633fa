package child

import (
	"regexp"
	"slices"
	"strings"
)

// secretWords are words in the names of settings of npm and uv that hold credentials. npm's
// settings for one registry ("//host/:…") and those that begin with an underscore (_auth,
// _authToken, _password) hold credentials too.
var secretWords = []string{"token", "authtoken", "password", "username", "secret", "otp", "key"}

// proxies are the variables that hold the URL of a proxy, in lower case.
var proxies = []string{"http_proxy", "https_proxy", "ftp_proxy", "all_proxy"}

var (
	wordEnds = regexp.MustCompile(`[^a-z0-9]+`)
	userInfo = regexp.MustCompile(`(://)[^/?#\s]*@`)
)

// WithoutCredentials returns variables, as NAME=value, without npm's and uv's credentials for
// registries, and without user and password in the URLs of proxies and registries. These are meant
// for the program they were set for, not for every program that it starts.
func WithoutCredentials(env []string) []string {
	var kept []string
	for _, kv := range env {
		if kv, ok := withoutCredentials(kv); ok {
			kept = append(kept, kv)
		}
	}
	return kept
}

// withoutCredentials does this for one variable. ok is false if the whole variable is dropped.
func withoutCredentials(kv string) (_ string, ok bool) {
	name, value, _ := strings.Cut(kv, "=")
	lower := strings.ToLower(name)
	setting, npm := strings.CutPrefix(lower, "npm_config_")
	uv := strings.HasPrefix(lower, "uv_")
	switch {
	case npm && (strings.HasPrefix(setting, "_") || strings.HasPrefix(setting, "//")):
		return "", false
	case (npm || uv) && slices.ContainsFunc(wordEnds.Split(lower, -1), isSecretWord):
		return "", false
	case slices.Contains(proxies, lower), npm && strings.HasSuffix(setting, "proxy"):
		// The scheme is optional, and a password may contain any character.
		if at := strings.LastIndexByte(value, '@'); at >= 0 {
			scheme, _, ok := strings.Cut(value, "://")
			if ok {
				scheme += "://"
			} else {
				scheme = ""
			}
			return name + "=" + scheme + value[at+1:], true
		}
	case npm || uv:
		return name + "=" + userInfo.ReplaceAllString(value, "$1"), true
	}
	return kv, true
}

func isSecretWord(word string) bool { return slices.Contains(secretWords, word) }
