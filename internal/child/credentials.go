package child

import (
	"regexp"
	"slices"
	"strings"
)

// secretWords are the words in the names of settings of npm and uv whose values are credentials.
// What npm keeps for one registry ("//host/:…") and what begins with an underscore (_auth,
// _authToken, _password) are such as well.
var secretWords = []string{"token", "authtoken", "password", "username", "secret", "otp", "key"}

// proxies are the variables that have the URL of a proxy, in lower case.
var proxies = []string{"http_proxy", "https_proxy", "ftp_proxy", "all_proxy"}

var (
	wordEnds = regexp.MustCompile(`[^a-z0-9]+`)
	userInfo = regexp.MustCompile(`(://)[^/?#\s]*@`)
)

// WithoutCredentials returns variables, as NAME=value, without the credentials of npm and uv for
// registries, and without user and password in the URLs of proxies and registries. Those are for
// the program that they were set for, not for all that it starts.
func WithoutCredentials(env []string) []string {
	var kept []string
	for _, kv := range env {
		if kv, ok := withoutCredentials(kv); ok {
			kept = append(kept, kv)
		}
	}
	return kept
}

// withoutCredentials is WithoutCredentials of one variable; ok is false if nothing of it is kept.
func withoutCredentials(kv string) (_ string, ok bool) {
	name, value, _ := strings.Cut(kv, "=")
	lower := strings.ToLower(name)
	setting, npm := strings.CutPrefix(lower, "npm_config_")
	uv := strings.HasPrefix(lower, "uv_")
	switch {
	case npm && (strings.HasPrefix(setting, "_") || strings.HasPrefix(setting, "//")):
		return "", false
	case (npm || uv) && slices.ContainsFunc(wordEnds.Split(lower, -1), func(word string) bool { return slices.Contains(secretWords, word) }):
		return "", false
	case slices.Contains(proxies, lower), npm && strings.HasSuffix(setting, "proxy"): // with or without a scheme, and a password may have anything in it
		if at := strings.LastIndexByte(value, '@'); at >= 0 {
			scheme, _, there := strings.Cut(value, "://")
			if there {
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
