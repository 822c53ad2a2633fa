package scan

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/stdwire/stdwire/internal/lazyregexp"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// An App is a page of a server that a host shows beside the results of a tool.
type App struct {
	URI         string
	HTML        string
	Origins     []string // that the page may use, such as https://*.example.com
	Invalid     []string // requested origins that are invalid
	Permissions []string // features of the browser, such as camera
}

// maxApp is how many bytes of a page are read.
const maxApp = 2 << 20

func (a *App) place(server string) Place {
	return Place{Server: server, Kind: mcp.KindApp.Info().Short, Name: a.URI}
}

func (a *App) text() string { return a.HTML[:min(len(a.HTML), maxApp)] }

// foreignSources are elements and calls that load from, or send to, another origin.
var foreignSources = []func() *regexp.Regexp{
	lazyregexp.New(`(?i)<(?:script|img|link|iframe|audio|video|source|embed|object|form|base|track)\b` +
		`[^>]{0,500}?\b(?:src|href|data|action)\s*=\s*["']?((?:https?:|wss?:)?//[^/"'\s>?#]+)`),
	lazyregexp.New("(?i)\\b(?:fetch|import|importScripts|WebSocket|EventSource|sendBeacon|Worker)" +
		"\\(\\s*[\"'`]((?:https?:|wss?:)?//[^/\"'`\\s)?#]+)"),
	lazyregexp.New(`\burl\(\s*["']?((?:https?:)?//[^/"'\s)?#]+)`),
}

// appOrigins finds origins that a page uses and does not declare. A careful host blocks resources
// of such origins; in other hosts the page can send data to them.
func appOrigins(server string, a *App) (found []Finding) {
	seen := map[string]bool{}
	for _, pattern := range foreignSources {
		for _, m := range pattern().FindAllStringSubmatch(a.text(), 1000) {
			origin := m[1]
			if strings.HasPrefix(origin, "//") {
				origin = "https:" + origin
			}
			if seen[origin] || a.declares(origin) || len(found) == maxPerRule {
				continue
			}
			seen[origin] = true
			found = append(found, Finding{Severity: Medium, Place: a.place(server),
				What:     "the page uses an origin that it does not declare",
				Evidence: origin})
		}
	}
	return found
}

// declares reports whether an origin is declared, perhaps by a wildcard.
func (a *App) declares(origin string) bool {
	scheme, host, _ := strings.Cut(strings.ToLower(origin), "://")
	for _, declared := range a.Origins {
		declaredScheme, declaredHost, _ := strings.Cut(strings.ToLower(declared), "://")
		wildcard, isWildcard := strings.CutPrefix(declaredHost, "*")
		if scheme == declaredScheme &&
			(host == declaredHost || isWildcard && strings.HasSuffix(host, wildcard)) {
			return true
		}
	}
	return false
}

// blockedScripts are scripts that the policy of apps does not allow.
var blockedScripts = []struct {
	what string
	form func() *regexp.Regexp
}{
	{"code made of text, with eval", lazyregexp.New(`\beval\s*\(`)},
	{"code made of text, with new Function", lazyregexp.New(`\bnew\s+Function\s*\(`)},
	{"a javascript: address", lazyregexp.New(`(?i)\b(?:href|src|action)\s*=\s*["']?\s*javascript:`)},
	{"a script in a data: address", lazyregexp.New(`(?i)<script\b[^>]{0,500}?\bsrc\s*=\s*["']?data:`)},
	{"another policy of its own",
		lazyregexp.New(`(?i)<meta\b[^>]{0,500}?http-equiv\s*=\s*["']?content-security-policy`)},
}

// appScripts finds scripts beyond what a host allows an app.
func appScripts(server string, a *App) (found []Finding) {
	for _, b := range blockedScripts {
		if at := b.form().FindString(a.text()); at != "" {
			found = append(found, Finding{Severity: Low, Place: a.place(server),
				What: "the page has " + b.what, Evidence: at})
		}
	}
	return found
}

// appAccess finds requests of a page to the host: features of the browser, origins without
// encryption or with wildcards, and invalid origins.
func appAccess(server string, a *App) (found []Finding) {
	add := func(s Severity, what, evidence string) {
		if len(found) < maxPerRule {
			found = append(found, Finding{Severity: s, Place: a.place(server), What: what,
				Evidence: evidence})
		}
	}
	if n := len(a.Permissions); n > 0 {
		severity, what := Low, fmt.Sprintf("the page asks for %d features of the browser", n)
		switch {
		case n == 1:
			what = "the page asks for a feature of the browser"
		case n >= 3:
			severity = High
		default:
			severity = Medium
		}
		add(severity, what, strings.Join(a.Permissions, ", "))
	}
	for _, origin := range a.Invalid {
		add(High, "the page requests an invalid origin", origin)
	}
	for _, origin := range a.Origins {
		scheme, host, _ := strings.Cut(strings.ToLower(origin), "://")
		name, _, _ := strings.Cut(host, ":")
		local := name == "localhost" || name == "127.0.0.1"
		switch {
		case (scheme == "http" || scheme == "ws") && !local:
			add(Medium, "the page uses an origin without encryption", origin)
		case strings.HasPrefix(host, "*.") && strings.Count(host, ".") < 2:
			add(High, "the page may use all hosts of a top-level domain", origin)
		}
	}
	if len(a.HTML) > maxApp {
		add(Medium, "the page is too large to be scanned to its end", fmt.Sprint(len(a.HTML), " bytes"))
	}
	return found
}
