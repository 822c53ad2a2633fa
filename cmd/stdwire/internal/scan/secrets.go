package scan

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/internal/lazyregexp"
)

// A Config is a server's configuration before references such as ${TOKEN} are expanded. Its values
// are never part of a finding.
type Config struct {
	Args   []string            // of the command, without the command itself
	Env    map[string]string   // additions to the environment
	Header map[string][]string // headers of each request
	URL    string
	// Overrides are what a gateway offers in place of the server's definitions.
	Overrides map[string]host.Override
}

// knownTokens are the formats of services' secrets.
var knownTokens = []struct {
	kind string
	form func() *regexp.Regexp
}{
	{"a private key", lazyregexp.New(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)},
	{"a GitHub token", lazyregexp.New(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})`)},
	{"a GitLab token", lazyregexp.New(`\bglpat-[\w-]{16,}`)},
	{"an Anthropic key", lazyregexp.New(`\bsk-ant-[\w-]{16,}`)},
	{"an API key of the form sk-…", lazyregexp.New(`\bsk-[\w-]{20,}`)},
	{"a Stripe key", lazyregexp.New(`\b[rs]k_(?:live|test)_\w{16,}`)},
	{"an AWS access key", lazyregexp.New(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)},
	{"a Slack token", lazyregexp.New(`\bxox[abeoprs]-[\w-]{10,}`)},
	{"a Slack webhook", lazyregexp.New(`hooks\.slack\.com/services/\w+/\w+/\w+`)},
	{"a Google API key", lazyregexp.New(`\bAIza[\w-]{35}`)},
	{"a Google OAuth token", lazyregexp.New(`\bya29\.[\w-]{20,}`)},
	{"an npm token", lazyregexp.New(`\bnpm_[A-Za-z0-9]{30,}`)},
	{"a PyPI token", lazyregexp.New(`\bpypi-[\w-]{30,}`)},
	{"a Hugging Face token", lazyregexp.New(`\bhf_[A-Za-z0-9]{20,}`)},
	{"a SendGrid key", lazyregexp.New(`\bSG\.[\w-]{16,}\.[\w-]{16,}`)},
	{"a Notion token", lazyregexp.New(`\b(?:ntn_|secret_)[A-Za-z0-9]{30,}`)},
	{"a Linear key", lazyregexp.New(`\blin_api_\w{20,}`)},
	{"a Telegram bot token", lazyregexp.New(`\b\d{8,10}:AA[\w-]{30,}`)},
	{"a JSON Web Token", lazyregexp.New(`\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*`)},
}

// configSecrets finds secrets in a configuration.
func configSecrets(s *Server) (found []Finding) {
	report := func(severity Severity, where, kind string, length int, what string) {
		if len(found) < maxPerServer {
			found = append(found, Finding{
				Severity: severity, Place: Place{Server: s.ID, Kind: kindConfig, Where: where},
				What: what, Evidence: fmt.Sprintf("%s, %d characters", kind, length),
			})
		}
	}
	const stored = "the configuration contains a secret, for everybody who can read the file"
	for _, name := range slices.Sorted(maps.Keys(s.Config.Env)) {
		if kind, n := secretIn(name, s.Config.Env[name]); kind != "" {
			report(Medium, join("env", name), kind, n, stored)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Config.Header)) {
		for _, value := range s.Config.Header[name] {
			if kind, n := secretIn(name, value); kind != "" {
				report(Medium, join("headers", name), kind, n, stored)
			}
		}
	}
	for i, arg := range s.Config.Args {
		name, value := "", arg
		switch before, after, isAssignment := strings.Cut(arg, "="); {
		case isAssignment:
			name, value = before, after
		case i > 0 && strings.HasPrefix(s.Config.Args[i-1], "-") &&
			!strings.Contains(s.Config.Args[i-1], "="):
			name = s.Config.Args[i-1]
		}
		kind, n := secretIn(name, value)
		if header, after, ok := strings.Cut(arg, ":"); ok && kind == "" {
			kind, n = secretIn(header, after)
		}
		if kind == "" {
			kind, n = secretIn("", arg)
		}
		if kind != "" {
			report(High, "args["+strconv.Itoa(i)+"]", kind, n,
				"a secret is an argument of the command: every process of the machine can see it")
		}
	}
	if kind, n := secretInURL(s.Config.URL); kind != "" {
		report(Medium, "url", kind, n, "the URL contains a secret, and URLs end up in logs")
	}
	return found
}

// secretIn returns the kind and length of the secret in a value, or "" if it has none or only
// refers to one.
func secretIn(name, value string) (kind string, length int) {
	value = strings.TrimSpace(value)
	for _, scheme := range []string{"Bearer ", "Basic ", "token "} {
		if len(value) > len(scheme) && strings.EqualFold(value[:len(scheme)], scheme) {
			name, value = name+" token", strings.TrimSpace(value[len(scheme):])
		}
	}
	if value == "" || reference().MatchString(value) || len(value) > maxText {
		return "", 0
	}
	for _, known := range knownTokens {
		if found := known.form().FindString(value); found != "" {
			return known.kind, len(found)
		}
	}
	if kind, n := secretInURL(urlForm().FindString(value)); kind != "" {
		return kind, n
	}
	isSecretName := secretName().MatchString(name) && !publicName().MatchString(name)
	if isSecretName && !strings.ContainsAny(value, " \t\n") && !placeholder().MatchString(value) &&
		!path().MatchString(value) && looksRandom(value) {
		return "a value that looks random under a name for secrets", len(value)
	}
	return "", 0
}

// secretInURL is secretIn for the user, the path and the parameters of a URL.
func secretInURL(s string) (kind string, length int) {
	u, err := url.Parse(s)
	if err != nil || s == "" {
		return "", 0
	}
	if password, ok := u.User.Password(); ok && password != "" &&
		!reference().MatchString(password) && !placeholder().MatchString(password) {
		return "a password in a URL", len(password)
	}
	query, _ := url.ParseQuery(u.RawQuery) // the well-formed parameters
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			if kind, n := secretIn(name, strings.ReplaceAll(value, "://", " ")); kind != "" {
				// do not recurse into a URL
				return kind, n
			}
		}
	}
	for _, known := range knownTokens {
		if found := known.form().FindString(u.Path); found != "" {
			return known.kind, len(found)
		}
	}
	return "", 0
}

var (
	urlForm   = lazyregexp.New(`[a-z][a-z0-9+.-]*://\S+`)
	reference = lazyregexp.New(
		`^\s*(?:\$\{[^}]*\}|\$\(\w+\)|\$\w+|%\w+%|\{\{[^}]*\}\}|\{(?:env|file):[^}]*\}|@[\w./~-]+` +
			`|op://\S+|<[^>]*>)\s*$|\$\{(?:env|input|secret|file)?:?[\w.-]+(?::-?)?\}`)
	secretName = lazyregexp.New(
		`(?i)(?:token|secret|passw(?:or)?d|passphrase|pwd|credential|auth(?:orization|entication|[_-]|$)|private[_-]?key|` +
			`(?:api|access|secret|encryption|signing|account|master|license|service)[_-]?key|\bkey\b|_key\b|-key\b|apikey|cookie|session[_-]?id|\bpat\b|_pat\b)`)
	publicName = lazyregexp.New(
		`(?i)(?:public|_file\b|_path\b|-file\b|-path\b|_url\b|_uri\b|endpoint|max[_-]?tokens|token[_-]?(?:limit|count|budget|url)|author\b|_id\b|keyboard)`)
	path        = lazyregexp.New(`^(?:[~.]{0,2}/|[A-Za-z]:[/\\])`)
	placeholder = lazyregexp.New(
		`(?i)^(?:x{4,}|\*{3,}|\.{3,}|.*(?:your|example|change[_-]?me|placeholder|dummy|insert|replace|redacted|todo).*)$`)
)

// looksRandom reports whether a value is long, has letters and digits, and has a high entropy.
func looksRandom(s string) bool {
	const shortest, bits = 12, 3.0
	return len(s) >= shortest && strings.ContainsAny(s, "0123456789") &&
		strings.ContainsFunc(s, unicode.IsLetter) && entropy(s) >= bits
}

// entropy estimates the bits per byte of a text from the frequencies of its bytes.
func entropy(s string) (bits float64) {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
