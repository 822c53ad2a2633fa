package apps

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// originPattern matches the origins that a page may ask for. Anything else, such as a keyword, a
// scheme alone or "*", would allow more than an origin, or end the directive.
var originPattern = regexp.MustCompile(`^(?i)(https?|wss?)://(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*` +
	`(:[0-9]{1,5})?/?$`)

// origins splits a list into valid origins and invalid ones.
func origins(all []string) (valid, invalid []string) {
	for _, origin := range all {
		if originPattern.MatchString(origin) {
			valid = append(valid, strings.TrimSuffix(origin, "/"))
		} else {
			invalid = append(invalid, origin)
		}
	}
	return valid, invalid
}

// csp returns Meta.CSP, or the most restrictive one.
func (a *App) csp() mcp.AppCSP {
	if a.Meta.CSP == nil {
		return mcp.AppCSP{}
	}
	return *a.Meta.CSP
}

// cspLists returns the lists of origins in the order of the directives.
func cspLists(csp *mcp.AppCSP) []*[]string {
	return []*[]string{&csp.ConnectDomains, &csp.ResourceDomains, &csp.FrameDomains,
		&csp.BaseURIDomains}
}

// Origins returns the origins that the app asks for, without duplicates, in the order of the
// directives. The host should show them to its user. invalid are the entries of Meta.CSP that are
// not origins, which are not granted.
func (a *App) Origins() (valid, invalid []string) {
	csp := a.csp()
	for _, list := range cspLists(&csp) {
		some, others := origins(*list)
		for _, origin := range some {
			if !slices.Contains(valid, origin) {
				valid = append(valid, origin)
			}
		}
		invalid = append(invalid, others...)
	}
	return valid, invalid
}

// ContentSecurityPolicy returns the value of the header Content-Security-Policy for the page. The
// page may load from and connect to only the origins that it declares (MCP Apps, "Content Security
// Policy Enforcement").
func (a *App) ContentSecurityPolicy() string {
	csp := a.csp()
	directive := func(name, always, otherwise string, list []string) string {
		valid, _ := origins(list)
		value := cmp.Or(strings.TrimSpace(always+" "+strings.Join(valid, " ")), otherwise)
		return name + " " + value
	}
	return strings.Join([]string{
		"default-src 'none'",
		directive("script-src", "'self' 'unsafe-inline'", "", csp.ResourceDomains),
		directive("style-src", "'self' 'unsafe-inline'", "", csp.ResourceDomains),
		directive("img-src", "'self' data:", "", csp.ResourceDomains),
		directive("font-src", "'self'", "", csp.ResourceDomains),
		directive("media-src", "'self' data:", "", csp.ResourceDomains),
		directive("connect-src", "", "'none'", csp.ConnectDomains),
		directive("frame-src", "", "'none'", csp.FrameDomains),
		"object-src 'none'",
		directive("base-uri", "", "'self'", csp.BaseURIDomains),
	}, "; ")
}

// permission describes a feature of the browser.
type permission struct {
	name string // the name of the feature in the attribute allow
	of   func(*mcp.AppPermissions) **mcp.Object
}

var permissions = []permission{
	{"camera", func(p *mcp.AppPermissions) **mcp.Object { return &p.Camera }},
	{"microphone", func(p *mcp.AppPermissions) **mcp.Object { return &p.Microphone }},
	{"geolocation", func(p *mcp.AppPermissions) **mcp.Object { return &p.Geolocation }},
	{"clipboard-write", func(p *mcp.AppPermissions) **mcp.Object { return &p.ClipboardWrite }},
}

// Permissions returns the names of the features of the browser that the app asks for, as in the
// attribute allow of a frame.
func (a *App) Permissions() []string {
	if a.Meta.Permissions == nil {
		return nil
	}
	return namesOf(*a.Meta.Permissions)
}

func namesOf(all mcp.AppPermissions) (names []string) {
	for _, p := range permissions {
		if *p.of(&all) != nil {
			names = append(names, p.name)
		}
	}
	return names
}

// Allow returns the value of the attribute allow for the page's frame: the features that the app
// asks for and the host grants. The zero value of granted grants nothing.
func (a *App) Allow(granted mcp.AppPermissions) string {
	return strings.Join(namesOf(a.granted(granted)), "; ")
}

// granted returns the permissions that the app asks for and the host grants.
func (a *App) granted(by mcp.AppPermissions) (both mcp.AppPermissions) {
	if a.Meta.Permissions == nil {
		return both
	}
	for _, p := range permissions {
		if *p.of(a.Meta.Permissions) != nil && *p.of(&by) != nil {
			*p.of(&both) = &mcp.Object{}
		}
	}
	return both
}

// grantedCSP returns the origins that ContentSecurityPolicy allows.
func (a *App) grantedCSP() *mcp.AppCSP {
	csp := a.csp()
	for _, list := range cspLists(&csp) {
		*list, _ = origins(*list)
	}
	return &csp
}
