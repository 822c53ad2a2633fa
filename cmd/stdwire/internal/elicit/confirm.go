package elicit

import (
	"context"
	"errors"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Confirm makes o accept the forms without fields, which only ask for a confirmation. Other
// requests go to the callback that o had. Without one, they are not answered.
func Confirm(o *client.Options) {
	other := o.OnElicit
	if other == nil {
		o.ElicitModes = []string{mcp.ElicitForm}
	}
	o.OnElicit = func(ctx context.Context, params mcp.ElicitParams) (*mcp.ElicitResult, error) {
		fields := form.NewSchema(params.RequestedSchema).Fields()
		if params.Mode != mcp.ElicitURL && len(fields) == 0 {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{}`)}, nil
		}
		if other == nil {
			return nil, errors.New("it asks for more than a confirmation, and there is no user to answer")
		}
		return other(ctx, params)
	}
}
