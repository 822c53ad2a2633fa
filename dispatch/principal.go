package dispatch

import (
	"context"

	"github.com/stdwire/stdwire/internal/contextkey"
)

// PrincipalFrom returns the principal that ctx belongs to: the caller of the operation, tool,
// prompt or resource, or the sender of the message or HTTP request, as the surface has
// authenticated it; "" if it has not. It is the same on every surface.
func PrincipalFrom(ctx context.Context) string {
	if call := CallFrom(ctx); call != nil {
		return call.Principal
	}
	principal, _ := ctx.Value(contextkey.Principal{}).(string)
	return principal
}
