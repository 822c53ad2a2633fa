package apps

import (
	"encoding/json"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// initializeParams are the params of ui/initialize.
type initializeParams struct {
	AppInfo         mcp.Implementation `json:"appInfo"`
	AppCapabilities appCapabilities    `json:"appCapabilities"`
	ProtocolVersion string             `json:"protocolVersion"`
}

// appCapabilities lists what an app supports.
type appCapabilities struct {
	Experimental          *mcp.Object         `json:"experimental,omitempty"`
	Tools                 *mcp.ListCapability `json:"tools,omitempty"`
	AvailableDisplayModes []string            `json:"availableDisplayModes,omitzero"`
}

// initializeResult is the result of ui/initialize.
type initializeResult struct {
	ProtocolVersion  string             `json:"protocolVersion"`
	HostInfo         mcp.Implementation `json:"hostInfo"`
	HostCapabilities hostCapabilities   `json:"hostCapabilities"`
	HostContext      mcp.HostContext    `json:"hostContext"`
}

// hostCapabilities lists what a host does for an app.
type hostCapabilities struct {
	OpenLinks          *mcp.Object         `json:"openLinks,omitempty"`
	Message            *mcp.Object         `json:"message,omitempty"`
	UpdateModelContext *mcp.Object         `json:"updateModelContext,omitempty"`
	ServerTools        *mcp.ListCapability `json:"serverTools,omitempty"`
	ServerResources    *mcp.ListCapability `json:"serverResources,omitempty"`
	Logging            *mcp.Object         `json:"logging,omitempty"`
	Sandbox            *grantedSandbox     `json:"sandbox,omitempty"`
}

// A grantedSandbox holds the permissions and origins that the host has granted an app.
type grantedSandbox struct {
	Permissions *mcp.AppPermissions `json:"permissions,omitempty"`
	CSP         *mcp.AppCSP         `json:"csp,omitempty"`
}

// toolInputParams are the params of ui/notifications/tool-input.
type toolInputParams struct {
	Arguments json.RawMessage `json:"arguments,omitzero"` // an object
}

// toolCancelledParams are the params of ui/notifications/tool-cancelled.
type toolCancelledParams struct {
	Reason string `json:"reason,omitempty"`
}

// displayModeParams are the params and the result of ui/request-display-mode.
type displayModeParams struct {
	Mode string `json:"mode"`
}

// sizeChangedParams are the params of ui/notifications/size-changed, in pixels; zero is unknown.
type sizeChangedParams struct {
	Width  float64 `json:"width,omitempty"`
	Height float64 `json:"height,omitempty"`
}

// openLinkParams are the params of ui/open-link.
type openLinkParams struct {
	URL string `json:"url"`
}
