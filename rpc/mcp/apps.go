package mcp

import (
	"encoding/json"
	"slices"
)

// The vocabulary of MCP Apps (ext-apps, specification 2026-01-26), the extension [ExtensionApps].

// ExtensionApps is the id of the extension MCP Apps.
const ExtensionApps = "io.modelcontextprotocol/ui"

const (
	// AppRevision is the revision of MCP Apps that this module implements.
	AppRevision = "2026-01-26"
	// AppMIMEType is the MIME type of an app's HTML.
	AppMIMEType = "text/html;profile=mcp-app"
	// AppScheme begins the URI of an app.
	AppScheme = "ui://"
	// MaxApp is the size in bytes of the largest HTML of an app that this module serves or reads.
	MaxApp = 8 << 20

	MetaUI            = "ui"             // _meta of tools and resources
	MetaUIResourceURI = "ui/resourceUri" // _meta of tools: the older form of MetaUI
	// MetaApp is the key of a request that a host makes for an app; its value is the URI of the
	// app. This module defines the key: a server that declares it in the settings of ExtensionApps
	// refuses requests that the app may not make, and a gateway confines them to the server of the
	// app.
	MetaApp = "io.github.stdwire/app"
)

// The audiences of a tool; see [ToolUI].
const (
	VisibleToModel = "model"
	VisibleToApp   = "app"
)

// A ToolUI is _meta.ui of a tool: its app, and who may call it (MCP Apps, "Resource Discovery").
type ToolUI struct {
	ResourceURI string `json:"resourceUri,omitempty"`
	// VisibleToModel, VisibleToApp or both; nil means both
	Visibility []string `json:"visibility,omitzero"`
}

// Allows reports whether an audience, [VisibleToModel] or [VisibleToApp], may use the tool.
func (u *ToolUI) Allows(audience string) bool {
	return u.Visibility == nil || slices.Contains(u.Visibility, audience)
}

// An AppMeta is _meta.ui of the contents of an app, or of its resource in lists (MCP Apps, "UI
// Resource Format").
type AppMeta struct {
	CSP         *AppCSP         `json:"csp,omitempty"`
	Permissions *AppPermissions `json:"permissions,omitempty"`
	// a dedicated origin for the app; its form depends on the host
	Domain string `json:"domain,omitempty"`
	// whether the host should draw a border; nil: the host decides
	PrefersBorder *bool `json:"prefersBorder,omitempty"`
}

// An AppCSP lists the origins that an app needs. Without them, an app can load nothing beyond its
// own HTML.
type AppCSP struct {
	ConnectDomains  []string `json:"connectDomains,omitzero"`  // for requests
	ResourceDomains []string `json:"resourceDomains,omitzero"` // for scripts, images, styles, fonts
	FrameDomains    []string `json:"frameDomains,omitzero"`    // for nested frames
	BaseURIDomains  []string `json:"baseUriDomains,omitzero"`  // for the document's base URI
}

// AppPermissions are the features of the browser that an app asks for.
type AppPermissions struct {
	Camera         *Object `json:"camera,omitempty"`
	Microphone     *Object `json:"microphone,omitempty"`
	Geolocation    *Object `json:"geolocation,omitempty"`
	ClipboardWrite *Object `json:"clipboardWrite,omitempty"`
}

// The methods between an app and its host (MCP Apps, "MCP Apps Specific Messages").
const (
	MethodAppInitialize    = "ui/initialize"
	MethodOpenLink         = "ui/open-link"
	MethodAppMessage       = "ui/message"
	MethodDisplayMode      = "ui/request-display-mode"
	MethodModelContext     = "ui/update-model-context"
	MethodResourceTeardown = "ui/resource-teardown"

	NotificationAppInitialized     = "ui/notifications/initialized"
	NotificationToolInput          = "ui/notifications/tool-input"
	NotificationToolInputPartial   = "ui/notifications/tool-input-partial"
	NotificationToolResult         = "ui/notifications/tool-result"
	NotificationToolCancelled      = "ui/notifications/tool-cancelled"
	NotificationSizeChanged        = "ui/notifications/size-changed"
	NotificationHostContextChanged = "ui/notifications/host-context-changed"
)

// A HostContext describes the host to an app. A zero field is not sent.
type HostContext struct {
	ToolInfo              json.RawMessage `json:"toolInfo,omitzero"` // {"tool":…}, whose call the app shows
	Theme                 string          `json:"theme,omitempty"`   // light or dark
	Styles                json.RawMessage `json:"styles,omitzero"`
	DisplayMode           string          `json:"displayMode,omitempty"`
	AvailableDisplayModes []string        `json:"availableDisplayModes,omitzero"`
	ContainerDimensions   json.RawMessage `json:"containerDimensions,omitzero"`
	Locale                string          `json:"locale,omitempty"`
	TimeZone              string          `json:"timeZone,omitempty"`
	UserAgent             string          `json:"userAgent,omitempty"`
	Platform              string          `json:"platform,omitempty"` // web, desktop or mobile
}

// ModelContextParams are the params of ui/update-model-context.
type ModelContextParams struct {
	Content           json.RawMessage `json:"content,omitzero"`           // an array of content
	StructuredContent json.RawMessage `json:"structuredContent,omitzero"` // an object
}

// AppMessageParams are the params of ui/message.
type AppMessageParams struct {
	Role    Role            `json:"role"`
	Content json.RawMessage `json:"content,omitzero"` // required: a content block, or an array of them
}
