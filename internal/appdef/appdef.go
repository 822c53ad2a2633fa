// Package appdef reads and checks the definitions of MCP Apps (ext-apps, specification 2026-01-26).
package appdef

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// ToolUI returns the app of a tool and its visibility from the tool's _meta, in the nested or in
// the older form. It returns the zero value for a tool without an app. If the value is malformed,
// it returns an error, and a ToolUI without an app that only the model may call.
func ToolUI(m mcp.Meta) (mcp.ToolUI, error) {
	var u mcp.ToolUI
	if _, err := m.Get(mcp.MetaUI, &u); err != nil {
		return mcp.ToolUI{Visibility: []string{mcp.VisibleToModel}}, err
	}
	if u.ResourceURI == "" {
		if _, err := m.Get(mcp.MetaUIResourceURI, &u.ResourceURI); err != nil {
			return mcp.ToolUI{Visibility: []string{mcp.VisibleToModel}}, err
		}
	}
	if u.ResourceURI != "" && !IsURI(u.ResourceURI) {
		return mcp.ToolUI{Visibility: []string{mcp.VisibleToModel}},
			fmt.Errorf("the URI %.100q of an app does not begin with %s", u.ResourceURI, mcp.AppScheme)
	}
	return u, nil
}

// IsURI reports whether a URI is that of an app: it begins with [mcp.AppScheme], in upper or lower
// case.
func IsURI(uri string) bool {
	const scheme = mcp.AppScheme
	return len(uri) > len(scheme) && strings.EqualFold(uri[:len(scheme)], scheme)
}

// Settings are the settings with which a client declares [mcp.ExtensionApps].
type Settings struct {
	MIMETypes []string `json:"mimeTypes"`
}

// Accepted reports whether the settings with which a client declares [mcp.ExtensionApps] include
// the MIME type of apps.
func Accepted(settings json.RawMessage) bool {
	var s Settings
	return mcp.Unmarshal(settings, &s) == nil && slices.Contains(s.MIMETypes, mcp.AppMIMEType)
}

// CheckHTML returns an error unless html can be the page of an app (MCP Apps, "Content
// Requirements"): at most [mcp.MaxApp] bytes of UTF-8 without NUL that begin with <!doctype html>,
// after white space and comments.
func CheckHTML(html []byte) error {
	if len(html) > mcp.MaxApp {
		return fmt.Errorf("its HTML has more than %d bytes: load large data from the server",
			mcp.MaxApp)
	}
	if i := bytes.IndexByte(html, 0); i >= 0 {
		return fmt.Errorf("its HTML has a NUL at byte %d: remove it", i)
	}
	if !utf8.Valid(html) {
		return errors.New("its HTML is not UTF-8: convert it")
	}
	rest := bytes.TrimPrefix(html, []byte("\ufeff"))
	for {
		rest = bytes.TrimLeft(rest, " \t\r\n\f")
		if !bytes.HasPrefix(rest, []byte("<!--")) {
			break
		}
		_, after, closed := bytes.Cut(rest, []byte("-->"))
		if !closed {
			break
		}
		rest = after
	}
	const doctype = "<!doctype html"
	if len(rest) < len(doctype) || !strings.EqualFold(string(rest[:len(doctype)]), doctype) {
		return errors.New("its HTML does not begin with <!doctype html>: write a whole document")
	}
	return nil
}
